"""Takes up every dump of a folder where it was written: the next pass must give the next dump, byte for byte.

python3 reenter.py DIR: dumps are NN-PASS.mlir, spmd-opt is found on the path. Passes with options are only parsed.
"""

import pathlib
import subprocess
import sys

dumps = sorted(pathlib.Path(sys.argv[1]).glob("*.mlir"))
assert len(dumps) > 15, dumps
compared = 0
for before, after in zip(dumps, dumps[1:] + [None]):
    name = after.stem.split("-", 1)[1] if after else None
    again = name and name != "spmdc-mark-stage"
    command = ["spmd-opt", str(before), "--mlir-print-debuginfo"] + (["--" + name] if again else [])
    text = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
    if again:
        assert text.rstrip() == after.read_text().rstrip(), f"{before.name} then --{name} is not {after.name}"
        compared += 1
assert compared > 12, compared
