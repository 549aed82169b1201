//===- Promotion.cpp - type promotion -------------------------------------===//

#include "frontend/emit/Promotion.h"

#include <algorithm>

namespace spmdc {

using spmd::DType;

namespace {

bool isUnsignedInt(DType dtype) { return dtype == DType::U8 || dtype == DType::U32; }

DType joinFloats(DType a, DType b) {
  if (a == b)
    return a;
  if (a == DType::F64 || b == DType::F64)
    return DType::F64;
  return DType::F32; // Also bf16 with f16: neither holds the other.
}

DType joinIntegers(DType a, DType b) {
  if (isUnsignedInt(a) == isUnsignedInt(b))
    return spmd::byteSize(a) >= spmd::byteSize(b) ? a : b;
  DType unsignedOne = isUnsignedInt(a) ? a : b, signedOne = isUnsignedInt(a) ? b : a;
  if (spmd::byteSize(signedOne) > spmd::byteSize(unsignedOne))
    return signedOne;
  return unsignedOne == DType::U8 ? DType::I32 : DType::I64;
}

} // namespace

std::optional<DTypeClass> promote(DTypeClass a, DTypeClass b) {
  if (a.dtype == DType::Key || b.dtype == DType::Key)
    return std::nullopt;
  // bool is the bottom, weak or not.
  if (a.dtype == DType::Bool)
    return b;
  if (b.dtype == DType::Bool)
    return a;
  bool aFloat = spmd::isFloat(a.dtype), bFloat = spmd::isFloat(b.dtype);
  if (aFloat != bFloat) // Every float, float* too, is above every integer.
    return aFloat ? a : b;
  if (a.isWeak != b.isWeak)
    return a.isWeak ? b : a;
  return DTypeClass{aFloat ? joinFloats(a.dtype, b.dtype) : joinIntegers(a.dtype, b.dtype), a.isWeak};
}

IntegerRange integerRange(DType dtype) {
  int width = static_cast<int>(spmd::byteSize(dtype)) * 8;
  if (isUnsignedInt(dtype))
    return {0, (int64_t(1) << width) - 1};
  auto high = static_cast<int64_t>(~uint64_t(0) >> (64 - (width - 1)));
  return {-high - 1, high};
}

DTypeClass toInexact(DTypeClass a) {
  if (spmd::isFloat(a.dtype))
    return a;
  return {DType::F32, a.isWeak};
}

} // namespace spmdc
