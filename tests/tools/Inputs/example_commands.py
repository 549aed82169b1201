"""Runs each example by the command that its first comment names, as a user copies it.

Asks of each program of examples/ that it is at most a page, opens with `NAME: what it shows`, and names a command that
runs it: `//   spmdc run examples/NAME ...`, continued as in a shell. Its run lines (`// run: ...`) may follow. The
commands run in an empty folder in which `examples` is this one; each must succeed and print something.
Usage: example_commands.py EXAMPLES_FOLDER
"""

import pathlib
import re
import subprocess
import sys
import tempfile

PAGE = 60  # Lines.


def command_of(path):
    """The command, or a sentence about what is missing."""
    lines = path.read_text().split("\n")
    if len(lines) > PAGE:
        return None, f"has {len(lines)} lines, more than a page of {PAGE}"
    if not lines[0].startswith(f"// {path.name}: "):
        return None, f"does not open with '// {path.name}: what it shows'"
    comment = [line[2:].strip() for line in lines[:next(i for i, line in enumerate(lines) if not line.startswith("//"))]]
    starts = [i for i, line in enumerate(comment) if line.startswith("spmdc ") and f"examples/{path.name}" in line]
    if not starts:
        return None, f"names no command 'spmdc run examples/{path.name} ...' in its first comment"
    end = starts[0]
    while comment[end].endswith("\\") and end + 1 < len(comment):
        end += 1
    if not all(line.startswith("run: ") for line in comment[end + 1:]):
        return None, "says more behind its command, or a line of it lacks the '\\' at its end"
    return "\n".join(comment[starts[0]:end + 1]), ""


def main():
    examples = pathlib.Path(sys.argv[1]).resolve()
    programs = sorted(examples.glob("*.spmd"))
    failed = 0
    for path in programs:
        command, problem = command_of(path)
        if command:
            with tempfile.TemporaryDirectory() as folder:
                (pathlib.Path(folder) / "examples").symlink_to(examples)
                run = subprocess.run(command, shell=True, cwd=folder, text=True, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, timeout=300)
            if run.returncode:
                problem = f"ends with status {run.returncode}:\n{command}\n{run.stdout}"
            elif not re.search(r"\S", run.stdout):
                problem = f"prints nothing:\n{command}"
        if problem:
            print(f"{path.name} {problem}")
            failed += 1
    print(f"{len(programs) - failed} of {len(programs)} examples run by their commands")
    return 1 if failed or not programs else 0


if __name__ == "__main__":
    sys.exit(main())
