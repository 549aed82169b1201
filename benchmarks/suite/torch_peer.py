"""PyTorch's side of `tools/bench --against torch`: one process, `torch.compile` with all defaults.

    torch_peer.py list
    torch_peer.py check PROGRAM...
    torch_peer.py run PROGRAM THREADS CALLS

`list` prints the programs that PyTorch has. `check` compares their results with those of JAX. `run` prints a line of JSON like
that of peer.py: the microseconds of each call after two calls to warm up, and the time to compile (the first call).
"""

import json
import os
import sys
import time

import numpy as np

os.environ["JAX_PLATFORMS"] = "cpu"
import torch  # noqa: E402

import peer  # noqa: E402
from torch_programs import PROGRAMS, Gradient  # noqa: E402


def arguments_of(program, is_argument):
    leaves = peer.jax.tree.leaves(program.arguments, is_leaf=is_argument)
    return [peer.values_of(argument, 1, number) for number, argument in enumerate(leaves)]


def tensor_of(values):
    if values.dtype == peer.jax.numpy.bfloat16:
        return torch.from_numpy(values.astype(np.float32)).to(torch.bfloat16)
    return torch.from_numpy(values)


def made(name, compiled):
    program = PROGRAMS[name]
    return program.make(compiled) if isinstance(program, Gradient) else compiled(program)


def check(name):
    """The largest difference, relative to the largest element, of a result."""
    program, is_argument = peer.load(name)
    values = arguments_of(program, is_argument)
    structure = peer.jax.tree.structure(program.arguments, is_leaf=is_argument)
    expected = peer.jax.tree.leaves(peer.jax.jit(program.function)(*peer.jax.tree.unflatten(structure, values)))
    with torch.no_grad():
        actual = made(name, lambda function: function)(*map(tensor_of, values))
    actual = list(actual) if isinstance(actual, (list, tuple)) else [actual]
    assert len(actual) == len(expected), name
    worst = 0
    for x, y in zip(expected, actual):
        x, y = np.asarray(x, np.float64), y.detach().to(torch.float64).numpy()
        assert x.shape == y.shape and np.array_equal(np.isnan(x), np.isnan(y)), (name, x.shape, y.shape)
        worst = max(worst, np.nanmax(np.abs(x - y)) / max(np.nanmax(np.abs(x)), 1e-30))
    return worst


def run(name, threads, calls):
    torch.set_num_threads(threads)
    program, is_argument = peer.load(name)
    tensors = [tensor_of(values) for values in arguments_of(program, is_argument)]
    compiled = made(name, torch.compile)
    times = []
    with torch.no_grad():
        for _ in range(calls + 3):
            began = time.perf_counter()
            compiled(*tensors)
            times.append((time.perf_counter() - began) * 1e6)
    print(json.dumps({"times_us": times[3:], "compile_ms": times[0] / 1e3}))


if __name__ == "__main__":
    if sys.argv[1] == "list":
        print(json.dumps(list(PROGRAMS)))
    elif sys.argv[1] == "check":
        for name in sys.argv[2:] or PROGRAMS:
            print(f"{name:44} {check(name):.1e}", flush=True)
    else:
        run(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
