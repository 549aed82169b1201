//===- UnwrittenTypes.h - types that a person may still write ---*- C++ -*-===//
//
// Annotations.h lists where a sharding is written or could be written beside a size. Where a program leaves a type to
// inference, the type itself may be written, with a sharding: that of what the entry gives, and that of a `let`.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/explain/AnnotationEdits.h"

namespace spmdc {

/// The types of what the entry gives, where none are written, with axes more on a dimension: of all arrays that can
/// have them there, or of one at a time. What is a struct bears its name, which says by itself how its arrays lie. None
/// where the types are not known (ResultTypes.h).
enum class CutResults { Together, Apart };
std::vector<AnnotationEdit> listResultEdits(const Ast &ast, std::string_view entry,
                                            const std::vector<ValueReport> &results,
                                            const std::vector<AxisAddition> &additions, CutResults which);

/// The type of a `let` that has none, with axes more on a dimension: of those on the lines of these places
/// (`mlp.spmd:5:7`), in the order of the program.
std::vector<AnnotationEdit> listLetEdits(const Ast &ast, const std::vector<ValueReport> &values,
                                         const std::vector<std::string> &places,
                                         const std::vector<AxisAddition> &additions);

} // namespace spmdc
