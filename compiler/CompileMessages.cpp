//===- CompileMessages.cpp - errors, warnings and remarks of a compile ----===//

#include "compiler/CompileMessages.h"

#include "ir/spmd/Location.h"

using namespace mlir;

namespace spmdc {

/// The range of one character at a line and column, or an empty range at the end of the source.
static Range rangeAt(const Source &source, const SourcePosition &place) {
  unsigned line = place.line, column = place.column;
  std::string_view text = source.getText();
  size_t offset = 0;
  for (unsigned current = 1; current < line && offset < text.size(); ++current) {
    size_t end = text.find('\n', offset);
    offset = end == std::string_view::npos ? text.size() : end + 1;
  }
  for (unsigned current = 1; current < column && offset < text.size() && text[offset] != '\n'; ++current)
    offset += std::max<size_t>(1, utf8Length(text.substr(offset)));
  auto begin = static_cast<uint32_t>(offset);
  return {&source, begin, static_cast<uint32_t>(begin + utf8Length(text.substr(offset)))};
}

LogicalResult CompileMessages::take(mlir::Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() == DiagnosticSeverity::Remark) {
    std::optional<SourcePosition> place = getSourcePosition(diagnostic.getLocation());
    remarks += (place ? place->str() + ": " : "") + "remark: " + diagnostic.str() + "\n";
    return success();
  }
  if (diagnostic.getSeverity() == DiagnosticSeverity::Warning)
    add(warnings, diagnostic.getLocation(), diagnostic.str());
  if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
    return success();
  if (!getSourcePosition(diagnostic.getLocation())) {
    // The error concerns the options, not a place in the program.
    general += "error: " + diagnostic.str() + "\n";
    for (mlir::Diagnostic &note : diagnostic.getNotes())
      general += "note: " + note.str() + "\n";
    return success();
  }
  spmdc::Diagnostic &error = add(diagnostics, diagnostic.getLocation(), diagnostic.str());
  for (mlir::Diagnostic &note : diagnostic.getNotes())
    error.note(placeOf(note.getLocation()), note.str());
  return success();
}

/// Calls of one place that are shown.
static constexpr size_t kShownCalls = 5;

/// The location of an expression and those of the calls around it, innermost first.
static SmallVector<Location> getCallStack(Location loc) {
  SmallVector<Location> stack{loc};
  while (stack.size() <= kShownCalls) {
    while (!isa<CallSiteLoc>(loc)) {
      if (auto named = dyn_cast<NameLoc>(loc))
        loc = named.getChildLoc();
      else if (auto fused = dyn_cast<FusedLoc>(loc); fused && !fused.getLocations().empty())
        loc = fused.getLocations().front();
      else
        return stack;
    }
    stack.push_back(loc = cast<CallSiteLoc>(loc).getCaller());
  }
  return stack;
}

spmdc::Diagnostic &CompileMessages::add(spmdc::Diagnostics &list, Location loc, std::string message) {
  std::optional<SourcePosition> place = getSourcePosition(loc);
  SmallVector<Location> stack = getCallStack(loc);
  if (!place || isReadable(*place)) {
    spmdc::Diagnostic &added = list.error(placeOf(loc), std::move(message));
    for (Location call : llvm::drop_begin(stack))
      if (std::optional<SourcePosition> caller = getSourcePosition(call); caller && isReadable(*caller))
        added.note(placeOf(call), "in the call here");
    return added;
  }
  std::string places;
  for (auto [index, call] : llvm::enumerate(stack))
    if (std::optional<SourcePosition> position = getSourcePosition(call))
      places += (index == 0 ? "" : index == 1 ? ", called at " : ", from ") + position->str();
  if (!textPlaces)
    textPlaces.emplace(text, fileName);
  std::optional<SourcePosition> inText = textPlaces->find(loc, message);
  return list.error(inText ? rangeOf(*inText, *inText) : placeOf(loc), message + " (" + places + ")");
}

bool CompileMessages::isReadable(const SourcePosition &position) {
  return position.file == fileName || otherSources.find(position.file);
}

Range CompileMessages::rangeOf(const SourcePosition &first, const SourcePosition &last) {
  if (!source)
    source = &diagnostics.addSource(fileName, text);
  const Source *of = first.file == fileName ? source : otherSources.find(first.file);
  if (!of)
    return {source, 0, 0};
  Range begin = rangeAt(*of, first), end = last == first ? begin : rangeAt(*of, last);
  return {of, begin.begin, std::max(begin.end, end.end)};
}

Range CompileMessages::placeOf(StringRef place) {
  auto [rest, column] = place.rsplit(':');
  auto [file, line] = rest.rsplit(':');
  unsigned lineNumber = 0, columnNumber = 0;
  line.getAsInteger(10, lineNumber);
  column.getAsInteger(10, columnNumber);
  SourcePosition position{file.str(), lineNumber, columnNumber};
  return rangeOf(position, position);
}

Range CompileMessages::placeOf(Location loc) {
  auto range = getSourceRange(loc);
  return range ? rangeOf(range->first, range->second) : rangeOf({}, {});
}

} // namespace spmdc
