//===- Diagnostics.h - what is wrong with a program -------------*- C++ -*-===//
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

/// Names the second place of an error, or the fix.
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
  /// Errors beyond this many are counted, not kept: a file of garbage must not fill the memory.
  static constexpr size_t maxErrors = 200;

  Diagnostics() = default;
  /// Collects something else: `warning`.
  explicit Diagnostics(std::string severity) : severity(std::move(severity)) {}
  Diagnostics(const Diagnostics &) = delete;
  Diagnostics &operator=(const Diagnostics &) = delete;

  const Source &addSource(std::string name, std::string text);

  /// Records an error. What a terminal must not see (a message may quote the program) is replaced. The same message at
  /// the same place is recorded once (a function body is checked anew at each call). The reference is good until the
  /// next call.
  Diagnostic &error(Range where, std::string message);

  /// The error recorded last, to note more about it. There is one.
  Diagnostic &last() { return lastIsDropped ? dropped : errors.back(); }

  bool hasErrors() const { return !errors.empty(); }
  /// Whether all errors are in what a command line says (sources with the name of an option: `--mesh`), not in a
  /// program.
  bool areInOptions() const;
  /// In the order of their places within a source, sources in the order they were added.
  std::vector<Diagnostic> getErrors() const;

  /// `file:line:col: error: message`, the source line and a caret, then the notes in the same form; for all errors.
  std::string str() const;

private:
  std::string severity = "error";
  std::vector<std::unique_ptr<Source>> sources;
  std::vector<Diagnostic> errors;
  Diagnostic dropped; ///< Takes what is not kept.
  size_t droppedCount = 0;
  bool lastIsDropped = false;
};

} // namespace spmdc
