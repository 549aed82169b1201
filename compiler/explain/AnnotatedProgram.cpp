//===- AnnotatedProgram.cpp - a program and its annotations ---------------===//

#include "compiler/explain/AnnotatedProgram.h"

#include "compiler/Importer.h"
#include "frontend/stablehlo/ShardingTexts.h"
#include "frontend/syntax/Parser.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cctype>
#include <utility>

namespace spmdc {

AnnotatedProgram::AnnotatedProgram(std::string fileName, std::string text, const std::string &entry)
    : source(diagnostics.addSource(std::move(fileName), std::move(text))) {
  switch (languageOf(source.getName(), source.getText())) {
  case Language::Array:
    ast = parse(source, diagnostics);
    annotations = listAnnotations(*ast, entry);
    return;
  case Language::Jax: {
    stablehlo::ShardingTexts texts = stablehlo::findShardings(source, entry);
    for (auto &list : {texts.arguments, texts.constraints, texts.results})
      for (const std::optional<Annotation> &annotation : list)
        if (annotation)
          annotations.push_back(*annotation);
    return;
  }
  case Language::Ir:
    ir = std::make_unique<IrAnnotations>(source, entry);
    annotations = ir->get();
    return;
  }
}

std::string_view AnnotatedProgram::lineOf(const std::string &location) const {
  std::string_view line = source.lineOf(location);
  return line.empty() ? otherSources.lineOf(location) : line;
}

AnnotationEdit AnnotatedProgram::spell(const AnnotationEdit &edit) const {
  return ast ? edit : ir ? IrAnnotations::spell(edit) : spellForJax(edit);
}

/// `('a', 'b')?` of an edit is the axes and whether the dimension is open.
static AnnotatedDim readEditedDim(const AnnotatedDim &old, std::string_view text) {
  AnnotatedDim dim = old;
  dim.axes.clear();
  dim.isOpen = text.find('?') != std::string_view::npos;
  std::string name;
  for (char letter : text.substr(0, text.find_first_of("?!"))) {
    if (std::isalnum(static_cast<unsigned char>(letter)) || letter == '_') {
      name += letter;
      continue;
    }
    if (!name.empty())
      dim.axes.push_back(std::exchange(name, ""));
  }
  if (!name.empty() && name != "_")
    dim.axes.push_back(name);
  return dim;
}

AnnotationEdit AnnotatedProgram::spellForJax(AnnotationEdit edit) const {
  for (const Annotation &annotation : annotations) {
    std::vector<AnnotatedDim> dims; // Most annotations are not edited.
    std::vector<DimEdit *> changed;
    for (size_t d = 0; d < annotation.dims.size(); ++d)
      for (DimEdit &one : edit)
        if (one.suffix == annotation.dims[d].suffix) {
          if (dims.empty())
            dims = annotation.dims;
          dims[d] = readEditedDim(dims[d], one.text);
          one.text = stablehlo::writeShardyDim(dims[d].axes, dims[d].isOpen, dims[d].priority);
          changed.push_back(&one);
        }
    for (DimEdit *one : changed) {
      one->from = stablehlo::writePartitionSpec(annotation.dims);
      one->to = stablehlo::writePartitionSpec(dims);
      one->place = annotation.range.str();
      one->label = annotation.label;
    }
  }
  return edit;
}

std::string AnnotatedProgram::apply(const AnnotationEdit &edit) const {
  return ir ? ir->apply(edit) : applyEdit(source.getText(), edit);
}

std::string AnnotatedProgram::keyOf(const AnnotationEdit &edit) const {
  if (ir)
    return ir->apply(edit);
  std::vector<std::string> changes;
  for (const DimEdit &dim : edit)
    if (dim.suffix.text() != dim.text)
      changes.push_back(std::to_string(dim.suffix.begin) + "-" + std::to_string(dim.suffix.end) + ":" + dim.text);
  llvm::sort(changes);
  return llvm::join(changes, "\n");
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
      if (!ast && !ir)
        return {cause, stablehlo::writePartitionSpec(annotation.dims), annotation.range.str()};
      return {cause, std::string(dim.whole.text()), dim.whole.str()};
    }
  return {cause, "", cause.annotationPlace};
}

} // namespace spmdc
