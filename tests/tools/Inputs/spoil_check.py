"""Adds 1 to the first expected element of one program of a folder of gpu-check, and cuts the artifact of another one short.

    spoil_check.py FOLDER PROGRAM_EXPECTED PROGRAM_ARTIFACT
"""

import json
import pathlib
import struct
import sys
import tarfile
import tempfile

folder, first, second = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
places = {entry["name"]: entry["folder"] for entry in json.loads((folder / "manifest.json").read_text())["programs"]}
with tempfile.TemporaryDirectory() as scratch:
    with tarfile.open(folder / "programs.tar.xz") as archive:
        archive.extractall(scratch)
    expected = pathlib.Path(scratch, places[first], "expected0.npy")
    data = bytearray(expected.read_bytes())
    begin = 10 + struct.unpack_from("<H", data, 8)[0]
    struct.pack_into("<f", data, begin, struct.unpack_from("<f", data, begin)[0] + 1)
    expected.write_bytes(data)
    artifact = pathlib.Path(scratch, places[second], "program.spmdx")
    artifact.write_bytes(artifact.read_bytes()[:100])
    with tarfile.open(folder / "programs.tar.xz", "w:xz") as archive:
        archive.add(scratch, "")
