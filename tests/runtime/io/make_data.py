#!/usr/bin/env python3
"""Writes data/: files written by NumPy and the text that NumPy prints, with which the tests compare.

Run by hand with NumPy 2, ml_dtypes and safetensors installed when a case is added; the results are kept in the repository, so the
tests need neither.
"""
import hashlib
import json
import pathlib
import struct

import ml_dtypes
import numpy as np
import safetensors.numpy

DATA = pathlib.Path(__file__).parent / "data"

DTYPES = {
    "f64": np.float64, "f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16, "i64": np.int64,
    "i32": np.int32, "i16": np.int16, "i8": np.int8, "u64": np.uint64, "u32": np.uint32, "u16": np.uint16,
    "u8": np.uint8, "bool": np.bool_,
}


def values(name):
    """Element i of a 3x5 array of the type."""
    i = np.arange(15).reshape(3, 5)
    return (i % 2 == 0) if name == "bool" else (i * 3 - (0 if name[0] == "u" else 20)).astype(DTYPES[name])


def save_version(path, array, version):
    with open(path, "wb") as file:
        np.lib.format.write_array(file, array, version=version)


def npy_files():
    for name in DTYPES:
        np.save(DATA / f"{name}.npy", values(name))
    np.save(DATA / "fortran.npy", np.asfortranarray(values("f32")))
    np.save(DATA / "big_endian.npy", values("f32").astype(">f4"))
    np.save(DATA / "big_endian_i64.npy", values("i64").astype(">i8"))
    save_version(DATA / "version2.npy", values("f32"), (2, 0))
    save_version(DATA / "version3.npy", values("f32"), (3, 0))
    np.save(DATA / "scalar.npy", np.float32(2.5))
    np.save(DATA / "empty.npy", np.zeros((0, 5), np.float32))
    np.save(DATA / "vector.npy", np.arange(7, dtype=np.int32))
    np.save(DATA / "complex.npy", np.zeros(3, np.complex64))
    z = (np.arange(6) + 1j * np.arange(6)[::-1]).reshape(2, 3)
    np.save(DATA / "complex_matrix.npy", z.astype(np.complex128))
    np.save(DATA / "complex_fortran.npy", np.asfortranarray(z.astype(np.complex64)))
    np.save(DATA / "complex_big_endian.npy", z.astype(">c8"))
    for dtype in ("float8_e4m3fn", "float8_e5m2", "int4"):  # As `<V1`, `<f1` and `<V1`.
        np.save(DATA / f"{dtype}.npy", np.array([[1, -2, 3], [0, -4, 5]]).astype(getattr(ml_dtypes, dtype)))
    np.save(DATA / "date.npy", np.zeros(3, "datetime64[s]"))
    np.save(DATA / "structured.npy", np.zeros(3, [("a", "<f4"), ("b", "<i4", (2,))]))
    np.savez(DATA / "stored.npz", **{"first.w": values("f32"), "first.b": values("bf16"), "fortran": np.asfortranarray(values("i32"))})
    np.savez_compressed(DATA / "packed.npz", w=values("f32"), b=values("i8"))


def packed_by_hand(path, names, order):
    """A .safetensors with its header in one order and its bytes in another; the package must read the same arrays."""
    header, data = {}, b""
    for name in order:
        array = np.asarray(names[name])
        text = {"f32": "F32", "bf16": "BF16", "i64": "I64", "u8": "U8", "bool": "BOOL"}[
            next(key for key, dtype in DTYPES.items() if np.dtype(dtype) == array.dtype)]
        header[name] = {"dtype": text, "shape": list(array.shape), "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps({name: header[name] for name in names}, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    for name, array in safetensors.numpy.load_file(path).items():
        assert array.dtype == names[name].dtype and np.array_equal(array, names[name]), name


def safetensors_files():
    arrays = {name: values(name) for name in DTYPES}
    safetensors.numpy.save_file({**arrays, "c64": np.zeros((3, 5), np.complex64)}, DATA / "types.safetensors")
    odd = {"a.bytes": np.arange(3, dtype=np.uint8), "b.w": values("f32")}
    packed_by_hand(DATA / "odd.safetensors", odd, ["a.bytes", "b.w"])
    written = {"flags": np.array([True, False, True]), "p.w": np.arange(1, 7, dtype=np.float32).reshape(2, 3),
               "h": np.array([1, -2], ml_dtypes.bfloat16), "n": np.array(-7, np.int64)}
    packed_by_hand(DATA / "written.safetensors", written, ["n", "p.w", "h", "flags"])


def write_case(file, array):
    """dtype, shape, raw bytes and the text, each with its length."""
    name = next(name for name, dtype in DTYPES.items() if np.dtype(dtype) == array.dtype)
    text = str(array).encode()
    header = name.encode().ljust(4, b"\0") + struct.pack("<I", array.ndim) + struct.pack(f"<{array.ndim}q", *array.shape)
    raw = np.ascontiguousarray(array).tobytes()
    file.write(header + struct.pack("<I", len(raw)) + raw + struct.pack("<I", len(text)) + text)


def print_cases():
    rng = np.random.default_rng(7)
    cases = [
        np.float32([[1, 2], [3, 4]]), np.float32([1, 2.5, -3.125]), np.float32(-0.12398731708526611), np.float32(1e20),
        np.float32([0.1, 1e-5]), np.float32([1e6, 1]), np.float32([999999, 1]), np.float32([1e5, 99]),
        np.float32([np.nan, 1, -np.inf]), np.float32([np.nan, np.inf]), np.float32([np.inf, 1e10]), np.float32([0, -0.0]),
        np.float32([1 / 3, 2 / 3, 100.123456]), np.float32(np.arange(32).reshape(4, 8)), np.float32(np.sin(np.arange(24)).reshape(2, 3, 4)),
        np.float64([1e-300, 1e300]), np.float64([1 / 3, 1e8]), np.float64([12345678.123456789, 1]), np.float64([1e-4, 5e-5]),
        np.float64(0.1), np.float64(1e16), np.float64(123456789012345680), np.float64([0.00012, 0.1]), np.float64([1.5, 1501]),
        np.float16([0.1, 1, 999]), np.float16([1000, 1]), np.float16([65504, 6e-8]), np.float16([[0.5], [2.25]]), np.float16(0.1),
        np.int32([[1, -20], [300, 4]]), np.int64([2**62, -2**63]), np.int8([-128, 127]), np.uint32([2**32 - 1, 0]), np.uint8([0, 255]),
        np.int16([[-2**15, 7], [0, 2**15 - 1]]), np.uint16([0, 2**16 - 1]), np.uint64([2**64 - 1, 0, 2**63]), np.uint64(2**64 - 2),
        np.array([[True, False], [False, False]]), np.array(True), np.array([True, True]), np.int32(7),
        np.int32(np.arange(1000)), np.int32(np.arange(1001)), np.int32(np.arange(1200).reshape(30, 40)), np.float32(np.arange(7 * 8 * 9 * 10).reshape(7, 8, 9, 10)),
        np.float32(np.arange(100) / 7), np.float32(np.ones((2, 60))), np.zeros((0, 3), np.float32), np.zeros((2, 0), np.int32),
        np.float32(np.arange(2000).reshape(1000, 2)), np.ones((1, 1, 1), np.float32), np.float64(np.arange(2002).reshape(2, 1001) * 1e-3),
    ]
    for scale in (1e-6, 1e-3, 1, 1e3, 1e6, 1e12):
        for dtype in (np.float32, np.float64, np.float16):
            with np.errstate(over="ignore"):
                cases.append((rng.standard_normal((3, 4)) * scale).astype(dtype))
    for dtype in (np.float32, np.float64):
        bits = rng.integers(0, 2**63, 64, dtype=np.int64)
        cases.append(bits.astype(np.uint32).view(np.float32) if dtype == np.float32 else bits.view(np.float64))
    with open(DATA / "print_cases.bin", "wb") as file:
        file.write(struct.pack("<I", len(cases)))
        for case in cases:
            write_case(file, np.asarray(case))


def scalar_digests():
    """SHA-256 of the shortest decimals of every finite f16 and of many f32 and f64, one a line."""
    half = np.arange(65536, dtype=np.uint16).view(np.float16)
    lines = {"f16": [str(x) for x in half if np.isfinite(x)]}
    bits = (np.arange(20000, dtype=np.uint64) * 2654435761 % 2**32).astype(np.uint32).view(np.float32)
    lines["f32"] = [str(x) for x in bits if np.isfinite(x)]
    wide = (np.arange(20000, dtype=np.uint64) * np.uint64(11400714819323198485)).view(np.float64)
    lines["f64"] = [str(x) for x in wide if np.isfinite(x)]
    for name, text in lines.items():
        print(name, len(text), hashlib.sha256("\n".join(text).encode()).hexdigest())


if __name__ == "__main__":
    DATA.mkdir(exist_ok=True)
    npy_files()
    safetensors_files()
    print_cases()
    scalar_digests()
