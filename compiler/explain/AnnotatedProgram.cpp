//===- AnnotatedProgram.cpp - a program and its annotations ---------------===//

#include "compiler/explain/AnnotatedProgram.h"

#include "frontend/syntax/Parser.h"

namespace spmdc {

AnnotatedProgram::AnnotatedProgram(std::string fileName, std::string text, const std::string &entry)
    : source(diagnostics.addSource(std::move(fileName), std::move(text))) {
  if (!source.getName().ends_with(".mlir")) {
    ast = parse(source, diagnostics);
    annotations = listAnnotations(*ast, entry);
  } else {
    ir = std::make_unique<IrAnnotations>(source, entry);
    annotations = ir->get();
  }
}

AnnotationEdit AnnotatedProgram::spell(const AnnotationEdit &edit) const {
  return ast ? edit : IrAnnotations::spell(edit);
}

std::string AnnotatedProgram::apply(const AnnotationEdit &edit) const {
  return ast ? applyEdit(source.getText(), edit) : ir->apply(edit);
}

std::string AnnotatedProgram::moved(const std::string &location, const AnnotationEdit &edit) const {
  size_t line = ast ? lineNumberIn(source.getName(), location) : 0; // IR keeps its locations.
  size_t colon = location.rfind(':');
  if (line == 0)
    return location;
  int64_t column = std::stoll(location.substr(colon + 1)), shift = 0;
  for (const DimEdit &dim : edit) {
    LineColumn begin = source.position(dim.suffix.begin), end = source.position(dim.suffix.end);
    if (begin.line == line && begin.column <= column)
      shift += static_cast<int64_t>(dim.text.size()) - (end.column - begin.column);
  }
  return location.substr(0, colon + 1) + std::to_string(column + shift);
}

ForcingAnnotationText AnnotatedProgram::describe(const ForcingAnnotation &cause) const {
  for (const Annotation &annotation : annotations)
    if (annotation.range.str() == cause.annotationPlace && cause.dim < annotation.dims.size()) {
      const AnnotatedDim &dim = annotation.dims[cause.dim];
      return {cause, std::string(dim.whole.text()), dim.whole.str()};
    }
  return {cause, "", cause.annotationPlace};
}

} // namespace spmdc
