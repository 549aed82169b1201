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
    warnings.error(placeOf(diagnostic.getLocation()), diagnostic.str());
  if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
    return success();
  if (!getSourcePosition(diagnostic.getLocation())) {
    // The error concerns the options, not a place in the program.
    general += "error: " + diagnostic.str() + "\n";
    for (mlir::Diagnostic &note : diagnostic.getNotes())
      general += "note: " + note.str() + "\n";
    return success();
  }
  spmdc::Diagnostic &error =
      diagnostics.error(placeOf(diagnostic.getLocation()), messageAt(diagnostic.getLocation(), diagnostic.str()));
  noteCalls(error, diagnostic.getLocation());
  for (mlir::Diagnostic &note : diagnostic.getNotes())
    error.note(placeOf(note.getLocation()), note.str());
  return success();
}

/// Adds a note for each call that leads to the place of an error.
void CompileMessages::noteCalls(spmdc::Diagnostic &error, Location loc) {
  constexpr int shownCalls = 5;
  for (int i = 0; i < shownCalls; ++i) {
    while (!isa<CallSiteLoc>(loc)) {
      if (auto named = dyn_cast<NameLoc>(loc))
        loc = named.getChildLoc();
      else if (auto fused = dyn_cast<FusedLoc>(loc); fused && !fused.getLocations().empty())
        loc = fused.getLocations().front();
      else
        return;
    }
    loc = cast<CallSiteLoc>(loc).getCaller();
    error.note(placeOf(loc), "in the call here");
  }
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

std::string CompileMessages::messageAt(Location loc, std::string message) {
  std::optional<SourcePosition> place = getSourcePosition(loc);
  if (place && place->file != fileName && !otherSources.find(place->file))
    message += " (" + place->str() + ")";
  return message;
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
