"""Runs every program of a page of documentation, and compares what it prints with what the page says.

    run_guide.py PAGE.md FOLDER

A fenced block `spmd` is a program; its first line `// spmdc run FILE ARGS` is the command. A block `text` behind it is what
it prints, a block `error` how its errors begin, a block `warning` how its warnings do; without any the program has to run.
"""

import pathlib
import re
import shlex
import subprocess
import sys

page, folder = pathlib.Path(sys.argv[1]).read_text(), pathlib.Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)
blocks = re.findall(r"^```(\w*)\n(.*?)^```$", page, re.M | re.S)
wrong = programs = 0
for number, (kind, program) in enumerate(blocks):
    if kind != "spmd":
        continue
    programs += 1
    following, expected = blocks[number + 1] if number + 1 < len(blocks) else ("", "")
    file = folder / f"program{programs}.spmd"
    file.write_text(program)
    first = re.match(r"// (spmdc run FILE.*)\n", program)
    command = shlex.split((first[1] if first else "spmdc run FILE").replace("FILE", str(file)))
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if following == "error":
        is_right = run.returncode == 1 and run.stderr.startswith(expected.replace("FILE", str(file)))
    elif following == "warning":
        is_right = run.returncode == 0 and run.stderr.startswith(expected.replace("FILE", str(file)))
    else:
        is_right = run.returncode == 0 and not run.stderr and (following != "text" or run.stdout == expected)
    if not is_right:
        wrong += 1
        print(f"{' '.join(command)}\nexit status {run.returncode}\n{run.stdout}{run.stderr}\nexpected:\n{expected}\n{program}")
print(f"{programs} programs, {wrong} differ from the page")
sys.exit(wrong != 0 or programs == 0)
