//===- AnnotatedProgram.h - a program and where its shardings are written -*- C++ -*-===//
#pragma once

#include "compiler/explain/AnnotationEdits.h"
#include "compiler/explain/IrAnnotations.h"

#include <memory>
#include <string>
#include <vector>

namespace spmdc {

struct ForcingAnnotationText {
  ForcingAnnotation cause;
  std::string written; ///< `2048@b`, where the source is at hand.
  std::string place;   ///< Of the dimension, else of the mark.
};

/// A program, or IR, with its annotations.
class AnnotatedProgram {
public:
  AnnotatedProgram(std::string fileName, std::string text, const std::string &entry);

  const std::string &getFileName() const { return source.getName(); }
  const Source &getSource() const { return source; }
  const std::vector<Annotation> &getAnnotations() const { return annotations; }
  /// Null for IR.
  const Ast *getAst() const { return ast.get(); }

  /// The edit as it is to be written.
  AnnotationEdit spell(const AnnotationEdit &edit) const;
  /// The text after an edit.
  std::string apply(const AnnotationEdit &edit) const;
  /// Where something is after an edit (`mlp.spmd:5:7`): farther to the right or the left where its line has changed.
  std::string moved(const std::string &location, const AnnotationEdit &edit) const;
  /// A cause with what stands at its place.
  ForcingAnnotationText describe(const ForcingAnnotation &cause) const;

private:
  Diagnostics diagnostics;
  const Source &source;
  std::unique_ptr<Ast> ast;          ///< Of a program.
  std::unique_ptr<IrAnnotations> ir; ///< Of IR.
  std::vector<Annotation> annotations;
};

} // namespace spmdc
