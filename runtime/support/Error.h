//===- Error.h - the one exception type of the runtime ----------*- C++ -*-===//
#pragma once

#include <stdexcept>
#include <string>

namespace spmd {

/// All errors at run time. The message is one sentence that names the place, the cause and the remedy; each boundary
/// (process, step, file) that an error passes may prepend its own name, except to a verdict.
class Error : public std::runtime_error {
public:
  enum class Kind {
    Usage,   ///< The caller's arguments are wrong: exit status 2 at the command line.
    Failed,  ///< The program or its run failed: exit status 1.
    Verdict, ///< The coordinator's verdict ended the job: every process reports the same root cause.
  };

  explicit Error(std::string message, Kind kind = Kind::Failed) : std::runtime_error(std::move(message)), kind(kind) {}

  Kind getKind() const { return kind; }
  /// Returns the same error with `context: ` prepended. A verdict stays as it is: all processes print the same,
  /// wherever it reaches them.
  Error withContext(const std::string &context) const {
    return kind == Kind::Verdict ? *this : Error(context + ": " + what(), kind);
  }

private:
  Kind kind;
};

} // namespace spmd
