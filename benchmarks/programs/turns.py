"""Measures builds of spmdc and JAX by turns; of widths.py and linear.py."""

import pathlib
import subprocess


def add_arguments(parser, rounds):
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--before", type=pathlib.Path)
    parser.add_argument("--only", help="some of the programs: names with commas between")
    parser.add_argument("--rounds", type=int, default=rounds)


def choose(only, programs):
    return only.split(",") if only else list(programs)


def print_header(arguments, unit, columns):
    sides = (["before"] if arguments.before else []) + ["now", "JAX"]
    print(f"{unit} ({', '.join(sides)})\n")
    print("| program | " + " | ".join(map(str, columns)) + " |")
    print("| --- " * (len(columns) + 1) + "|")


def measure(arguments, source, time_artifact, time_jax):
    """Compiles a program by each build; returns the least time of the rounds for each build, then for JAX."""
    sides = []
    for label, compiler in (("before", arguments.before), ("now", arguments.binaries / "spmdc")):
        if compiler:
            artifact = source.with_name(f"{label}.spmdx")
            subprocess.run([compiler, "compile", source, "--no-cache", "-o", artifact], check=True)
            sides.append(lambda artifact=artifact: time_artifact(artifact))
    times = [[measure_side() for measure_side in [*sides, time_jax]] for _ in range(arguments.rounds)]
    return [min(column) for column in zip(*times)]
