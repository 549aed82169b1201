//===- RunLines.h - the options that a program gives to `run` ---*- C++ -*-===//
//
// Comments in front of the first token of a program, `// run: --input x=ones --print`, hold the options of a bare
// `spmdc run FILE`. docs/commands.md states which options they may hold, and what the command line replaces.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/syntax/Diagnostics.h"
#include "runtime/runner/RunProgram.h"

#include <string>
#include <vector>

namespace CLI {
class App;
} // namespace CLI

namespace spmdc {

class RunLines {
public:
  /// Reads the run lines of `text`, which is that of `file`. A relative name of an array file is relative to the folder
  /// of `file`; if that is no regular file (a pipe), to the current folder.
  RunLines(const std::string &file, std::string text);
  RunLines(const RunLines &) = delete;
  RunLines &operator=(const RunLines &) = delete;

  /// The mistakes in them, as `file:line:col: error: ...`; empty if there are none.
  std::string errors() const { return diagnostics.str(); }

  /// Adds the options that the command line, which `command` has parsed, does not replace. Returns a line about the
  /// options that were added, or nothing. Requires that there are no errors.
  std::string addTo(const CLI::App &command, spmd::RunOptions &options) const;

private:
  struct Option {
    std::string name, value; ///< `--input`, `x=ones`; no value of a flag.
    Range where;
    /// As one argument of a command line.
    std::string argument() const { return value.empty() ? name : name + "=" + value; }
  };

  /// The text of a comment is [begin, end); `isHead`: it is in front of the first token.
  void readComment(uint32_t begin, uint32_t end, bool isHead);
  void readLine(uint32_t begin, uint32_t end);
  void readOption(const Range &where, std::string name, std::string value);
  void checkNumberOfUses(const Option &option);
  std::string resolvePath(const std::string &input) const;
  bool isReplaced(const Option &option, const CLI::App &command, const spmd::RunOptions &given) const;

  Diagnostics diagnostics;
  const Source &source;
  std::string folder; ///< In front of relative names of files.
  std::vector<Option> options;
};

} // namespace spmdc
