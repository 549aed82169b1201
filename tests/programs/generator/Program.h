//===- Program.h - a random program as data ---------------------*- C++ -*-===//
//
// What the generator makes, the printer writes and the reducer cuts: a mesh, parameters with their values, a list of
// `let`s in order, helper functions (stretches of that list), and results. Expressions are text in which `$3` stands
// for variable 3, so that nothing here knows any operation by name.
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

/// What is written behind one size: `8@(a, b)?!1`. As it is by default: nothing.
struct DimMark {
  std::vector<std::string> axes;
  bool isOpen = true;
  int priority = -1;
  bool operator==(const DimMark &) const = default;
  bool isSilent() const { return axes.empty() && isOpen && priority < 0; }
};
/// One for each dimension, or none at all.
using Marks = std::vector<DimMark>;

struct Variable {
  spmd::DType dtype = spmd::DType::F32;
  Shape shape;
  Accuracy accuracy;
};

struct ProgramParameter {
  int variable = 0;
  Marks marks;
  std::vector<Scalar> elements; ///< Row-major.
};

/// `let v7: f32[8@a, 4] = sin(v3);`
struct Statement {
  std::vector<int> results; ///< More than one: `let (v7, v8) = ...`.
  std::string expression;
  bool isTyped = false; ///< The type of its result is written, with these marks.
  Marks marks = {};
  /// Written in parentheses where it is used, if that is in one place of the same function and it has no type.
  bool isInlined = false;
  /// A function that the expression names, as text; `%F` is its name in both.
  std::string function = {};
};

/// How the parameters of a helper function are written.
enum class HelperStyle { Untyped, Typed, Generic };

/// Statements [begin, end) as a function of what they use, called where they stood.
struct Helper {
  size_t begin = 0, end = 0;
  HelperStyle style = HelperStyle::Untyped;
};

struct ProgramResult {
  int variable = 0;
  bool isTyped = false;
  Marks marks;
};

struct Program {
  spmd::MeshShape mesh; ///< Without axes: no mesh line.
  /// `const N = 5;`: sizes of parameters that are one of these, or twice one, are written by its name.
  std::vector<std::pair<std::string, int64_t>> constants;
  std::vector<Variable> variables;
  std::vector<ProgramParameter> parameters;
  std::vector<Statement> statements;
  std::vector<Helper> helpers; ///< In order; they do not overlap.
  std::vector<ProgramResult> results;

  /// `x0`, `x1`, ... for parameters, `v7` for others.
  std::string nameOf(int variable) const;
  /// The text, as `spmdc run` takes it.
  std::string str() const;

  /// Without statements and parameters that no result needs.
  void removeUnused();
  void removeStatement(size_t index);
};

/// The variables that an expression uses, in order, each as often as it does.
std::vector<int> variablesIn(const std::string &expression);

/// `f32[8, 4]`, with marks where there are any.
std::string typeText(spmd::DType dtype, llvm::ArrayRef<int64_t> shape, const Marks &marks = {});
/// `P(a, _, (b, c)?)`.
std::string partitionText(const Marks &marks);

} // namespace spmdc
