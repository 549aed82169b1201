//===- UnwrittenTypes.h - edits that add types -------------------*- C++ -*-===//
//
// frontend/syntax/Annotations.h lists the types that the program writes, which can carry a sharding. The edits here
// write types that the program leaves to inference, with a sharding: the entry's result type, and the type of a `let`.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/explain/AnnotationEdits.h"

namespace spmdc {

/// The arrays of the result to which one edit adds axes: all of them (Together), or one of them (Apart).
enum class AxisTargets { Together, Apart };

/// Lists edits that write the entry's result type, if it has none, with additional axes on one dimension of the arrays
/// that can have them. A struct is written by its name; its declaration holds the shardings of its fields. Empty if the
/// types are not certain (ResultTypes.h).
std::vector<AnnotationEdit> listResultEdits(const Ast &ast, std::string_view entry,
                                            const std::vector<ValueReport> &results,
                                            const std::vector<AxisAddition> &additions, AxisTargets which);

/// Lists edits that write the type of a `let` without one, with additional axes on one dimension, for the `let`s on the
/// lines of these source positions (`mlp.spmd:5:7`), in program order.
std::vector<AnnotationEdit> listLetEdits(const Ast &ast, const std::vector<ValueReport> &values,
                                         const std::vector<std::string> &places,
                                         const std::vector<AxisAddition> &additions);

} // namespace spmdc
