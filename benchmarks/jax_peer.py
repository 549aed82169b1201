"""One JAX process of a benchmark: the same computation as benchmarks/programs/CASE.spmd, sharded the same way.

    jax_peer.py CASE PROCESS NUM_PROCESSES DEVICES [HOST:]PORT REPEAT [NAME=VALUE ...]

HOST is the host of process 0; without it, this machine. With it, data goes over the interface eth0.

Prints one line of JSON: the microseconds of each call, which ends when all of this process's shards are ready, after
two warm-up calls; compile time and the time to the first result from the start of the process. Before each call the
processes meet (not timed), so that they compute at the same time, as those of spmdc do.
"""

import json
import os
import sys
import time

START = time.perf_counter()

case, process, processes, devices, repeat = sys.argv[1], *map(int, sys.argv[2:5]), int(sys.argv[6])
host, _, port = sys.argv[5].rpartition(":")
sizes = {key: int(value) for key, value in (item.split("=") for item in sys.argv[7:])}

os.environ["JAX_PLATFORMS"] = "cpu"
import jax  # noqa: E402

jax.config.update("jax_num_cpu_devices", devices)
if processes > 1:
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    if host:
        import jaxlib._jax
        make = jaxlib._jax.make_gloo_tcp_collectives
        jaxlib._jax.make_gloo_tcp_collectives = lambda **options: make(**options, interface="eth0")
    jax.distributed.initialize(f"{host or '127.0.0.1'}:{port}", processes, process)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import NamedSharding, PartitionSpec as P  # noqa: E402

count = processes * devices
mesh = jax.make_mesh((count,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))


def put(shape, *spec):
    sharding = NamedSharding(mesh, P(*spec))
    value = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    return jax.make_array_from_callback(shape, sharding, lambda index: value[index])


def elementwise(x, y):
    a = x * y + 0.5
    b = jnp.maximum(a, -a) - x * 0.25
    return b * b + jnp.exp(-b) * jnp.tanh(x)


def softmax(x):
    e = jnp.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def ten(x, w1, b1, w2, b2):
    return softmax(jnp.tanh(x @ w1 + b1) @ w2 + b2)


def data_parallel(p, x):
    def loss(p):
        y = x
        for w in p:
            y = jnp.tanh(y @ w)
        return jnp.mean(y * y)

    return jax.tree.map(lambda w, g: w - 0.1 * g, p, jax.grad(loss)(p))


def convolutions(w1, w2, x):
    def convolve(x, w):
        return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def loss(w1, w2):
        return jnp.mean(convolve(jax.nn.relu(convolve(x, w1)), w2) ** 2)

    g1, g2 = jax.grad(loss, argnums=(0, 1))(w1, w2)
    return w1 - 0.1 * g1, w2 - 0.1 * g2


n = sizes.get("N", {"elementwise": 4096, "softmax": 8192, "all_reduce": 1024}.get(case, 2048))
m = sizes.get("M", 1024)
function, arguments, result = {
    "matmul_rows": lambda: (jnp.matmul, [put((n, n), "d"), put((n, n))], P("d")),
    "matmul_contract": lambda: (jnp.matmul, [put((n, n), None, "d"), put((n, n), "d")], P()),
    "elementwise": lambda: (elementwise, [put((n, n), "d"), put((n, n), "d")], P("d")),
    "softmax": lambda: (softmax, [put((n, m), "d")], P("d")),
    "all_reduce": lambda: (lambda x: x.sum(axis=0), [put((count, n), "d")], P()),
    "data_parallel": lambda: (data_parallel, [[put((1024, 1024)) for _ in range(6)], put((1024, 1024), "d")], P()),
    "convolutions": lambda: (convolutions, [put((3, 3, 32, 32)), put((3, 3, 32, 32)), put((8, 128, 128, 32), None, "d")],
                             P()),
    "launch": lambda: (lambda x: x + 1.0, [put((8,), "d")], P("d")),
    "ten_operations": lambda: (ten, [put((512, 256), "d"), put((256, 256)), put((256,)), put((256, 64)), put((64,))],
                               P("d")),
}[case]()

began = time.perf_counter()
compiled = jax.jit(function, out_shardings=NamedSharding(mesh, result)).lower(*arguments).compile()
compile_ms = (time.perf_counter() - began) * 1e3
jax.block_until_ready(compiled(*arguments))
first_ms = (time.perf_counter() - START) * 1e3
jax.block_until_ready(compiled(*arguments))
meet = jax.jit(lambda x: x.sum(), out_shardings=NamedSharding(mesh, P()))
everyone = put((count,), "d")
times = []
for _ in range(repeat):
    if processes > 1:
        meet(everyone).block_until_ready()
    began = time.perf_counter()
    jax.block_until_ready(compiled(*arguments))
    times.append((time.perf_counter() - began) * 1e6)
print(json.dumps({"times_us": times, "compile_ms": compile_ms, "first_result_ms": first_ms}))
