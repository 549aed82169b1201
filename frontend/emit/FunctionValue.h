//===- FunctionValue.h - functions as values --------------------*- C++ -*-===//
#pragma once

#include "frontend/emit/Parameters.h"

#include <memory>

namespace spmdc {

struct Builtin;

/// A function that a call names: one of the program, the prelude or the table of operations, or the result of grad,
/// value_and_grad or checkpoint on one.
struct FunctionValue {
  std::string_view name; ///< Of the function, or of the transform: `grad`.
  Range range;
  const FnDecl *fn = nullptr;
  bool isPrelude = false;
  const Builtin *builtin = nullptr;
  std::shared_ptr<const FunctionValue> of; ///< The function that a transform applies to.
  std::vector<int64_t> wrt;                ///< Numbers of parameters.
  bool isWrtTuple = false;
  Range wrtRange;

  const FunctionValue &innermost() const { return of ? of->innermost() : *this; }
  std::vector<Parameter> parameters() const;
  /// The text of the function: `grad(loss)`.
  std::string str() const;
  /// The number of nested transforms.
  size_t depth() const { return of ? of->depth() + 1 : 0; }
};

/// True if both are the same function, or equal transforms of the same one.
bool isSameFunction(const FunctionValue &a, const FunctionValue &b);

/// The parameters of a function of the program or the prelude.
std::vector<Parameter> parametersOf(const FnDecl &fn);

} // namespace spmdc
