//===- AnnotatedProgram.h - a program and its annotations -------*- C++ -*-===//
#pragma once

#include "compiler/OtherSources.h"
#include "compiler/explain/AnnotationEdits.h"
#include "compiler/explain/IrAnnotations.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace spmdc {

/// A forcing annotation with its text in the source.
struct ForcingAnnotationText {
  ForcingAnnotation cause;
  std::string written;      ///< `2048@b`; empty if the annotation is not in this source.
  std::string place;        ///< The dimension's source position if it is known, else the annotation's.
  std::string label;        ///< Annotation::label, of an exported program.
  bool isSignature = false; ///< Part of a parameter or a result of an exported program's entry.
};

/// The text of a program (.spmd), of an exported program or of IR (.mlir), with its annotations. Applies edits of
/// annotations to the text.
class AnnotatedProgram {
public:
  AnnotatedProgram(std::string fileName, std::string text, const std::string &entry);

  const std::string &getFileName() const { return source.getName(); }
  /// The line that a location names, without its indentation, in this text or in one that its locations name; empty if
  /// there is none.
  std::string_view lineOf(const std::string &location) const;
  const std::vector<Annotation> &getAnnotations() const { return annotations; }
  /// Null for IR and exported programs.
  const Ast *getAst() const { return ast.get(); }
  /// Whether an edit moves the annotations behind it; edited IR keeps its locations.
  bool isEditedInPlace() const { return !ir; }

  /// The edit in the syntax of this text (the language's or the IR's). For an exported program, what is shown is JAX's
  /// P(...), and what is replaced Shardy's text of a dimension, or of all dimensions. In the signature it closes them.
  AnnotationEdit spell(const AnnotationEdit &edit) const;
  /// The edit, made alike in all annotations of an exported program that say the same: of arguments or results whose
  /// names differ in numbers only, as those of equal layers do, or on one line of Python. The same edit if two of its
  /// dimensions are of annotations that are alike. `forcing`, if it is not null, are the places of the annotations that
  /// force what the edit removes: then two weights of a layer, `w1` and `w2`, are not alike if their types differ, or
  /// only one of them is forcing.
  AnnotationEdit withAlike(const AnnotationEdit &edit, const std::set<std::string> *forcing) const;
  /// The text after an edit.
  std::string apply(const AnnotationEdit &edit) const;
  /// A text that is equal for edits after which the text is equal, but short: a program may have many thousand edits.
  std::string keyOf(const AnnotationEdit &edit) const;
  /// The location (`mlp.spmd:5:7`) after an edit: its column shifts if the edit changes the line to its left.
  std::string moved(const std::string &location, const AnnotationEdit &edit) const;
  /// Adds the annotation's source text and source position to a cause.
  ForcingAnnotationText describe(const ForcingAnnotation &cause) const;

private:
  AnnotationEdit spellForJax(const AnnotationEdit &edit) const;
  void groupAlike();

  Diagnostics diagnostics;
  const Source &source;

  std::unique_ptr<Ast> ast;          ///< Null for IR and exported programs.
  std::unique_ptr<IrAnnotations> ir; ///< Null for programs.
  std::vector<Annotation> annotations;
  /// Of an exported program: for each annotation those that are alike, itself among them; and the annotation and the
  /// dimension of each suffix, by the offset at which that begins.
  std::vector<std::vector<size_t>> alike;
  std::map<uint32_t, std::pair<size_t, size_t>> dimsByBegin;
  mutable OtherSources otherSources;
};

} // namespace spmdc
