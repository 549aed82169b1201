//===- Program.h - a random program as data ---------------------*- C++ -*-===//
//
// The data structure that the generator creates, the printer writes and the reducer shrinks: a mesh, parameters with
// their values, a list of `let`s in order, helper functions (runs of that list), and results. Expressions are text in
// which `$3` stands for variable 3, so that this code knows no operation by name.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/interfaces/Scalar.h"
#include "runtime/sharding/Sharding.h"
#include "tests/programs/generator/Accuracy.h"

#include "llvm/ADT/SmallVector.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace spmdc {

using Shape = llvm::SmallVector<int64_t, 4>;

/// The annotation of one size: `8@(a, b)?!1`. By default there is none.
struct DimAnnotation {
  std::vector<std::string> axes;
  bool isOpen = true;
  int priority = -1;
  bool operator==(const DimAnnotation &) const = default;
  bool isDefault() const { return axes.empty() && isOpen && priority < 0; }
};
/// One for each dimension, or none at all.
using Annotations = std::vector<DimAnnotation>;

struct Variable {
  spmd::DType dtype = spmd::DType::F32;
  Shape shape;
  Accuracy accuracy;
};

struct ProgramParameter {
  int variable = 0;
  Annotations annotations;
  std::vector<Scalar> elements; ///< Row-major.
};

/// `let v7: f32[8@a, 4] = sin(v3);`
struct Statement {
  std::vector<int> results; ///< More than one: `let (v7, v8) = ...`.
  std::string expression;
  bool isTyped = false; ///< The type of its result is written, with these annotations.
  Annotations annotations = {};
  /// Written in parentheses at its use, if that is in one place of the same function and the result has no type.
  bool isInlined = false;
  /// The text of a function that the expression names; `%F` is its name in both.
  std::string function = {};
};

/// How the parameters of a helper function are written.
enum class HelperStyle { Untyped, Typed, Generic };

/// Statements [begin, end) as a function of the values that they use, called in their place.
struct Helper {
  size_t begin = 0, end = 0;
  HelperStyle style = HelperStyle::Untyped;
};

struct ProgramResult {
  int variable = 0;
  bool isTyped = false;
  Annotations annotations;
};

struct Program {
  spmd::MeshShape mesh; ///< Without axes: no mesh line.
  /// `const N = 5;`: sizes of parameters that equal a constant, or twice one, are written by its name.
  std::vector<std::pair<std::string, int64_t>> constants;
  std::vector<Variable> variables;
  std::vector<ProgramParameter> parameters;
  std::vector<Statement> statements;
  std::vector<Helper> helpers; ///< In order; they do not overlap.
  std::vector<ProgramResult> results;

  /// Returns `x0`, `x1`, ... for parameters, `v7` for others.
  std::string nameOf(int variable) const;
  /// Returns the text, as `spmdc run` takes it.
  std::string str() const;

  /// Removes statements and parameters that no result needs.
  void removeUnused();
  void removeStatement(size_t index);
};

/// Returns the variables that an expression uses, in order, with repetitions.
std::vector<int> variablesIn(const std::string &expression);

/// Returns `f32[8, 4]`, with annotations if there are any.
std::string typeText(spmd::DType dtype, llvm::ArrayRef<int64_t> shape, const Annotations &annotations = {});
/// Returns `P(a, _, (b, c)?)`.
std::string partitionText(const Annotations &annotations);

} // namespace spmdc
