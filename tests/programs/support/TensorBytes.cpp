//===- TensorBytes.cpp - arrays as bytes ----------------------------------===//

#include "tests/programs/support/TensorBytes.h"

#include "ir/spmd/SpmdTypes.h"
#include "runtime/support/Float16.h"

#include <cstring>

using namespace mlir;

namespace spmdc {
namespace {

template <typename T> void store(std::vector<char> &bytes, size_t index, T value) {
  std::memcpy(bytes.data() + index * sizeof(T), &value, sizeof(T));
}

template <typename T> T load(const std::vector<char> &bytes, size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

} // namespace

std::vector<char> toBytes(const Tensor &tensor) {
  spmd::DType dtype = getDType(tensor.elementType);
  std::vector<char> bytes(tensor.elements.size() * static_cast<size_t>(spmd::byteSize(dtype)));
  for (size_t i = 0; i < tensor.elements.size(); ++i) {
    Scalar element = tensor.elements[i];
    switch (dtype) {
    case spmd::DType::F64:
      store(bytes, i, element.f);
      break;
    case spmd::DType::F32:
      store(bytes, i, static_cast<float>(element.f));
      break;
    case spmd::DType::BF16:
      store(bytes, i, spmd::floatToBf16(static_cast<float>(element.f)));
      break;
    case spmd::DType::F16:
      store(bytes, i, spmd::floatToF16(static_cast<float>(element.f)));
      break;
    default: // Integers and bools, by the lowest bytes of their two's complement.
      std::memcpy(bytes.data() + i * static_cast<size_t>(spmd::byteSize(dtype)), &element.i,
                  static_cast<size_t>(spmd::byteSize(dtype)));
      break;
    }
  }
  return bytes;
}

Tensor fromBytes(const std::vector<char> &bytes, ArrayRef<int64_t> shape, Type elementType) {
  Tensor tensor(shape, elementType);
  spmd::DType dtype = getDType(elementType);
  for (size_t i = 0; i < tensor.elements.size(); ++i) {
    Scalar &element = tensor.elements[i];
    switch (dtype) {
    case spmd::DType::F64:
      element = Scalar::ofFloat(load<double>(bytes, i));
      break;
    case spmd::DType::F32:
      element = Scalar::ofFloat(load<float>(bytes, i));
      break;
    case spmd::DType::BF16:
      element = Scalar::ofFloat(spmd::bf16ToFloat(load<uint16_t>(bytes, i)));
      break;
    case spmd::DType::F16:
      element = Scalar::ofFloat(spmd::f16ToFloat(load<uint16_t>(bytes, i)));
      break;
    case spmd::DType::I64:
    case spmd::DType::U64:
      element = Scalar::ofInt(load<int64_t>(bytes, i));
      break;
    case spmd::DType::I32:
      element = Scalar::ofInt(load<int32_t>(bytes, i));
      break;
    case spmd::DType::U32:
      element = Scalar::ofInt(load<uint32_t>(bytes, i));
      break;
    case spmd::DType::I16:
      element = Scalar::ofInt(load<int16_t>(bytes, i));
      break;
    case spmd::DType::U16:
      element = Scalar::ofInt(load<uint16_t>(bytes, i));
      break;
    case spmd::DType::I8:
      element = Scalar::ofInt(load<int8_t>(bytes, i));
      break;
    default: // u8, and bool, whose byte must be 0 or 1
      element = Scalar::ofInt(load<uint8_t>(bytes, i));
      break;
    }
  }
  return tensor;
}

} // namespace spmdc
