//===- Promotion.cpp - type promotion -------------------------------------===//

#include "frontend/emit/Promotion.h"

#include <algorithm>
#include <limits>

namespace spmdc {

using spmd::DType;

namespace {

DType joinFloats(DType a, DType b) {
  if (a == b)
    return a;
  if (a == DType::F64 || b == DType::F64)
    return DType::F64;
  return DType::F32; // Also bf16 with f16: neither holds the other.
}

DTypeClass joinIntegers(DType a, DType b, bool isWeak) {
  if (spmd::isUnsigned(a) == spmd::isUnsigned(b))
    return {spmd::byteSize(a) >= spmd::byteSize(b) ? a : b, isWeak};
  DType unsignedOne = spmd::isUnsigned(a) ? a : b, signedOne = spmd::isUnsigned(a) ? b : a;
  if (spmd::byteSize(signedOne) > spmd::byteSize(unsignedOne))
    return {signedOne, isWeak};
  // No integer holds both u64 and negative numbers: the result is float*, as in JAX.
  if (unsignedOne == DType::U64)
    return {DType::F32, /*isWeak=*/true};
  return {unsignedOne == DType::U32 ? DType::I64 : DType::I32, isWeak};
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
  return aFloat ? DTypeClass{joinFloats(a.dtype, b.dtype), a.isWeak} : joinIntegers(a.dtype, b.dtype, a.isWeak);
}

IntegerRange integerRange(DType dtype) {
  int width = static_cast<int>(spmd::byteSize(dtype)) * 8;
  int64_t widest = std::numeric_limits<int64_t>::max();
  if (spmd::isUnsigned(dtype))
    return {0, width == 64 ? widest : (int64_t(1) << width) - 1};
  return {-(widest >> (64 - width)) - 1, widest >> (64 - width)};
}

DTypeClass toInexact(DTypeClass a) {
  if (spmd::isFloat(a.dtype))
    return a;
  return {DType::F32, a.isWeak};
}

} // namespace spmdc
