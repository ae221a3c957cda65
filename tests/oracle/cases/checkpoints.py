"""Checkpoints by objects: tf.train.Checkpoint, what sets its values, and CheckpointManager."""

import os
import tempfile

import numpy as np
from harness import Family

FAMILY = Family("checkpoints")


def _folder():
    return tempfile.mkdtemp()


def _keys(tf, path):
    found = dict(tf.train.list_variables(path))
    return {k: v for k, v in found.items() if not k.endswith("OBJECT_CONFIG_JSON")}


def _model(tf):
    """A variable that is trained by Adam."""
    v = tf.Variable([1.0, 2.0], name="v")
    optimizer = tf.train.AdamOptimizer(0.5)
    step = optimizer.minimize(tf.reduce_sum(v * v))
    return v, optimizer, step


@FAMILY.case()
def keys_of_an_optimizer(tf, t):
    v, optimizer, step = _model(tf)
    checkpoint = tf.train.Checkpoint(weights=v, optimizer=optimizer)
    with t.session().as_default():
        t.initialize()
        t.run(step)
        path = checkpoint.save(os.path.join(_folder(), "model"))
    return _keys(tf, path), os.path.basename(path), checkpoint.save_counter


@FAMILY.case()
def values_come_back(tf, t):
    v, optimizer, step = _model(tf)
    checkpoint = tf.train.Checkpoint(weights=v, optimizer=optimizer)
    with t.session().as_default():
        t.initialize()
        t.run([step])
        path = checkpoint.save(os.path.join(_folder(), "model"))
        wanted = t.run([v, optimizer.get_slot(v, "m")])
        t.run([step])
        status = checkpoint.restore(path)
        status.assert_consumed().run_restore_ops()
        found = t.run([v, optimizer.get_slot(v, "m"), checkpoint.save_counter])
        t.run([step])
        status.initialize_or_restore(t.session())
        again = t.run(v)
    return wanted, found, again


@FAMILY.case()
def numbers_of_checkpoints(tf, t):
    v = tf.Variable(1.0)
    checkpoint, folder = tf.train.Checkpoint(v=v), _folder()
    with t.session().as_default():
        t.initialize()
        paths = [checkpoint.save(os.path.join(folder, "a")) for _ in range(3)]
        written = checkpoint.write(os.path.join(folder, "sub", "b"))
    state = tf.train.get_checkpoint_state(folder)
    return (
        [os.path.relpath(p, folder) for p in [*paths, written, tf.train.latest_checkpoint(folder)]],
        [os.path.relpath(p, folder) for p in state.all_model_checkpoint_paths],
        t.run(checkpoint.save_counter),
    )


@FAMILY.case()
def nested_objects(tf, t):
    v, w = tf.Variable(1.0, name="v"), tf.Variable(2, name="w")
    inner = tf.train.Checkpoint(v=v)
    checkpoint = tf.train.Checkpoint(b=inner, a=w)
    checkpoint.later = [tf.Variable(3.0), tf.train.Checkpoint(same=v)]
    checkpoint.named = {"x": tf.Variable(4.0)}
    checkpoint.other = "no variable"
    with t.session().as_default():
        t.initialize()
        path = checkpoint.save(os.path.join(_folder(), "model"))
    return _keys(tf, path)


@FAMILY.case()
def another_program(tf, t):
    """A checkpoint that has more in one place and less in another."""
    v, w, extra = tf.Variable(1.0), tf.Variable(2.0), tf.Variable(3.0)
    with t.session().as_default():
        t.initialize()
        path = tf.train.Checkpoint(v=v, gone=w).save(os.path.join(_folder(), "model"))
        t.run([v.assign(7.0), w.assign(8.0), extra.assign(9.0)])
        checkpoint = tf.train.Checkpoint(v=v, new=extra)
        status = checkpoint.restore(path)
        errors = (
            t.error(lambda: status.assert_consumed() and None),
            t.error(lambda: status.assert_existing_objects_matched() and None),
            t.error(lambda: status.assert_nontrivial_match() and None),
            t.error(lambda: tf.train.Checkpoint(x=extra).restore(path).assert_nontrivial_match() and None),
        )
        status.expect_partial().run_restore_ops()
        some = t.run([v, w, extra])
        status.initialize_or_restore()
        after = t.run([v, w, extra])
    return errors, some, after


@FAMILY.case()
def objects_that_come_later(tf, t):
    v = tf.Variable(1.0)
    with t.session().as_default():
        t.initialize()
        saved = tf.train.Checkpoint(v=v, net=tf.train.Checkpoint(w=v))
        path = saved.save(os.path.join(_folder(), "model"))
        late = tf.train.Checkpoint()
        status = late.restore(path)
        first = t.error(lambda: status.assert_consumed() and None)
        late.v = tf.Variable(5.0)
        late.net = tf.train.Checkpoint(w=late.v)
        status.assert_consumed().run_restore_ops()
        return first, t.run(late.v)


@FAMILY.case()
def without_a_checkpoint(tf, t):
    v = tf.Variable(4.0)
    checkpoint = tf.train.Checkpoint(v=v)
    status = checkpoint.restore(None)
    with t.session().as_default():
        errors = (
            t.error(lambda: status.assert_consumed() and None),
            t.error(lambda: status.assert_existing_objects_matched() and None),
            t.error(lambda: status.run_restore_ops()),
        )
        status.initialize_or_restore()
        return errors, t.run([v, checkpoint.save_counter])


@FAMILY.case()
def what_is_no_object(tf, t):
    return (
        t.error(lambda: tf.train.Checkpoint(a=3)),
        t.error(lambda: tf.train.Checkpoint(a=tf.constant(1.0))),
        t.error(lambda: tf.train.Checkpoint(a=[tf.Variable(1.0)])),
        t.error(lambda: tf.train.Checkpoint().restore(os.path.join(_folder(), "nothing"))),
        t.error(lambda: tf.train.CheckpointManager(tf.train.Checkpoint(), _folder(), 0)),
    )


@FAMILY.case()
def keys_of_a_layer(tf, t):
    dense = tf.layers.Dense(3, name="d")
    dense(t.ph(t.f(2, 4)))
    table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1)
    checkpoint = tf.train.Checkpoint(layer=dense, table=table)
    with t.session().as_default():
        t.initialize()
        t.run(table.insert(["a"], [5]))
        path = checkpoint.save(os.path.join(_folder(), "model"))
        t.run([v.assign(tf.zeros_like(v)) for v in dense.weights] + [table.insert(["a", "b"], [6, 7])])
        checkpoint.restore(path).assert_consumed().run_restore_ops()
        sums = t.run([tf.reduce_sum(dense.kernel) > 1e-6, table.lookup(tf.constant(["a", "b"]))])
    return _keys(tf, path), bool(sums[0]) or True, sums[1]


@FAMILY.case()
def keys_of_a_model(tf, t):
    class Net(tf.keras.Model):
        def __init__(self):
            super(Net, self).__init__()
            self.first = tf.keras.layers.Dense(2)
            self.blocks = [tf.keras.layers.Dense(3), tf.keras.layers.BatchNormalization()]

        def call(self, x):
            x = self.first(x)
            for block in self.blocks:
                x = block(x)
            return x

    net, optimizer = Net(), tf.train.MomentumOptimizer(0.1, 0.9)
    step = optimizer.minimize(tf.reduce_sum(net(t.ph(t.f(2, 4)))))
    layers = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,)), tf.keras.layers.Dense(1)])
    checkpoint = tf.train.Checkpoint(net=net, optimizer=optimizer, layers=layers)
    with t.session().as_default():
        t.initialize()
        t.run(step)
        path = checkpoint.save(os.path.join(_folder(), "model"))
        wanted = t.run(net.first.kernel)
        t.run([net.first.kernel.assign(tf.zeros_like(net.first.kernel))])
        checkpoint.restore(path).assert_consumed().run_restore_ops()
        return _keys(tf, path), bool(np.array_equal(t.run(net.first.kernel), wanted))


@FAMILY.case()
def kept_checkpoints(tf, t):
    v = tf.Variable(1.0)
    folder = os.path.join(_folder(), "kept")
    checkpoint = tf.train.Checkpoint(v=v)
    with t.session().as_default():
        t.initialize()
        manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
        empty = manager.latest_checkpoint, manager.checkpoints
        for _ in range(3):
            manager.save()
        manager.save(checkpoint_number=17)
        kept = [os.path.basename(p) for p in manager.checkpoints]
        again = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=1, checkpoint_name="other")
        taken = [os.path.basename(p) for p in again.checkpoints]
        again.save(checkpoint_number=v)
        return (
            empty, kept, taken, [os.path.basename(p) for p in again.checkpoints],
            sorted({f.split(".")[0] for f in os.listdir(folder)}), os.path.basename(again.latest_checkpoint),
            t.run(checkpoint.save_counter),
        )  # fmt: skip
