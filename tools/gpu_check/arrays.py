"""Reads, writes and compares arrays in .npy files, of the language's element types.

Python's standard library alone, so that `tools/gpu-check prepare` runs where there is no NumPy. Values are Python's numbers:
floats of every width are floats, all others are integers.
"""

import array
import ast
import math
import struct

# The type's name in .npy, and Python's code of one element. bf16 is read and written by its bits.
NPY = {"f64": ("<f8", "d"), "f32": ("<f4", "f"), "f16": ("<f2", "e"), "bf16": ("|V2", "H"), "i64": ("<i8", "q"),
       "i32": ("<i4", "i"), "i16": ("<i2", "h"), "i8": ("|i1", "b"), "u64": ("<u8", "Q"), "u32": ("<u4", "I"),
       "u16": ("<u2", "H"), "u8": ("|u1", "B"), "bool": ("|b1", "B")}
BYTES = {dtype: struct.calcsize(code) for dtype, (_, code) in NPY.items()}
BYTES["key"] = 8
FLOATS = ("f64", "f32", "f16", "bf16")
# Arrays in .npy whose elements are one or two elements of another type: complex numbers, and types of 8 bits or fewer that
# NumPy lacks.
PARTS = {"<c16": ("f64", (2,)), "<c8": ("f32", (2,)), "|V1": ("u8", ())}


def count(shape):
    return math.prod(shape)


def bf16_bits(value):
    """Rounded to the nearest, ties to even; a NaN stays one."""
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    if math.isnan(value):
        return bits >> 16 | 0x40
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def encode(dtype, values):
    """The bytes of the elements; floats are rounded to the type."""
    code = NPY[dtype][1]
    if dtype == "bf16":
        values = [bf16_bits(value) for value in values]
    elif dtype == "bool":
        values = [int(bool(value)) for value in values]
    return struct.pack(f"<{len(values)}{code}", *values)


def write_npy(path, dtype, shape, values):
    header = repr({"descr": NPY[dtype][0], "fortran_order": False, "shape": tuple(shape)})
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    with open(path, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + encode(dtype, values))


def read_npy(path, dtype):
    """Shape and elements of a file that must hold elements of this type, in row-major order."""
    with open(path, "rb") as file:
        data = file.read()
    begin = 10 if data[6] == 1 else 12
    end = begin + struct.unpack_from("<H" if begin == 10 else "<I", data, 8)[0]
    header = ast.literal_eval(data[begin:end].decode())
    descr, shape = header["descr"].replace("<V2", "|V2"), tuple(header["shape"])
    if descr in PARTS:
        part, more = PARTS[descr]
        descr, shape = NPY[dtype if BYTES[dtype] == BYTES[part] == 1 else part][0], shape + more
    if header["fortran_order"] or descr != NPY[dtype][0]:
        raise ValueError(f"{path} holds {header['descr']} elements, not {dtype}")
    values = struct.unpack_from(f"<{count(shape)}{NPY[dtype][1]}", data, end)
    if dtype == "bf16":
        bits = array.array("I", (value << 16 for value in values))
        values = array.array("f", bits.tobytes())
    return shape, values


# Half a unit in the last place of 1.
ROUNDOFF = {"f64": 2.0 ** -53, "f32": 2.0 ** -24, "f16": 2.0 ** -11, "bf16": 2.0 ** -8}


def largest(values):
    return max((abs(value) for value in values if math.isfinite(value)), default=0.0)


def allowance(tolerance, expected):
    """The absolute error that an element may have, as a function of its expected value.

    A tolerance is a dictionary of terms; a missing term is 0, and an empty dictionary asks for equal values:
      absolute    the same for each element
      relative    times the element's absolute value
      of_largest  times the largest finite absolute value of the array
      sum         [a, r]: a + r times the element's absolute value where that is less than the above
    """
    fixed = tolerance.get("absolute", 0.0) + tolerance.get("of_largest", 0.0) * largest(expected)
    relative = tolerance.get("relative", 0.0)
    if "sum" not in tolerance:
        return lambda value: fixed + relative * abs(value)
    least, share = tolerance["sum"]
    return lambda value: min(fixed + relative * abs(value), least + share * abs(value))


def difference(dtype, expected, actual, tolerance):
    """Returns "" if the arrays agree, else the first element that differs and the number of them.

    NaN agrees with NaN and an infinity with itself, alone. With `signed_zeros` in the tolerance the sign of a zero counts.
    """
    if len(expected) != len(actual):
        return f"has {len(actual)} elements instead of {len(expected)}"
    is_float = dtype in FLOATS
    allowed = allowance(tolerance, expected) if is_float else None
    signed = is_float and tolerance.get("signed_zeros", False)
    wrong, first = 0, ""
    for index, (want, have) in enumerate(zip(expected, actual)):
        if want == have:
            if not signed or want != 0 or math.copysign(1, want) == math.copysign(1, have):
                continue
        elif is_float:
            if math.isnan(want) and math.isnan(have):
                continue
            if math.isfinite(want) and math.isfinite(have) and abs(want - have) <= allowed(want):
                continue
        wrong += 1
        if wrong == 1:
            first = f"element {index} is {have:.9g} instead of {want:.9g}"
            if is_float and math.isfinite(want) and allowed(want):
                first += f" (allowed error {allowed(want):.2g})"
    return f"{first}; {wrong} of {len(expected)} elements differ" if wrong else ""
