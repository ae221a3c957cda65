"""Mistakes that people make, one a line: type checkers find those lines, and no other. It is never run."""

from __future__ import annotations

import graphflow as gf

x = gf.placeholder(gf.float32, [None, 4])

# Misspelt names.
gf.reduce_meen(x)  # wrong
gf.reduce_mean(x, axes=1)  # wrong
gf.layers.dense(x, 10, kernel_initialiser=gf.ones_initializer())  # wrong
gf.train.AdamOptimizer(1e-3).minimise(x)  # wrong
gf.Session().run(x, feeds={})  # wrong
x.get_shap()  # wrong

# What is wanted is a shape, an axis, a size, a dtype, a device.
gf.placeholder(gf.float32, "none")  # wrong
gf.get_variable("w", shape="3, 4")  # wrong
gf.reshape(x, "flat")  # wrong
gf.zeros("two")  # wrong
gf.reduce_mean(x, axis="rows")  # wrong
gf.layers.dense(x, units="ten")  # wrong
gf.nn.conv2d(x, x, strides="2", padding="SAME")  # wrong
gf.data.Dataset.from_tensor_slices([1]).batch("32")  # wrong
gf.zeros([2], dtype=3.5)  # wrong
gf.cast(x, gf.Session)  # wrong
gf.device(3)  # wrong

# What is wanted is a tensor, a variable, a session, an optimizer, a function.
gf.matmul(x, gf.Session())  # wrong
gf.assign(x.op, 1.0)  # wrong
gf.train.Saver().save(x, "/tmp/model")  # wrong
gf.contrib.layers.optimize_loss(x, None, 0.1, ["Adam"])  # wrong
gf.train.SyncReplicasOptimizer([gf.train.AdamOptimizer()], 2)  # wrong
gf.train.GradientDescentOptimizer("0.1")  # wrong
gf.layers.dense(x, 10, activation=x)  # wrong
gf.while_loop(x, lambda i: i, [0])  # wrong

# Other arguments.
gf.Variable(0.0, trainable="no")  # wrong
gf.variable_scope("a", reuse="yes")  # wrong
gf.concat([x, x])  # wrong
gf.nn.dropout(x, keep_prob="half")  # wrong

# What comes out is no Any.
length: str = gf.reduce_sum(x)  # wrong
print(gf.get_variable("v", [2]).assign(1.0).initializer)  # wrong
print(gf.layers.flatten(x).weights)  # wrong
