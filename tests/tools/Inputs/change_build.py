"""A copy of an executable as if it had been built of other code, or without a build id.

    change_build.py changed|nameless IN OUT
"""

import pathlib
import struct
import sys

kind, source, target = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
data = bytearray(source.read_bytes())
# The GNU note of type 3: lengths of name and content, type, name, content.
at = data.index(struct.pack("<III", 4, 20, 3) + b"GNU\0")
if kind == "changed":
    data[at + 16] ^= 1
else:
    data[at + 12 : at + 15] = b"XXX"
target.write_bytes(data)
target.chmod(0o755)
