"""Writes a .npy of so many zeros (f32), of which one may be another number.

    large_npy.py FILE COUNT [PLACE]
"""

import struct
import sys

path, count = sys.argv[1], int(sys.argv[2])
header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({count},), }}"
header += " " * (63 - (len(header) + 10) % 64) + "\n"
values = bytearray(4 * count)
for place in map(int, sys.argv[3:]):
    values[4 * place] = 1
with open(path, "wb") as file:
    file.write(b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header.encode() + values)
