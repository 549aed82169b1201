//===- AnnotatedProgram.cpp - a program and its annotations ---------------===//

#include "compiler/explain/AnnotatedProgram.h"

#include "compiler/Importer.h"
#include "compiler/inspection/NumberedNames.h"
#include "frontend/stablehlo/ShardingTexts.h"
#include "frontend/syntax/Parser.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cctype>
#include <set>
#include <utility>

namespace spmdc {

AnnotatedProgram::AnnotatedProgram(std::string fileName, std::string text, const std::string &entry)
    : source(diagnostics.addSource(std::move(fileName), std::move(text))) {
  switch (languageOf(source.getName(), source.getText())) {
  case Language::Array:
    ast = parse(source, diagnostics);
    annotations = listAnnotations(*ast, entry);
    break;
  case Language::Jax: {
    stablehlo::ShardingTexts texts = stablehlo::findShardings(source, entry);
    for (auto &list : {texts.arguments, texts.constraints, texts.results})
      for (const std::optional<Annotation> &annotation : list)
        if (annotation)
          annotations.push_back(*annotation);
    groupAlike();
    break;
  }
  case Language::Ir:
    ir = std::make_unique<IrAnnotations>(source, entry);
    annotations = ir->get();
    break;
  }
  for (Annotation &annotation : annotations) { // Once, because they are asked for often.
    annotation.place = annotation.range.str();
    for (AnnotatedDim &dim : annotation.dims)
      dim.place = dim.whole.str();
  }
}

std::string_view AnnotatedProgram::lineOf(const std::string &location) const {
  std::string_view line = source.lineOf(location);
  return line.empty() ? otherSources.lineOf(location) : line;
}

void AnnotatedProgram::groupAlike() {
  std::map<std::string, std::vector<size_t>> byName;
  std::vector<std::string> names;
  for (size_t a = 0; a < annotations.size(); ++a) {
    const Annotation &annotation = annotations[a];
    // The numbers of a constraint are those of its line.
    std::string name = annotation.isSignature ? withoutNumbers(annotation.label) : annotation.label;
    names.push_back(name + " " + stablehlo::writePartitionSpec(annotation.dims));
    byName[names.back()].push_back(a);
    for (size_t d = 0; d < annotation.dims.size(); ++d)
      dimsByBegin[annotation.dims[d].suffix.begin] = {a, d};
  }
  for (const std::string &name : names)
    alike.push_back(byName[name]);
}

AnnotationEdit AnnotatedProgram::withAlike(const AnnotationEdit &edit, const std::set<std::string> *forcing) const {
  AnnotationEdit result;
  std::set<std::pair<size_t, size_t>> edited; // (annotation, dimension)
  for (const DimEdit &one : edit) {
    auto found = dimsByBegin.find(one.suffix.begin);
    if (found == dimsByBegin.end())
      return edit;
    auto [annotation, dim] = found->second;
    const Annotation &own = annotations[annotation];
    for (size_t other : alike[annotation]) {
      if (own.isSignature && forcing &&
          (annotations[other].type != own.type ||
           (forcing->count(own.place) && !forcing->count(annotations[other].place))))
        continue;
      if (!edited.emplace(other, dim).second)
        return edit;
      result.push_back(one);
      result.back().suffix = annotations[other].dims[dim].suffix;
    }
  }
  return result;
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

/// Whether an edit closes the dimensions of an annotation: JAX refuses P.UNCONSTRAINED in `in_shardings` and
/// `out_shardings`. An argument with open dimensions and others has its sharding from its jax.ShapeDtypeStruct.
static bool isClosedByEdits(const Annotation &annotation) {
  auto isOpen = [](const AnnotatedDim &dim) { return dim.isOpen; };
  return annotation.isSignature &&
         (llvm::none_of(annotation.dims, isOpen) ||
          llvm::all_of(annotation.dims, [](const AnnotatedDim &dim) { return dim.isOpen && dim.axes.empty(); }));
}

AnnotationEdit AnnotatedProgram::spellForJax(const AnnotationEdit &edit) const {
  std::map<size_t, std::vector<std::pair<size_t, size_t>>> changes; // (dimension, index in the edit) by annotation.
  for (size_t i = 0; i < edit.size(); ++i)
    if (auto found = dimsByBegin.find(edit[i].suffix.begin); found != dimsByBegin.end())
      changes[found->second.first].emplace_back(found->second.second, i);
  std::map<size_t, DimEdit> spelled; // By index in the edit, whose order remains.
  for (const auto &[index, edited] : changes) {
    const Annotation &annotation = annotations[index];
    std::vector<AnnotatedDim> dims = annotation.dims;
    for (auto [d, i] : edited)
      dims[d] = readEditedDim(dims[d], edit[i].text);
    bool isClosed = isClosedByEdits(annotation), wasOpen = isClosed && annotation.dims.front().isOpen;
    for (AnnotatedDim &dim : dims)
      dim.isOpen &= !isClosed;
    auto textOf = [&](size_t d) { return stablehlo::writeShardyDim(dims[d].axes, dims[d].isOpen, dims[d].priority); };
    for (auto [d, i] : edited) {
      DimEdit &one = spelled[i] = edit[i];
      one.text = textOf(d);
      one.from = stablehlo::writePartitionSpec(annotation.dims);
      one.to = stablehlo::writePartitionSpec(dims);
      one.place = annotation.place;
      one.label = annotation.label;
      if (one.from == one.to) { // For JAX, a closed dimension that is opened remains as it is.
        spelled.erase(i);
        continue;
      }
      if (!wasOpen)
        continue;
      // One edit closes all dimensions.
      one.suffix.begin = annotation.dims.front().suffix.begin;
      one.suffix.end = annotation.dims.back().suffix.end;
      one.text = textOf(0);
      for (size_t other = 1; other < dims.size(); ++other)
        one.text += ", " + textOf(other);
      break;
    }
  }
  AnnotationEdit result;
  for (auto &[i, one] : spelled)
    result.push_back(std::move(one));
  return result;
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
    if (annotation.place == cause.annotationPlace && cause.dim < annotation.dims.size()) {
      const AnnotatedDim &dim = annotation.dims[cause.dim];
      if (!ast && !ir)
        return {cause, stablehlo::writePartitionSpec(annotation.dims), annotation.place, annotation.label,
                annotation.isSignature};
      return {cause, std::string(dim.whole.text()), dim.place, ""};
    }
  return {cause, "", cause.annotationPlace, ""};
}

} // namespace spmdc
