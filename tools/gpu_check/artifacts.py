"""Reads the plan of an artifact (.spmdx, docs/artifact.md): names, types and shapes of parameters and results."""

import json
import struct


def read_plan(path):
    """Returns the plan of the artifact; raises ValueError for another file."""
    data = path.read_bytes()
    if data[:8] != b"\x89SPMDX\r\n":
        raise ValueError(f"{path} is no artifact")
    for entry in range(struct.unpack_from("<I", data, 12)[0]):
        name, offset, size = struct.unpack_from("<16sQQ", data, 64 + 32 * entry)
        if name.rstrip(b"\0") == b"plan":
            return json.loads(data[offset:offset + size])["plan"]
    raise ValueError(f"{path} has no plan")


def strip(value):
    """Name, element type and shape of a parameter or result."""
    return {"name": value["name"], "dtype": value["dtype"], "shape": value["shape"]}
