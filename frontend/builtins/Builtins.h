//===- Builtins.h - the operations that programs call -----------*- C++ -*-===//
//
// One table entry for each function of the language: its name, its parameters, and the function that checks the
// arguments and emits operations. To make an `array` operation (ir/array) callable, add an entry in one of the
// Builtins*.cpp files. A function that is composed of others goes into prelude.spmd.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/emit/Emitter.h"

#include <functional>

namespace spmdc {

/// The arguments of a call in the order of the parameters.
class Args {
public:
  Args(Emitter &emitter, std::string_view function, Range range, std::vector<std::string_view> names,
       std::vector<std::optional<Value>> values)
      : e(emitter), function(function), range(range), names(std::move(names)), values(std::move(values)) {}

  Emitter &e;
  std::string_view function;
  Range range; ///< The call.

  bool has(size_t i) const { return i < values.size() && values[i] && values[i]->kind != ValueKind::None; }
  const Value &operator[](size_t i) const { return *values[i]; }

  /// The argument as the kind that the name says; otherwise an error that names the parameter.
  const Value &array(size_t i) const; ///< An array, or a number (a scalar).
  const Value &key(size_t i) const;   ///< One random key or several.
  int64_t integer(size_t i) const;    ///< Known while compiling.
  int64_t integer(size_t i, int64_t otherwise) const { return has(i) ? integer(i) : otherwise; }
  double number(size_t i) const; ///< Known while compiling.
  bool flag(size_t i, bool otherwise) const;
  std::vector<int64_t> integers(size_t i) const; ///< An integer or a list of them.
  std::vector<Value> arrays(size_t i) const;     ///< A list of arrays.
  /// An axis of an array of this rank; a negative one counts from the end.
  int64_t axis(size_t i, int64_t rank) const;
  int64_t axis(size_t i, int64_t rank, int64_t otherwise) const;
  /// Axes in increasing order, without duplicates; all axes if the argument is left out.
  llvm::SmallVector<int64_t> axes(size_t i, int64_t rank) const;
  int64_t normalizeAxis(const Value &value, int64_t axis, int64_t rank) const;
  /// `found` describes the argument, if its kind says too little.
  [[noreturn]] void fail(size_t i, std::string expected, std::string found = "") const;

  /// The result of the call.
  Value result(mlir::Value array, bool isWeak = false) const { return Value::ofArray(array, isWeak, range); }

private:
  std::vector<std::string_view> names;
  std::vector<std::optional<Value>> values;
};

struct Builtin {
  std::string_view name;
  /// `x axis=None keepdims=false`: parameters with `=` are optional; `*xs` takes all remaining arguments as one list,
  /// `@a` takes names of mesh axes.
  std::string_view parameters;
  Value (*emit)(Args &args);
};

/// The function of that name, or null.
const Builtin *findBuiltin(std::string_view name);
/// True if the function works on each element separately (and so on structs leaf by leaf).
bool isElementwise(const Builtin &builtin);
/// True for grad, value_and_grad, checkpoint: they turn a function into a function.
bool isFunctionTransform(std::string_view name);
/// All names, for suggestions.
std::vector<std::string_view> builtinNames();

llvm::ArrayRef<Builtin> elementwiseBuiltins();
llvm::ArrayRef<Builtin> reductionBuiltins();
llvm::ArrayRef<Builtin> shapeBuiltins();
llvm::ArrayRef<Builtin> creationBuiltins();
llvm::ArrayRef<Builtin> contractionBuiltins();
llvm::ArrayRef<Builtin> manualBuiltins();
llvm::ArrayRef<Builtin> windowBuiltins();
llvm::ArrayRef<Builtin> debugBuiltins();
llvm::ArrayRef<Builtin> gradientBuiltins();
llvm::ArrayRef<Builtin> randomBuiltins();
llvm::ArrayRef<Builtin> indexBuiltins();

/// A type, or a list of sizes with the given dtype.
ArrayType typeArgument(const Args &args, size_t i, spmd::DType bareDType);
/// The value, constrained to the sharding of the type.
Value created(const Args &args, mlir::Value value, ArrayType type);
/// The type of positions along a dimension of `size` elements (Positions.h).
spmd::DType positionDType(int64_t size);
/// An integer or an array of them as indices of a dimension, in that type: negative ones count from its end.
mlir::Value indicesOf(Emitter &e, const Value &value, int64_t size);
/// Positions along a dimension of `size` elements in the dtype of argument `i` (index_dtype), i32 if it is left out (as
/// in jnp with 64-bit types off). Fails if the dtype cannot hold the positions.
mlir::Value asIndexDType(const Args &args, mlir::Value positions, int64_t size, size_t i);
/// `split` of a random key.
Value splitKey(Args &args);

/// `x @ y`.
Value emitMatmul(Emitter &e, const Value &x, const Value &y, Range range);
/// `x // y`, the floor of the quotient; both arrays have one type.
mlir::Value emitFloorDivide(Emitter &e, mlir::Value x, mlir::Value y);
/// `x % y` with the divisor's sign.
mlir::Value emitRemainder(Emitter &e, mlir::Value x, mlir::Value y);
/// x to a constant power by repeated squaring, as in JAX's integer_pow.
mlir::Value emitIntegerPower(Emitter &e, mlir::Value x, int64_t exponent);

} // namespace spmdc
