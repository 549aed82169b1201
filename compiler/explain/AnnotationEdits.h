//===- AnnotationEdits.h - small changes of annotations ---------*- C++ -*-===//
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

/// One dimension's sharding written anew.
struct DimEdit {
  Range suffix;      ///< What is replaced.
  std::string place; ///< `mlp.spmd:3:12`, where the dimension begins.
  std::string from;  ///< `2048@b`; empty where a type is written that was not.
  std::string to;    ///< `2048@_`.
  std::string text;  ///< In place of the suffix.
};

/// What belongs together: one dimension, an axis that moves from one to another, or an axis that is taken from all
/// dimensions that bring it.
using AnnotationEdit = std::vector<DimEdit>;

/// What may remove a collective over these axes: on the marks that force it an axis dropped, kept out, moved or
/// replaced; on all others, and on what the entry takes and gives, an axis added. The likeliest first; each is one that
/// the language allows by itself.
std::vector<AnnotationEdit> listEdits(const std::vector<Annotation> &annotations, const spmd::MeshShape &mesh,
                                      const std::vector<std::string> &axes,
                                      const std::vector<ForcingAnnotation> &causes);

/// Where one axis more on one dimension is not enough: on the same types several axes on one dimension, in every order,
/// an axis as the major one, and two axes on two dimensions.
std::vector<AnnotationEdit> listWiderEdits(const std::vector<Annotation> &annotations, const spmd::MeshShape &mesh,
                                           const std::vector<std::string> &axes,
                                           const std::vector<ForcingAnnotation> &causes);

/// The dimensions that meet at the collective all cut alike, over the axes of them all, in every order: then none of
/// them has to move.
std::vector<AnnotationEdit> listAlignments(const std::vector<Annotation> &annotations, const spmd::MeshShape &mesh,
                                           const std::vector<std::string> &axes,
                                           const std::vector<ForcingAnnotation> &causes);

/// Axes taken from dimensions, each given by the numbers of its annotation and of the dimension, which stay open.
using TakenAxes = std::map<std::pair<size_t, size_t>, std::set<std::string>>;
AnnotationEdit editWithout(const std::vector<Annotation> &annotations, const TakenAxes &taken);

/// One dimension's sharding written anew: these axes, closed or open.
DimEdit rewriteDim(const Annotation &annotation, size_t dim, const std::vector<std::string> &axes, bool isOpen);

/// The program after an edit.
std::string applyEdit(std::string_view text, const AnnotationEdit &edit);

} // namespace spmdc
