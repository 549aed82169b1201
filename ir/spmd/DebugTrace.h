//===- DebugTrace.h - why a pattern does not apply (--debug-only) -*- C++ -*-===//
//
// A trace prints the decisions of one pass or module on stderr, one a line. It is for those who change them:
//
//   static DebugTrace trace("sink-reductions", "not sunk");
//   ...
//   if (!region.isClosed())
//     return trace.skip(op, "the partial sum has another user (", user, ")");
//
// prints `[sink-reductions] mlp.spmd:5:7: dot_general: not sunk: the partial sum has another user (return)` and returns
// false. It is our own, because release builds of LLVM lack LLVM_DEBUG. A trace that is off costs the test of one flag:
// its parts are formatted only when it prints.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/spmd/SpmdTypes.h"

#include "mlir/IR/Operation.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <atomic>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace spmdc {

/// The trace of one name. An object with static storage, in the file of the pass; several files may have traces of one
/// name, which are turned on together.
class DebugTrace {
public:
  /// `name`: the argument of the pass without `spmdc-`, or the name of a module that several passes use. `refusal`
  /// begins each line of `skip`: "not sunk". Both must be literals.
  explicit DebugTrace(const char *name, const char *refusal = "not applied") noexcept;
  DebugTrace(const DebugTrace &) = delete;
  DebugTrace &operator=(const DebugTrace &) = delete;

  /// Whether the trace prints now. For work that only a trace needs; `skip` and `note` test it themselves.
  bool isOn() const { return on.load(std::memory_order_relaxed) && (pauses == 0 || exempt == this); }

  /// Prints that the pattern does not apply to `op`, and the reason. Returns false, for the caller to return. A part is
  /// text, a number, an operation (printed as its name), an array type, or a function that returns one of these.
  template <typename... Parts> bool skip(mlir::Operation *op, const Parts &...parts) const {
    if (isOn()) [[unlikely]]
      print(op, refusal, format(parts...));
    return false;
  }

  /// Prints another decision about `op`.
  template <typename... Parts> void note(mlir::Operation *op, const Parts &...parts) const {
    if (isOn()) [[unlikely]]
      print(op, "", format(parts...));
  }

  /// Prints a decision about a place, without the name of an operation.
  template <typename... Parts> void noteAt(mlir::Location loc, const Parts &...parts) const {
    if (isOn()) [[unlikely]]
      print(loc, format(parts...));
  }

  /// The names of all traces in this program, sorted.
  static std::vector<std::string_view> listNames();
  /// Turns on the traces of a comma-separated list of names, each with or without `spmdc-`. Returns the error about the
  /// first unknown name, and then turns nothing on; empty on success.
  static std::string turnOn(std::string_view names);
  /// The lines that `--debug-only=help` prints: one name a line.
  static std::string helpText();
  /// Whether any trace was turned on.
  static bool isAnyOn();

  /// Silences the traces of this thread, except one, while the compiler tries something: what it decides on the way
  /// says nothing about the program that it keeps.
  class Pause {
  public:
    explicit Pause(const DebugTrace *except = nullptr) : outer(exempt) {
      ++pauses;
      exempt = except;
    }
    ~Pause() {
      --pauses;
      exempt = outer;
    }
    Pause(const Pause &) = delete;
    Pause &operator=(const Pause &) = delete;

  private:
    const DebugTrace *outer;
  };

private:
  static void write(llvm::raw_ostream &out, mlir::Operation *op);
  static void write(llvm::raw_ostream &out, ArrayType type);
  template <typename Part> static void write(llvm::raw_ostream &out, const Part &part) {
    if constexpr (std::is_invocable_v<const Part &>)
      write(out, part());
    else if constexpr (std::is_convertible_v<const Part &, mlir::Operation *>)
      write(out, static_cast<mlir::Operation *>(part));
    else
      out << part;
  }
  template <typename... Parts> static std::string format(const Parts &...parts) {
    std::string text;
    llvm::raw_string_ostream out(text);
    (write(out, parts), ...);
    return text;
  }
  void print(mlir::Operation *op, llvm::StringRef prefix, const std::string &text) const;
  void print(mlir::Location loc, const std::string &text) const;

  static constinit thread_local int pauses;               ///< The number of live `Pause` objects of the thread.
  static constinit thread_local const DebugTrace *exempt; ///< The exception of the innermost one.
  const char *name, *refusal;
  std::atomic<bool> on = false;
  DebugTrace *next; ///< The list of all traces.
};

/// A predicted time as a part of a line: `12.3 us`, `4.56 ms`.
inline auto asTime(double seconds) {
  return [seconds] {
    return seconds < 1e-3 ? llvm::format("%.3g us", seconds * 1e6) : llvm::format("%.4g ms", seconds * 1e3);
  };
}

/// A count that is computed in floating point, such as bytes, as a part of a line: `4096`.
inline auto asCount(double count) {
  return [count] { return llvm::format("%.0f", count); };
}

} // namespace spmdc
