"""What looks at training every so many steps (tf.contrib.learn.monitors)."""

from graphflow.estimator.learn.monitors import BaseMonitor as BaseMonitor
from graphflow.estimator.learn.monitors import EveryN as EveryN
from graphflow.estimator.learn.monitors import RunHookAdapterForMonitors as RunHookAdapterForMonitors
from graphflow.estimator.learn.monitors import ValidationMonitor as ValidationMonitor
from graphflow.estimator.learn.monitors import replace_monitors_with_hooks as replace_monitors_with_hooks
