"""The flags of a program's command line (tf.flags), on absl's."""


from absl.flags import *
