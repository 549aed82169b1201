//===- AnnotationEdits.h - edits of annotations -----------------*- C++ -*-===//
#pragma once

#include "compiler/explain/AxisAddition.h"
#include "frontend/syntax/Annotations.h"
#include "passes/report/CollectiveProvenance.h"
#include "passes/report/ProgramReport.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace spmdc {

/// A new sharding for one dimension: `2048@b` becomes `2048@_`.
struct DimEdit {
  Range suffix;           ///< The text to replace.
  std::string place;      ///< `mlp.spmd:3:12`, where the dimension begins.
  std::string from;       ///< `2048@b`; empty if the edit adds a type where the program has none.
  std::string to;         ///< `2048@_`.
  std::string text;       ///< The replacement of `suffix`.
  std::string label = {}; ///< In an exported program, the parameter of jax.jit that says it: `in_shardings of x`.
};

/// Changes that are made together: of one dimension, of two between which an axis moves, or of all dimensions from
/// which an axis is removed.
using AnnotationEdit = std::vector<DimEdit>;

/// Lists edits that may remove a collective over `axes`, the most likely first. On annotations that force it
/// (`causes`), an axis is removed (once with a closed and once with an open dimension), moved to another dimension, or
/// replaced by an unused one. On all other annotations, an axis is added. The language accepts the syntax of each edit.
std::vector<AnnotationEdit> listEdits(const std::vector<Annotation> &annotations, const spmd::MeshShape &mesh,
                                      const std::vector<std::string> &axes,
                                      const std::vector<ForcingAnnotation> &causes);

/// Lists larger edits of the same annotations, for collectives that one added axis does not remove: several axes on one
/// dimension in every order, an axis as the major one, and two axes on two dimensions.
std::vector<AnnotationEdit> listWiderEdits(const std::vector<Annotation> &annotations, const spmd::MeshShape &mesh,
                                           const std::vector<std::string> &axes,
                                           const std::vector<ForcingAnnotation> &causes);

/// Lists edits that give all dimensions that meet at the collective the same sharding, over the union of their axes, in
/// every order: then no operand needs a reshard.
std::vector<AnnotationEdit> listAlignments(const std::vector<Annotation> &annotations, const spmd::MeshShape &mesh,
                                           const std::vector<std::string> &axes,
                                           const std::vector<ForcingAnnotation> &causes);

/// Axes to remove, by (index of the annotation, dimension).
using RemovedAxes = std::map<std::pair<size_t, size_t>, std::set<std::string>>;
/// The edit that removes the axes. The dimensions become open.
AnnotationEdit editWithout(const std::vector<Annotation> &annotations, const RemovedAxes &taken);

/// The edit that gives one dimension these axes, closed or open.
DimEdit rewriteDim(const Annotation &annotation, size_t dim, const std::vector<std::string> &axes, bool isOpen);

/// The program's text after an edit.
std::string applyEdit(std::string_view text, const AnnotationEdit &edit);

} // namespace spmdc
