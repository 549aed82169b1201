//===- ExpectHelper.h - what a collective must give, by its definition -*- C++ -*-===//
//
// Brute force, written from the definitions and not from the implementation: gathering concatenates level by level
// and cuts off, scattering pads with zeros and cuts level by level, reductions go element by element.
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
/// Rows [begin, end) of a dimension; what lies outside of the array is zero.
Value cut(const Value &value, int64_t dim, int64_t begin, int64_t end);
Value concatenate(const std::vector<Value> &parts, int64_t dim);

/// The result on the device at `position`, given every device's operand.
Value expectedResult(const MeshShape &mesh, const CollectiveDesc &desc, const std::vector<Value> &operands,
                     int64_t position);

/// Equal bits; any NaN equals any other. An empty string, or the first difference.
std::string compareBytes(DType dtype, const std::vector<char> &actual, const std::vector<char> &expected);

} // namespace spmd::test
