"""Adds 1 to the first expected element of one program of a folder of gpu-check, and cuts the artifact of another one short.

    spoil_check.py FOLDER PROGRAM_EXPECTED PROGRAM_ARTIFACT
"""

import json
import pathlib
import struct
import sys
import zipfile

folder, first, second = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
places = {entry["name"]: entry["folder"] for entry in json.loads((folder / "manifest.json").read_text())["programs"]}
with zipfile.ZipFile(folder / "programs.zip") as archive:
    files = {name: archive.read(name) for name in archive.namelist()}
expected, artifact = f"{places[first]}/expected0.npy", f"{places[second]}/program.spmdx"
data = bytearray(files[expected])
begin = 10 + struct.unpack_from("<H", data, 8)[0]
struct.pack_into("<f", data, begin, struct.unpack_from("<f", data, begin)[0] + 1)
files[expected] = bytes(data)
files[artifact] = files[artifact][:100]
with zipfile.ZipFile(folder / "programs.zip", "w") as archive:
    for name, content in files.items():
        archive.writestr(name, content)
