//===- IoTestSupport.h - data files and messages ----------------*- C++ -*-===//
#pragma once

#include "runtime/support/DType.h"
#include "runtime/support/Float16.h"
#include "tests/support/Messages.h"
#include "tests/support/TemporaryFolder.h"

#include <cstring>
#include <string>
#include <unistd.h>

namespace spmd::testing_io {

/// A file written by NumPy (tests/runtime/io/make_data.py).
inline std::string dataFile(const std::string &name) { return SPMDC_SOURCE_DIR "/tests/runtime/io/data/" + name; }

using test::messageOf;
using test::TemporaryFolder;

/// Returns element `index` of row-major data as a double.
inline double elementAt(DType dtype, const void *data, int64_t index) {
  auto get = [&](auto value) {
    std::memcpy(&value, static_cast<const char *>(data) + index * static_cast<int64_t>(sizeof value), sizeof value);
    return value;
  };
  switch (dtype) {
  case DType::F64:
    return get(double());
  case DType::F32:
    return get(float());
  case DType::BF16:
    return bf16ToFloat(get(uint16_t()));
  case DType::F16:
    return f16ToFloat(get(uint16_t()));
  case DType::I64:
    return static_cast<double>(get(int64_t()));
  case DType::I32:
    return get(int32_t());
  case DType::I8:
    return get(int8_t());
  case DType::I16:
    return get(int16_t());
  case DType::U64:
    return static_cast<double>(get(uint64_t()));
  case DType::U32:
    return get(uint32_t());
  case DType::U16:
    return get(uint16_t());
  default:
    return get(uint8_t());
  }
}

/// Returns the element at row r, column c of make_data.py's 3x5 arrays.
inline double expectedElement(DType dtype, int64_t row, int64_t column) {
  int64_t i = row * 5 + column;
  if (dtype == DType::Bool)
    return i % 2 == 0;
  return static_cast<double>(i * 3 - (isUnsigned(dtype) ? 0 : 20));
}

} // namespace spmd::testing_io
