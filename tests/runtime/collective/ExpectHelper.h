//===- ExpectHelper.h - reference results by definition ---------*- C++ -*-===//
//
// Brute force, written from the definitions and not from the implementation: a gather concatenates level by level and
// crops, a scatter pads with zeros and splits level by level, reductions process single elements.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/Plan.h"

#include <random>

namespace spmd::test {

/// An array of raw elements.
struct Value {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::vector<char> bytes;
};

Value makeValue(DType dtype, std::vector<int64_t> shape, std::mt19937_64 &random);
Value zerosLike(DType dtype, std::vector<int64_t> shape);
/// Returns rows [begin, end) of a dimension; rows outside the array are zero.
Value crop(const Value &value, int64_t dim, int64_t begin, int64_t end);
Value concatenate(const std::vector<Value> &parts, int64_t dim);

/// Returns the result on the device at `position`, given every device's operand.
Value expectedResult(const MeshShape &mesh, const CollectiveDesc &desc, const std::vector<Value> &operands,
                     int64_t position);

/// Compares bits; any NaN equals any other. Returns an empty string, or the first difference.
std::string compareBytes(DType dtype, const std::vector<char> &actual, const std::vector<char> &expected);

} // namespace spmd::test
