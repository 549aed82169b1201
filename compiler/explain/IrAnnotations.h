//===- IrAnnotations.h - where shardings stand in IR ------------*- C++ -*-===//
//
// What Annotations.h is for programs, for IR: the types of arguments, of what a spmd.constraint gives, and of the
// entry's results. A type stands at the value and again wherever the value is used, so a change is made in the module
// and printed, with the places of the old text as locations.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/explain/AnnotationEdits.h"

#include <memory>

namespace spmdc {

class IrAnnotations {
public:
  /// `entry` is the function that is called from outside. Of text that is no IR there are no annotations.
  IrAnnotations(const Source &source, const std::string &entry);
  ~IrAnnotations();

  const std::vector<Annotation> &get() const;

  /// The edit as IR writes it: all but a single name is quoted.
  static AnnotationEdit spell(AnnotationEdit edit);

  /// The program after an edit of these annotations.
  std::string apply(const AnnotationEdit &edit) const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace spmdc
