"""What tools/gpu_check/arrays.py says of equal and of different arrays, and that files give back what was written."""

import math
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools"))

from gpu_check import arrays  # noqa: E402

NAN, INF = math.nan, math.inf


def expect(is_equal, dtype, expected, actual, **tolerance):
    found = arrays.difference(dtype, expected, actual, tolerance)
    assert (found == "") == is_equal, (dtype, expected, actual, tolerance, found)


expect(True, "f32", [NAN, INF, -INF, 0.0], [NAN, INF, -INF, -0.0])
expect(False, "f32", [0.0], [-0.0], signed_zeros=True)
expect(False, "f32", [NAN], [1.0], absolute=1e9)
expect(False, "f32", [1.0], [NAN], absolute=1e9)
expect(False, "f32", [INF], [-INF], absolute=INF)
expect(False, "f32", [INF], [3e38], absolute=1e39)
expect(False, "f32", [1.0], [1.0, 1.0])
expect(True, "f32", [1.0, 100.0], [1.5, 100.0], of_largest=0.005)
expect(False, "f32", [1.0, 100.0], [1.6, 100.0], of_largest=0.005)
expect(True, "f32", [-2.0], [-2.1], relative=0.06)
expect(False, "f32", [-2.0, 100.0], [-2.2, 100.0], relative=0.06)
expect(False, "f32", [2.0], [2.3], absolute=1.0, sum=[0.1, 0.05])
expect(True, "f32", [2.0], [2.1], absolute=1.0, sum=[0.1, 0.05])
expect(False, "i32", [1], [2], absolute=5.0)  # Integers are exact, whatever is allowed.
assert "element 1 is 3 instead of 2; 1 of 3 elements differ" == arrays.difference("i32", [1, 2, 3], [1, 3, 3], {})

# Ties go to even; what is beyond the largest number becomes an infinity.
assert [arrays.bf16_bits(value) for value in (1.0, 1.00390625, 1.01171875, -2.5, 3.4e38, INF)] == [
    0x3F80, 0x3F80, 0x3F82, 0xC020, 0x7F80, 0x7F80]
with tempfile.TemporaryDirectory() as folder:
    file = f"{folder}/x.npy"
    for dtype, values in {"f64": [1e300, -INF], "f32": [0.5, NAN], "f16": [65504.0, 2.0 ** -24], "bf16": [-1.5, NAN],
                          "i64": [2 ** 62, -1], "i32": [-5, 7], "i16": [-2 ** 15, 9], "i8": [-128, 127], "u64": [2 ** 64 - 1, 0],
                          "u32": [2 ** 32 - 1, 0], "u16": [2 ** 16 - 1, 0], "u8": [255, 0],
                          "bool": [1, 0]}.items():
        for shape in ([2], [2, 1], [1, 2, 1]):
            arrays.write_npy(file, dtype, shape, values)
            assert open(file, "rb").read().index(b"\n") % 64 == 63  # The elements are aligned, as NumPy writes them.
            got, read = arrays.read_npy(file, dtype)
            assert list(got) == shape and arrays.difference(dtype, values, read, {"signed_zeros": True}) == "", (dtype, read)
    try:
        arrays.read_npy(file, "f32")
        raise AssertionError("read as another type")
    except ValueError as error:
        assert "holds |b1 elements, not f32" in str(error)
print("all as they should be")
