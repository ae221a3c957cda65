"""Graph, Operation and Tensor as objects: look-up, collections, devices, finalize, GraphDef."""

from harness import Family

FAMILY = Family("graphs")


@FAMILY.case()
def looking_up(tf, t):
    g = tf.get_default_graph()
    a = tf.constant(1.0, name="a")
    b = tf.identity(a, name="s/b")
    v = tf.Variable(2.0, name="v")
    found = [
        g.get_tensor_by_name("a:0") is a,
        g.get_operation_by_name("s/b") is b.op,
        g.as_graph_element("a").name,
    ]
    found += [g.as_graph_element("a:0") is a, g.as_graph_element(v).name, g.as_graph_element(b.op) is b.op]
    found += [[op.name for op in g.get_operations()], g.is_fetchable(a), g.is_feedable(a), a.graph is g]
    return found


@FAMILY.case()
def looking_up_wrongly(tf, t):
    g = tf.get_default_graph()
    a = tf.constant(1.0, name="a")
    with tf.Graph().as_default() as other:
        foreign = tf.constant(1.0)
    return [
        t.error(lambda: g.get_tensor_by_name("a")),
        t.error(lambda: g.get_tensor_by_name("a:1")),
        t.error(lambda: g.get_tensor_by_name("missing:0")),
        t.error(lambda: g.get_operation_by_name("missing")),
        t.error(lambda: g.get_operation_by_name("a:0")),
        t.error(lambda: g.get_tensor_by_name(3)),
        t.error(lambda: g.as_graph_element("a:x")),
        t.error(lambda: g.as_graph_element(foreign)),
        t.error(lambda: g.as_graph_element(object())),
        t.error(lambda: g.as_graph_element("a", allow_operation=False)),
        t.error(lambda: other.get_tensor_by_name("a:0")),
        t.error(lambda: a + foreign),
    ]


@FAMILY.case()
def operations(tf, t):
    x = t.ph(t.f(2, 3), name="x")
    y = tf.matmul(x, x, transpose_b=True, name="y")
    op = y.op
    found = [
        op.name,
        op.type,
        [i.name for i in op.inputs],
        [o.name for o in op.outputs],
        len(op.values()),
        op.device,
    ]
    found += [op.get_attr("transpose_b"), op.get_attr("T").name, op.graph is x.graph, y.value_index]
    found += [sorted({c.name for c in x.consumers()}), [c.name for c in y.consumers()]]
    found += [x.op.get_attr("dtype").name, op.outputs[0] is y]
    return found, t.error(lambda: op.get_attr("missing"))


@FAMILY.case()
def running_operations(tf, t):
    v = tf.Variable(1.0)
    with t.session().as_default():
        v.initializer.run()
        result = tf.assign_add(v, 1.0).op.run()
        value = (v * 10.0).eval()
        fed = tf.placeholder(tf.float32, [])
        doubled = (fed * 2.0).eval(feed_dict={fed: 4.0})
    other = (v * 3.0).eval(session=t.session())
    return result, value, doubled, other, t.error(lambda: v.eval()), t.error(lambda: v.initializer.run())


@FAMILY.case()
def texts(tf, t):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    u = tf.placeholder(tf.int32, name="u")
    v = tf.Variable([1.0, 2.0], name="v")
    # The module's own name stands before the dot.
    own = [repr(part).partition(".")[2] for part in (x, u)]
    return own, [str(x), str(u), str(x.shape), str(v.dtype.base_dtype)]


@FAMILY.case()
def collections(tf, t):
    g = tf.get_default_graph()
    a = tf.constant(1.0, name="a")
    tf.add_to_collection("c", a)
    g.add_to_collection("c", 7)
    tf.add_to_collections(["c", "d"], "text")
    with tf.name_scope("s"):
        tf.add_to_collection("e", tf.constant(1.0))
    tf.add_to_collection("e", a)
    copied, kept = tf.get_collection("c"), tf.get_collection_ref("c")
    copied.append(1)
    kept.append(2)
    found = [
        len(tf.get_collection("c")),
        tf.get_collection("c")[1:],
        tf.get_collection("d"),
        tf.get_collection("none"),
    ]
    found += [
        [x.name for x in tf.get_collection("e", scope="s")],
        [x.name for x in tf.get_collection("e", "a")],
    ]
    found += [sorted(g.get_all_collection_keys())]
    g.clear_collection("c")
    return found + [tf.get_collection("c")]


@FAMILY.case()
def default_graphs(tf, t):
    outer = tf.get_default_graph()
    g = tf.Graph()
    with g.as_default() as entered:
        a = tf.constant(1.0)
        inner = tf.get_default_graph() is g
        with tf.Graph().as_default():
            b = tf.constant(2.0)
    found = [
        inner,
        entered is g,
        a.graph is g,
        b.graph is g,
        tf.get_default_graph() is outer,
        len(g.get_operations()),
    ]
    return found + [tf.constant(1.0).graph is outer, g.version, g.finalized, g.building_function]


@FAMILY.case()
def finalized(tf, t):
    g = tf.get_default_graph()
    a = tf.constant(1.0)
    g.finalize()
    return g.finalized, t.error(lambda: tf.constant(2.0)), t.run(a), t.error(lambda: a + 1.0)


@FAMILY.case()
def graph_def(tf, t):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    with tf.device("/cpu:0"), tf.control_dependencies([tf.no_op(name="before")]):
        tf.multiply(x, tf.constant([1.0, 2.0], name="k"), name="y")
    nodes = tf.get_default_graph().as_graph_def().node
    found = [[n.name, n.op, list(n.input), n.device, sorted(n.attr)[:2]] for n in nodes]
    return found


@FAMILY.case(initialize=False)
def devices(tf, t):
    def choose(op):
        return "/job:ps" if op.type == "VariableV2" else "/job:worker/task:1"

    found = []
    with tf.device("/job:worker/task:0"):
        found.append(tf.constant(1).device)
        with tf.device("/gpu:1"):
            found.append(tf.constant(1).device)
            with tf.device("/job:ps"):
                found.append(tf.constant(1).device)
            with tf.device(None):
                found.append(tf.constant(1).device)
            with tf.device(tf.DeviceSpec(device_type="CPU", device_index=2)):
                found.append(tf.constant(1).device)
        with tf.device("/cpu:0"):
            found.append(tf.constant(1).op.device)
    with tf.device(choose):
        found += [tf.constant(1).device, tf.Variable(1.0).device]
        with tf.device("/gpu:0"):
            found += [tf.constant(1).device]
    with tf.device("/gpu:0"), tf.device(choose):
        found += [tf.constant(1).device]
    found += [tf.constant(1).device]
    found += [t.error(lambda: tf.device("/nonsense").__enter__() or tf.constant(1))]
    return found


@FAMILY.case(initialize=False)
def replica_device_setter(tf, t):
    cluster = tf.train.ClusterSpec({"ps": ["a:1", "b:1"], "worker": ["c:1", "d:1"]})
    found = []
    with tf.device(tf.train.replica_device_setter(cluster=cluster, worker_device="/job:worker/task:1")):
        made = [tf.Variable(1.0) for _ in range(3)]
        found += [x.device for x in made]
        found += [tf.constant(1.0).device, (made[0] + 1.0).device, made[1].initializer.device]
        with tf.device("/gpu:0"):
            found += [tf.constant(1.0).device, tf.get_variable("v", [1]).device]
    with tf.device(tf.train.replica_device_setter(ps_tasks=2)):
        found += [tf.Variable(1.0).device, tf.Variable(1.0).device, tf.constant(1).device]
    found += [tf.train.replica_device_setter() is None]
    return found


@FAMILY.case(initialize=False)
def greedy_load_balancing(tf, t):
    strategy = tf.contrib.training.GreedyLoadBalancingStrategy(2, tf.contrib.training.byte_size_load_fn)
    cluster = {"ps": ["a:1", "b:1"], "worker": ["c:1"]}
    found = []
    with tf.device(tf.train.replica_device_setter(cluster=cluster, ps_strategy=strategy)):
        for size in (10, 1, 1, 20, 3):
            found.append(tf.get_variable("v%d" % len(found), [size]).device)
    return found


@FAMILY.case()
def cluster_spec(tf, t):
    spec = tf.train.ClusterSpec({"worker": ["a:1", "b:2"], "ps": {1: "c:3"}})
    found = [sorted(spec.jobs), spec.num_tasks("worker"), spec.task_indices("ps"), spec.task_address("ps", 1)]
    found += [
        spec.job_tasks("worker"),
        spec.as_dict()["worker"],
        bool(spec),
        spec == tf.train.ClusterSpec(spec),
    ]
    failures = [
        t.error(lambda: spec.num_tasks("none")),
        t.error(lambda: spec.task_address("ps", 0)),
        t.error(lambda: tf.train.ClusterSpec(3)),
        t.error(lambda: tf.train.ClusterSpec({"a": [3]})),
        t.error(lambda: spec.job_tasks("none")),
    ]
    return found, spec.job_tasks("ps"), failures


@FAMILY.case()
def colocation(tf, t):
    with tf.device("/cpu:0"):
        a = tf.constant(1.0, name="a")
    with tf.device("/gpu:0"), tf.colocate_with(a):
        b = tf.constant(2.0, name="b")
    with tf.get_default_graph().colocate_with(a.op):
        c = tf.constant(2.0, name="c")
    with tf.colocate_with(a), tf.colocate_with(None, ignore_existing=True):
        d = tf.constant(2.0, name="d")
    return [
        [x.device, [g.decode() if isinstance(g, bytes) else g for g in x.op.colocation_groups()]]
        for x in (a, b, c, d)
    ]


@FAMILY.case()
def resetting_the_default_graph(tf, t):
    inside = t.error(tf.reset_default_graph)
    return inside


@FAMILY.case()
def importing_names(tf, t):
    return [tf.get_default_graph().get_name_scope(), tf.get_variable_scope().name, tf.get_default_session()]


@FAMILY.case()
def op_scope_and_graph_level_helpers(tf, t):
    g = tf.get_default_graph()
    with g.control_dependencies([tf.no_op(name="first")]):
        a = tf.constant(1.0)
    with g.device("/cpu:0"), g.name_scope("s"):
        b = tf.constant(1.0)
    g.prevent_feeding(a)
    g.prevent_fetching(b.op)
    return [c.name for c in a.op.control_inputs], b.name, b.device, g.is_feedable(a), g.is_fetchable(b)


@FAMILY.case()
def importing_twice_without_a_prefix(tf, t):
    """Names that are taken get numbers; what is in the graph stays as it is."""
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="a_1")
        a = tf.constant(1.0, name="a")
        tf.identity(a, name="scope/b")
        tf.get_variable("w", initializer=2.0)
        given = graph.as_graph_def()
        found = []
        for _ in range(2):
            names = ["a:0", "a_1:0", "scope/b:0", "w", "w/Assign", "w/read:0"]
            elements = tf.import_graph_def(given, name="", return_elements=names)
            found += [element.name for element in elements] + [x.name for x in elements[4].inputs]
            found.append(elements[2].op.inputs[0].name)
            found += [str(group) for group in elements[4].colocation_groups()]
        with tf.Session() as session:
            session.run([elements[4], "w/Assign"])
            session.run(graph.get_tensor_by_name("w/Assign:0"))
            return [*found, session.run(elements[5])]
