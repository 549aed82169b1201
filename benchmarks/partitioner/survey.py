"""Common code of windows.py and moves.py: random programs of several kinds, and a bound counted element by element.

A case has a `mesh`, the `text(channels)` of its program, the `inputs` of that, its `bound()`, and `isJoint`, true if
two axes shard one dimension.
"""

import math
import random

import programs

MESHES = [{"a": 2}, {"a": 4}, {"a": 5}, {"a": 8}, {"a": 2, "b": 2}, {"a": 2, "b": 4}, {"a": 4, "b": 2}]
CHANNELS = 4096  # Bytes must weigh more than the latency of an exchange.


def arguments(description, kinds):
    parser = programs.arguments(description)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", nargs="+", choices=kinds, default=kinds)
    parser.add_argument("--require", type=float, help="fail if the geometric mean is more than this many times the bound")
    parser.add_argument("--worst", type=int, default=0, help="print this many of the worst cases")
    parser.add_argument("--run", action="store_true", help="compare the results with those of one device")
    return parser


def values(build, case, mesh):
    """The results of the program on its mesh; without a mesh, on one device."""
    options = ["--print"] + [option for name in case.inputs for option in ("--input", f"{name}=iota")]
    if mesh:
        options += ["--devices-per-process", str(math.prod(mesh.values()))]
    else:
        options += ["--mesh", ",".join(f"{axis}=1" for axis in case.mesh)]
    lines = programs.spmdc(build, "run", case.text(2), *options).splitlines()
    return [line.split(" @ ")[0] for line in lines if not line.startswith("run")]


def survey(options, exactly, make):
    """Prints a table with a line for each kind. `make`: a case, from a random generator and a kind. Ends the program."""
    failed = False
    print(f"| kind | cases | exactly {exactly} | geometric mean | worst | sends although nothing is needed |")
    print("| --- | --- | --- | --- | --- | --- |")
    for kind in options.kinds:
        choose = random.Random(f"{kind} {options.seed}")
        cases = [make(choose, kind) for _ in range(options.cases)]
        texts = [case.text(CHANNELS) for case in cases]
        ratios = []
        for case, function in zip(cases, programs.inspect_all(options.build, texts)):
            sent = sum(collective["wire_bytes_per_device"] for collective in function["collectives"])
            ratios.append(programs.ratio(sent, case.bound()))
            if options.run and values(options.build, case, case.mesh) != values(options.build, case, None):
                print(f"gives something else on one device:\n{case.text(2)}")
                failed = True
        for ratio, text in sorted(zip(ratios, texts), key=lambda pair: -pair[0])[:options.worst]:
            print(f"{ratio:.2f} times the bytes:\n{text}")
        for isJoint, name in [(False, kind), (True, f"{kind}, one dimension sharded over two axes")]:
            chosen = [ratio for ratio, case in zip(ratios, cases) if case.isJoint == isJoint]
            finite = [ratio for ratio in chosen if math.isfinite(ratio)]
            if not finite:
                continue
            mean = programs.geometric_mean([ratio for ratio in finite if ratio > 0])
            failed |= options.require is not None and mean > options.require
            exact = sum(math.isclose(ratio, 1, rel_tol=1e-9) for ratio in chosen)
            print(f"| {name} | {len(chosen)} | {exact} | {mean:.3f} | {max(finite):.2f} | {len(chosen) - len(finite)} |")
    raise SystemExit(failed)
