//===- Value.h - the value of an expression ---------------------*- C++ -*-===//
//
// An array (an IR value), or something that exists only while compiling: a number, a string, a tuple, a struct (a tuple
// whose parts have names), a type, P(...). The error of a poisoned value is already reported; uses of it report
// nothing.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/emit/Constant.h"
#include "frontend/emit/Promotion.h"
#include "ir/spmd/SpmdTypes.h"

#include "mlir/IR/Value.h"

#include <memory>
#include <string>
#include <vector>

namespace spmdc {

enum class ValueKind { Poison, Array, Key, Constant, String, Tuple, List, Struct, Type, Partition, Function, None };

struct FunctionValue;

struct Value {
  ValueKind kind = ValueKind::Poison;
  Range range;         ///< The expression.
  Range origin;        ///< Declaration of the name that it was read from; without a source if it has none.
  mlir::Value array;   ///< Array; Key: u32 with a last dimension of 2, which the shape leaves out.
  bool isWeak = false; ///< Array: the dtype comes from literals alone.
  Constant constant;
  std::string string;
  std::vector<Value> elements;                   ///< Tuple, List, and Struct (fields in declaration order).
  const StructDecl *structDecl = nullptr;        ///< Struct.
  ArrayType type;                                ///< Type.
  std::vector<DimShardingAttr> partition;        ///< Partition: the written entries.
  std::shared_ptr<const FunctionValue> function; ///< Function: the function of a parameter.

  bool isPoison() const { return kind == ValueKind::Poison; }
  bool isArray() const { return kind == ValueKind::Array; }
  /// True for random keys: only operations for keys take them.
  bool isKey() const { return kind == ValueKind::Key; }
  bool isConstant() const { return kind == ValueKind::Constant; }
  bool isInt() const { return isConstant() && constant.kind == Constant::Kind::Int; }
  bool isFunction() const { return kind == ValueKind::Function; }
  bool isStruct() const { return kind == ValueKind::Struct; }
  /// True if arithmetic takes it.
  bool isNumeric() const { return isArray() || isConstant(); }
  /// True for the leaves of carries, arguments and results: arrays, numbers, random keys.
  bool isData() const { return isNumeric() || isKey(); }
  bool isSequence() const { return kind == ValueKind::Tuple || kind == ValueKind::List; }

  ArrayType arrayType() const { return llvm::cast<ArrayType>(array.getType()); }
  llvm::ArrayRef<int64_t> shape() const {
    if (isKey())
      return arrayType().getShape().drop_back();
    return isArray() ? arrayType().getShape() : llvm::ArrayRef<int64_t>();
  }
  int64_t rank() const { return shape().size(); }
  spmd::DType dtype() const { return dtypeClass().dtype; }
  DTypeClass dtypeClass() const;

  /// The value in messages: `f32[8, 4]`, `the integer 3`, `a tuple`.
  std::string describe() const;

  static Value ofArray(mlir::Value array, bool isWeak, Range range);
  static Value ofKey(mlir::Value words, Range range);
  /// An array if `like` is one or a number, keys if it is keys.
  static Value ofSameKind(const Value &like, mlir::Value array, bool isWeak, Range range);
  static Value ofConstant(Constant constant, Range range);
};

/// `[8, 4]`
std::string shapeStr(llvm::ArrayRef<int64_t> shape);

} // namespace spmdc
