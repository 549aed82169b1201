//===- Value.cpp - the value of an expression -----------------------------===//

#include "frontend/emit/Value.h"
#include "frontend/emit/FunctionValue.h"

namespace spmdc {

Value Value::ofArray(mlir::Value array, bool isWeak, Range range) {
  Value value;
  value.kind = ValueKind::Array;
  value.range = range;
  value.array = array;
  value.isWeak = isWeak;
  return value;
}

Value Value::ofKey(mlir::Value words, Range range) {
  Value value = ofArray(words, false, range);
  value.kind = ValueKind::Key;
  return value;
}

Value Value::ofSameKind(const Value &like, mlir::Value array, bool isWeak, Range range) {
  return like.isKey() ? ofKey(array, range) : ofArray(array, isWeak, range);
}

Value Value::ofConstant(Constant constant, Range range) {
  Value value;
  value.kind = ValueKind::Constant;
  value.range = range;
  value.constant = constant;
  return value;
}

DTypeClass Value::dtypeClass() const {
  if (isArray())
    return {arrayType().getDType(), isWeak};
  if (isKey())
    return {spmd::DType::Key, false};
  switch (constant.kind) {
  case Constant::Kind::Bool:
    return {spmd::DType::Bool, false};
  case Constant::Kind::Int:
    return {spmd::DType::I32, true};
  case Constant::Kind::Float:
    return {spmd::DType::F32, true};
  }
  llvm_unreachable("unknown constant");
}

std::string Value::describe() const {
  switch (kind) {
  case ValueKind::Poison:
    return "an error";
  case ValueKind::Array:
    return arrayType().withoutSharding().str();
  case ValueKind::Key:
    return "key" + shapeStr(shape());
  case ValueKind::Constant:
    return (constant.kind == Constant::Kind::Bool  ? "the bool "
            : constant.kind == Constant::Kind::Int ? "the integer "
                                                   : "the number ") +
           constant.str();
  case ValueKind::String:
    return "a string";
  case ValueKind::Tuple:
    return "a tuple";
  case ValueKind::List:
    return "a list";
  case ValueKind::Struct:
    return (std::string_view("AEIOU").find(structDecl->name.text.front()) != std::string_view::npos ? "an " : "a ") +
           std::string(structDecl->name.text);
  case ValueKind::Type:
    return "the type " + type.withoutSharding().str();
  case ValueKind::Partition:
    return "a sharding P(...)";
  case ValueKind::Function:
    return "the function '" + function->str() + "'";
  case ValueKind::None:
    return "None";
  }
  llvm_unreachable("unknown value");
}

std::string shapeStr(llvm::ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

} // namespace spmdc
