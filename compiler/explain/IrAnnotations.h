//===- IrAnnotations.h - the annotations of IR ------------------*- C++ -*-===//
//
// The counterpart of frontend/syntax/Annotations.h for IR: the types of arguments, of the results of spmd.constraint,
// and of the entry's results. IR repeats a type at each use of a value, so an edit changes a clone of the module and
// prints it, with the locations of the unedited text.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/explain/AnnotationEdits.h"

#include <memory>

namespace spmdc {

class IrAnnotations {
public:
  /// `entry` is the name of the entry function. Text that does not parse has no annotations.
  IrAnnotations(const Source &source, const std::string &entry);
  ~IrAnnotations();

  const std::vector<Annotation> &get() const;

  /// The edit in the syntax of IR, which quotes everything but a single name: `@(a, b)` becomes `@"(a, b)"`.
  static AnnotationEdit spell(AnnotationEdit edit);

  /// The printed module after an edit of these annotations.
  std::string apply(const AnnotationEdit &edit) const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace spmdc
