//===- Diagnostics.h - errors of a program ----------------------*- C++ -*-===//
//
// Collects the errors (or the warnings) of one compilation, and owns the sources that they point into. It neither
// prints nor decides how the process ends: a tool asks for the text and chooses.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/syntax/Source.h"

#include <memory>
#include <string>
#include <vector>

namespace spmdc {

/// The second location of an error, or its fix.
struct DiagnosticNote {
  Range where;
  std::string message;
};

struct Diagnostic {
  Range where;
  std::string message;
  std::vector<DiagnosticNote> notes;

  Diagnostic &note(Range where, std::string_view message);
};

class Diagnostics {
public:
  /// Errors beyond this many are counted, not stored: a file of garbage must not exhaust memory.
  static constexpr size_t maxErrors = 200;

  Diagnostics() = default;
  /// Collects diagnostics of another severity: `warning`.
  explicit Diagnostics(std::string severity) : severity(std::move(severity)) {}
  Diagnostics(const Diagnostics &) = delete;
  Diagnostics &operator=(const Diagnostics &) = delete;

  const Source &addSource(std::string name, std::string text);

  /// Records an error. Characters that a terminal must not show are replaced (a message may quote the program). The
  /// same message at the same location is recorded once (a function body is checked again at each call). The reference
  /// is valid until the next call.
  Diagnostic &error(Range where, std::string message);

  /// The last recorded error, to add notes. There must be one.
  Diagnostic &last() { return lastIsDropped ? dropped : errors.back(); }

  bool hasErrors() const { return !errors.empty(); }
  /// True if all errors are in the command line (sources with the name of an option: `--mesh`), not in a program.
  bool areInOptions() const;
  /// Sorted by location within a source; sources in the order in which they were added.
  std::vector<Diagnostic> getErrors() const;

  /// `file:line:col: error: message`, the source line and a caret, then the notes in the same form; for all errors.
  std::string str() const;

private:
  std::string severity = "error";
  std::vector<std::unique_ptr<Source>> sources;
  std::vector<Diagnostic> errors;
  Diagnostic dropped; ///< Receives errors that are not stored.
  size_t droppedCount = 0;
  bool lastIsDropped = false;
};

} // namespace spmdc
