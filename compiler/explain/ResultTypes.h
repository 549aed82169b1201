//===- ResultTypes.h - the types of what an entry gives ---------*- C++ -*-===//
#pragma once

#include "frontend/syntax/Ast.h"
#include "passes/report/ProgramReport.h"

#include <optional>
#include <string>
#include <vector>

namespace spmdc {

/// The type of a result as a person would write it: of an array, of a struct by its name, a tuple `(f32[8], L)`, or a
/// list `[f32[8]; 2]`.
struct ResultType {
  enum class Kind { Array, Struct, Tuple, List };
  Kind kind = Kind::Array;
  size_t array = 0;                 ///< Array: which of the arrays it is.
  std::string structName;           ///< Struct; generic sizes are those of the value.
  std::vector<ResultType> elements; ///< Tuple, List.
};

/// Finds what the entry gives, from the arrays that this is made of and from what it returns as it is written: tuples
/// are not seen in the names of arrays (`p.w`, `1.0`). Nothing where no type is known to be right.
std::optional<ResultType> findResultType(const Ast &ast, const Expr &returned, const std::vector<ValueReport> &arrays);

/// The arrays of whose dimensions the type says something: those in no struct, and of a list those of its first
/// element.
std::vector<size_t> findWrittenArrays(const ResultType &type);

} // namespace spmdc
