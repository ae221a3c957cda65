"""Python operators on tensors and variables, and their reflected forms."""

from harness import Family

FAMILY = Family("operators")

for _sign in ("+", "-", "*", "/", "//", "%", "**"):
    FAMILY.expressions(
        """
        ph(pos(2, 2)) {0} ph(pos(2))
        ph(pos(3)) {0} 2
        ph(pos(3)) {0} 2.5
        2 {0} ph(pos(3))
        2.5 {0} ph(pos(3))
        [1.0, 2.0] {0} ph(pos(2))
        ph(pos(2)) {0} [1.0, 2.0]
        ph(pos(2)) {0} np.array([1.0, 2.0], np.float32)
        np.array([1.0, 2.0], np.float32) {0} ph(pos(2))
        np.float32(3) {0} ph(pos(2))
        ph([7, 5]) {0} ph([2, 3])
        ph([7, 5]) {0} 2
        7 {0} ph([2, 3])
        var([7.0, 5.0]) {0} 2
        2 {0} var([7.0, 5.0])
        var([7.0, 5.0]) {0} var([2.0, 3.0])
        var([7, 5]) {0} [2, 3]
        ph(pos(2)) {0} var([2.0, 3.0])
        """.format(_sign)
    )
    FAMILY.errors("ph(f(2)) {0} ph(i(2))\nph(f(2)) {0} ph(f(3))".format(_sign))
    FAMILY.gradients(
        "ph(pos(2, 2)) {0} ph(pos(2))\n3.0 {0} ph(pos(2))\nvar([1.5, 2.0]) {0} 2.0".format(_sign)
    )

for _sign in ("<", "<=", ">", ">="):
    FAMILY.expressions(
        """
        ph(f(2, 2)) {0} ph(f(2))
        ph(i(4)) {0} 1
        1 {0} ph(i(4))
        0.5 {0} ph(f(3))
        ph(f(3)) {0} [0.0, 1.0, 2.0]
        var([1.0, 2.0]) {0} 1.5
        """.format(_sign)
    )
    FAMILY.errors("ph(f(2)) {0} ph(i(2))\nph(b(2)) {0} ph(b(2))".format(_sign))

for _sign in ("&", "|", "^"):
    FAMILY.expressions(
        """
        ph(b(4)) {0} ph(b(4))
        ph(b(2, 2)) {0} ph(b(2))
        ph(b(4)) {0} True
        True {0} ph(b(4))
        """.format(_sign)
    )
    FAMILY.errors("ph(f(2)) {0} ph(f(2))".format(_sign))

FAMILY.expressions(
    """
    -ph(f(3))
    -ph(i(3))
    -var([1.0, 2.0])
    ~ph(b(4))
    abs(ph(f(3)))
    abs(var([-1.0, 2.0]))
    ph(f(2, 3)) @ ph(f(3, 2))
    ph(f(2, 3)) @ np.ones([3, 1], np.float32)
    np.ones([1, 2], np.float32) @ ph(f(2, 3))
    var([[1.0, 2.0]]) @ [[3.0], [4.0]]
    ph(f(2)) == ph(f(2))
    ph(f(2)) != 3
    ph(f(2)) is None
    len({ph(f(2)), ph(f(2))})
    [x for x in [ph(f(2), name="it")] if x == x]
    ph([7, -7]) / 2
    ph([7, -7], dtype=tf.int64) / ph([2, 2], dtype=tf.int64)
    ph([7, -7]).__div__(2)
    ph([7.0, -7.0]) // 2
    ph(f(2)) + ph(f(2)) * 2.0 - 1.0
    1 - ph(f(2)) ** 2
    ph(f(2)) + True
    ph(i(2)) + np.int64(1)
    ph(l(2)) + np.int32(1)
    ph(f(2)) * np.float64(2)
    ph(f(2)) + np.float32(2)
    ph(["a", "b"]) + "c"
    "c" + ph(["a", "b"])
    var(["a"]) + "b"
    ph(f(2), name="my_input").name
    ph(f(2), [None]).get_shape()
    ph(f(2), [None, 3] if False else None).get_shape()
    ph(f(2, 3), [None, 3]).shape[1].value
    ph(f(2, 3), [None, 3]).shape[0].value
    ph(f(2, 3), [None, 3]).shape.as_list()
    int(ph(f(2, 3)).shape[1])
    (ph(f(2, 3)).shape[1] * 2).value
    ph(f(2, 3)).shape.num_elements()
    ph(f(2, 3)).op.type
    ph(f(2, 3)).value_index
    tf.stack([ph(1), 2])
    """
)

FAMILY.errors(
    """
    bool(ph(f(1)))
    not ph(b(1))
    ph(b(1)) and ph(b(1))
    [x for x in ph(f(3), None)]
    len(ph(f(3)))
    ph(f(2)) + None
    ph(f(2)) + "a"
    ph(f(2)) + object()
    ~ph(f(2))
    -ph(b(2))
    -ph(["a"])
    ph(i(2)) + 1.5
    ph(i(2)) / ph(l(2))
    ph(f(2)).nonsense
    ph(f(2)) @ ph(f(2))
    ph([7]) // 0
    ph([7]) % ph([0])
    float(ph(1.0))
    """
)


@FAMILY.case()
def iterating_a_tensor(tf, t):
    x = t.ph(t.f(2, 3))
    return t.error(lambda: list(x))


@FAMILY.case()
def assigning_an_item(tf, t):
    x = t.ph(t.f(2, 3))

    def set_item():
        x[0] = 1.0

    return t.error(set_item)


@FAMILY.case()
def augmented_assignment_makes_a_new_tensor(tf, t):
    x = t.ph(t.f(2))
    y = x
    y += 1.0
    y *= 2.0
    y -= x
    y /= 3.0
    return x, y, x is not y


@FAMILY.case()
def augmented_assignment_of_a_variable(tf, t):
    v = tf.Variable([1.0, 2.0])
    w = v
    w += 1.0
    return w, isinstance(w, tf.Variable)
