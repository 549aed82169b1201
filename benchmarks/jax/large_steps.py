"""Training steps of full size: the time to compile them, by JAX and by spmdc.

    large_steps.py SPMDC [--steps NAMES] [--other SPMDC] [--rounds N]

`gpt2` is GPT-2 small (12 layers of width 768, 1,024 positions, Adam), its weights split over `model` as Megatron's and its batch over
`data`; `gpt2_data` has only the batch split, `resnet50` (momentum, 64 images of 224 x 224) too. The mesh has 4 x 2 devices. Prints the
seconds of processor time and of the clock that each takes from StableHLO to the program, in turn, the least of the rounds; --other
is another build of spmdc, with which the text of the partitioned program is compared, too.
"""

import argparse
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "suite"))
import models


def shape(*sizes, dtype=jnp.float32, inputs=None):
    return jax.ShapeDtypeStruct(sizes, dtype)


def make_resnet_step(blocks=(3, 4, 6, 3)):
    def step(p, momentum, images, labels):
        value, gradient = jax.value_and_grad(models.resnet_loss)(p, images, labels, blocks)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, gradient)
        return jax.tree.map(lambda p, m: p - 0.1 * m, p, momentum), momentum, value

    p = models.resnet_parameters(blocks, 64, 1000, shape)
    return step, (p, p, shape(64, 224, 224, 3), shape(64, dtype=jnp.int32)), 2


def make_gpt_step(layers=12):
    def step(p, m, v, tokens):
        value, gradient = jax.value_and_grad(models.gpt_loss)(p, tokens, 12)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, gradient)
        v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, v, gradient)
        return jax.tree.map(lambda p, m, v: p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), p, m, v), m, v, value

    p = models.gpt_parameters(layers, 768, 50257, 1024, shape)
    return step, (p, p, p, shape(16, 1025, dtype=jnp.int32)), 3


def split_as_megatron(path, _):
    columns, rows = ("qkv", "up"), ("out", "down")
    name = getattr(path[-1], "key", None)
    return P(None, "model") if name in columns else P("model") if name in (*rows, "up_bias") else P()


# The step, and the shardings of its parameters; the batch is split over `data`.
STEPS = {"gpt2": (make_gpt_step, split_as_megatron), "gpt2_data": (make_gpt_step, lambda *_: P()),
         "resnet50": (make_resnet_step, lambda *_: P())}


def timed(run):
    """Returns the seconds of the clock and of the processor, of this process and those that it waited for."""
    def used():
        return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))

    clock, processor = time.monotonic(), used()
    run()
    return time.monotonic() - clock, used() - processor


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("spmdc")
    parser.add_argument("--steps", default=",".join(STEPS))
    parser.add_argument("--other")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))
    print("| step | JAX, clock | processor | spmdc, clock | processor | other, clock | processor |\n|" + " --- |" * 7)
    for name in options.steps.split(","):
        make, rule = STEPS[name]
        step, arguments, trees = make()
        specs = [jax.tree_util.tree_map_with_path(rule, tree) for tree in arguments[:trees]]
        specs += [P("data")] * (len(arguments) - trees)
        shardings = jax.tree.map(lambda spec: NamedSharding(mesh, spec), specs, is_leaf=lambda x: isinstance(x, P))
        lowered = jax.jit(step, in_shardings=tuple(shardings)).lower(*arguments)
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / f"{name}.mlir"
            file.write_text(lowered.as_text(debug_info=True))

            def compiler(binary):
                command = [binary, "compile", file, "--no-cache", "-o", file.with_suffix(".spmdx")]
                return lambda: subprocess.run(command, check=True, stderr=subprocess.DEVNULL)

            def jax_compiler():
                jax.clear_caches()
                lowered.compile()

            runs = [jax_compiler, compiler(options.spmdc)] + ([compiler(options.other)] if options.other else [])
            rounds = [[timed(run) for run in runs] for _ in range(options.rounds)]
            least = [[min(figures) for figures in zip(*times)] for times in zip(*rounds)]
            cells = [f"{seconds:.1f} s" for both in least for seconds in both]
            print("| " + " | ".join([name] + cells) + " |", flush=True)
            if options.other:
                texts = [subprocess.run([binary, "compile", file, "--no-cache", "--emit=partitioned"], check=True,
                                        capture_output=True).stdout for binary in (options.spmdc, options.other)]
                print("  the same program" if texts[0] == texts[1] else "  DIFFERENT programs", flush=True)


if __name__ == "__main__":
    main()
