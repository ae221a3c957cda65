"""The classes of gf.train stand directly below gf.train.Optimizer, as in TensorFlow: programs register them so."""

import graphflow as gf


def test_every_optimizer_stands_directly_below_the_base() -> None:
    names = [name for name in dir(gf.train) if name.endswith("Optimizer") and name != "Optimizer"]
    assert "AdamOptimizer" in names and "SyncReplicasOptimizer" in names
    assert {name: getattr(gf.train, name).__base__ for name in names} == dict.fromkeys(
        names, gf.train.Optimizer
    )


def test_one_that_implements_no_hook_says_which_is_missing() -> None:
    class Nothing(gf.train.Optimizer):
        pass

    variable = gf.Variable([1.0, 2.0])
    with gf.Graph().as_default():
        own = gf.Variable([1.0, 2.0])
        for loss, hook in ((own * 2.0, "_apply_dense"), (gf.gather(own, [0]), "_apply_sparse")):
            try:
                Nothing(False, "Nothing").minimize(loss)
            except TypeError as error:
                assert hook in str(error)
            else:
                raise AssertionError(f"{hook} was not asked for")
    assert variable.graph is not own.graph
