//===- AnnotatedProgram.h - a program and its annotations -------*- C++ -*-===//
#pragma once

#include "compiler/explain/AnnotationEdits.h"
#include "compiler/explain/IrAnnotations.h"

#include <memory>
#include <string>
#include <vector>

namespace spmdc {

/// A forcing annotation with its text in the source.
struct ForcingAnnotationText {
  ForcingAnnotation cause;
  std::string written; ///< `2048@b`; empty if the annotation is not in this source.
  std::string place;   ///< The dimension's source position if it is known, else the annotation's.
};

/// The text of a program (.spmd) or of IR (.mlir), with its annotations. Applies edits of annotations to the text.
class AnnotatedProgram {
public:
  AnnotatedProgram(std::string fileName, std::string text, const std::string &entry);

  const std::string &getFileName() const { return source.getName(); }
  const Source &getSource() const { return source; }
  const std::vector<Annotation> &getAnnotations() const { return annotations; }
  /// Null for IR.
  const Ast *getAst() const { return ast.get(); }

  /// The edit in the syntax of this text (the language's or the IR's).
  AnnotationEdit spell(const AnnotationEdit &edit) const;
  /// The text after an edit.
  std::string apply(const AnnotationEdit &edit) const;
  /// The location (`mlp.spmd:5:7`) after an edit: its column shifts if the edit changes the line to its left.
  std::string moved(const std::string &location, const AnnotationEdit &edit) const;
  /// Adds the annotation's source text and source position to a cause.
  ForcingAnnotationText describe(const ForcingAnnotation &cause) const;

private:
  Diagnostics diagnostics;
  const Source &source;
  std::unique_ptr<Ast> ast;          ///< Null for IR.
  std::unique_ptr<IrAnnotations> ir; ///< Null for a program.
  std::vector<Annotation> annotations;
};

} // namespace spmdc
