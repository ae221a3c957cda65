"""tf.contrib.training.HParams: types, parsing, JSON, errors."""

from harness import Family

FAMILY = Family("hparams")

FAMILY.expressions(
    """
    str(tf.contrib.training.HParams(a=1, b=0.5, c="x", d=[1, 2], e=True))
    repr(tf.contrib.training.HParams(b=0.5, a=1))
    tf.contrib.training.HParams(a=1, b=0.5).parse("a=3,b=2").values()
    tf.contrib.training.HParams(a=1, b=0.5, c="x").parse("c=y z , b = 1e-3").values()
    tf.contrib.training.HParams(a=[1, 2], b=[0.5], c=["x"]).parse("a=[3,4, 5],b=[1],c=[p,q]").values()
    tf.contrib.training.HParams(a=True, b=False).parse("a=false,b=1").values()
    tf.contrib.training.HParams(a=True).parse("").values()
    tf.contrib.training.HParams(a=1, b=0.5).override_from_dict({"b": 3}).b
    tf.contrib.training.HParams(a=1, b=[0.5]).parse_json('{"a": 2, "b": [1, 2]}').values()
    tf.contrib.training.HParams(a=1, b=[0.5], c="x").to_json(sort_keys=True)
    tf.contrib.training.HParams(a=1).to_json(indent=2, separators=(",", ":"))
    tf.contrib.training.HParams(a=1).get("a"), tf.contrib.training.HParams(a=1).get("b", 7)
    tf.contrib.training.HParams(a=[0.5]).get("a", [1])
    "a" in tf.contrib.training.HParams(a=1), "b" in tf.contrib.training.HParams(a=1)
    tf.contrib.training.HParams(a=None).override_from_dict({"a": "anything"}).a
    tf.contrib.training.HParams(model_structure="m", a=1).get_model_structure()
    sorted(tf.contrib.training.parse_values("a=1,b[2]=3,b[0]=1,c=[1,2]", {"a": int, "b": int, "c": float}).items())
    tf.contrib.training.parse_values("a=1,z=2", {"a": int}, ignore_unknown=True)
    """
)

FAMILY.errors(
    """
    tf.contrib.training.HParams(a=1).a_b
    tf.contrib.training.HParams(values=1)
    tf.contrib.training.HParams(a=[])
    tf.contrib.training.HParams(a=1).add_hparam("a", 2)
    tf.contrib.training.HParams(a=1).set_hparam("b", 2)
    tf.contrib.training.HParams(a=1).set_hparam("a", 2.5)
    tf.contrib.training.HParams(a=1).set_hparam("a", True)
    tf.contrib.training.HParams(a=1).set_hparam("a", "2")
    tf.contrib.training.HParams(a=True).set_hparam("a", 1)
    tf.contrib.training.HParams(a="x").set_hparam("a", 1)
    tf.contrib.training.HParams(a=1).set_hparam("a", [1])
    tf.contrib.training.HParams(a=[1]).set_hparam("a", 1)
    tf.contrib.training.HParams(a=1).parse("a=x")
    tf.contrib.training.HParams(a=1).parse("b=1")
    tf.contrib.training.HParams(a=1).parse("a=1,a=2")
    tf.contrib.training.HParams(a=1).parse("a")
    tf.contrib.training.HParams(a=1).parse("a=")
    tf.contrib.training.HParams(a=True).parse("a=maybe")
    tf.contrib.training.HParams(a=[1]).parse("a=[1,x]")
    tf.contrib.training.HParams(a=[1, 2]).parse("a[1]=[1]")
    tf.contrib.training.HParams(a=[1, 2]).parse("a[1]=1")
    tf.contrib.training.HParams(a=1).get("a", "x")
    tf.contrib.training.HParams(a=1).get("a", [1])
    tf.contrib.training.parse_values("a=1,a[0]=2", {"a": int})
    """
)


@FAMILY.case()
def parameters_come_and_go(tf, t):
    params = tf.contrib.training.HParams(a=1, b="x")
    params.add_hparam("c", (1.5, 2.5))
    params.del_hparam("b")
    params.del_hparam("never")
    params.set_hparam("c", [1, 2])
    params.a = 5
    params.set_model_structure({"layers": 2})
    return params.values(), hasattr(params, "b"), "b" in params, params.get_model_structure()
