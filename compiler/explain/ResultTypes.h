//===- ResultTypes.h - the inferred result types of an entry ----*- C++ -*-===//
#pragma once

#include "frontend/syntax/Ast.h"
#include "passes/report/ProgramReport.h"

#include <optional>
#include <string>
#include <vector>

namespace spmdc {

/// The type of a result as a user writes it: an array `f32[8]`, a struct by its name `L`, a tuple `(f32[8], L)`, or a
/// list `[f32[8]; 2]`.
struct ResultType {
  enum class Kind { Array, Struct, Tuple, List };
  Kind kind = Kind::Array;
  size_t array = 0;                 ///< For Array: its index among the arrays of the result.
  std::string structName;           ///< For Struct; inference finds its generic sizes.
  std::vector<ResultType> elements; ///< For Tuple and List.
};

/// Infers the type of the entry's result from its arrays and from the returned expression, which alone shows tuples:
/// the names of the arrays (`p.w`, `1.0`) do not. Returns nullopt if no type is certain.
std::optional<ResultType> findResultType(const Ast &ast, const Expr &returned, const std::vector<ValueReport> &arrays);

/// The indices of the arrays whose dimensions the text of the type contains: those outside of structs, and for a list
/// those of its first element.
std::vector<size_t> findWrittenArrays(const ResultType &type);

} // namespace spmdc
