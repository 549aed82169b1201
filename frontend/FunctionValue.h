//===- FunctionValue.h - functions that calls name and pass on --*- C++ -*-===//
#pragma once

#include "frontend/Parameters.h"

#include <memory>

namespace spmdc {

struct Builtin;

/// A function that a call names: one of the program, the prelude or the table of operations, or what grad,
/// value_and_grad or checkpoint make of one.
struct FunctionValue {
  std::string_view name; ///< Of the function, or of what was made of it: `grad`.
  Range range;
  const FnDecl *fn = nullptr;
  bool isPrelude = false;
  const Builtin *builtin = nullptr;
  std::shared_ptr<const FunctionValue> of; ///< What it is made of.
  std::vector<int64_t> wrt;                ///< Numbers of parameters.
  bool isWrtTuple = false;
  Range wrtRange;

  const FunctionValue &innermost() const { return of ? of->innermost() : *this; }
  std::vector<Parameter> parameters() const;
  /// How it reads: `grad(loss)`.
  std::string str() const;
  /// How many times something was made of a function.
  size_t depth() const { return of ? of->depth() + 1 : 0; }
};

/// Whether both are one function, or the same made of the same one.
bool isSameFunction(const FunctionValue &a, const FunctionValue &b);

/// Those of a function of the program or the prelude.
std::vector<Parameter> parametersOf(const FnDecl &fn);

} // namespace spmdc
