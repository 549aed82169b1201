//===- Trace.h - a callable written down as a program -----------*- C++ -*-===//
//
// While a callable is traced, operations on arrays write lines of a program in the language, which is then compiled
// like any other program. Each line is checked as it is written (Inference.h), so that an error is thrown by the call
// that causes it. Values that the callable captures become parameters: arrays with data become parameters of the
// program, and values of an outer traced function become parameters of the inner function that uses them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/api/ArrayImpl.h"
#include "runtime/api/TracedValue.h"
#include "runtime/api/include/spmd/operand.h"

#include <functional>
#include <map>
#include <source_location>
#include <string>
#include <vector>

namespace spmd {

/// A program, and the C++ places of its lines.
struct TracedText {
  std::string text;
  std::vector<std::source_location> places; ///< One for each line.
  std::vector<Array> captured;              ///< Additional arguments, after those of the callable.
};

/// A function of the traced program, and the outer values that it uses.
struct TracedSubfunction {
  std::string name;
  std::vector<Array> results;  ///< The function's results, which give their types.
  std::vector<Array> captured; ///< Additional arguments, as values of the caller.
};

/// A trace in progress. While the object lives, operations on its thread write to it.
class Trace {
public:
  using Body = std::function<std::vector<Array>(const std::vector<Array> &)>;

  Trace(std::shared_ptr<Job> job, Mesh mesh, std::source_location where);
  ~Trace();
  Trace(const Trace &) = delete;
  Trace &operator=(const Trace &) = delete;

  /// The trace of this thread, or null.
  static Trace *current();

  /// Adds a parameter of the entry. Must be called before the first line is written.
  Array addParameter(DType dtype, const std::vector<int64_t> &shape, const NamedSharding &sharding);

  /// Writes a line that computes the expression, and returns its results. `pattern`: their nesting, with `$` for each
  /// result; by default a tuple.
  std::vector<Array> record(const Operand &expression, const std::string &pattern = "");

  /// Traces `body` as a function of arrays with these types. Expressions may then use its name.
  TracedSubfunction addFunction(const std::vector<Array> &parameters, const Body &body, std::source_location where);

  /// Ends the trace and returns the program. `reused`: for each parameter, the index of the result that may reuse its
  /// memory, or -1.
  TracedText finish(const std::vector<Array> &results, const std::vector<int32_t> &reused = {});

  /// A function being written.
  struct Frame;

private:
  struct Line {
    std::string text;
    std::source_location where;
  };

  std::shared_ptr<Frame> openFrame(std::string name, std::source_location where);
  std::string resolve(const Array &array, size_t depth);
  std::string capture(const Array &array, size_t depth, const void *key);
  std::vector<Line> linesOf(const Frame &frame) const;

  std::shared_ptr<Job> job;
  Mesh mesh;
  Trace *outer;                               ///< The thread's trace before this one; may be null.
  std::vector<std::shared_ptr<Frame>> frames; ///< The entry, and the nested functions being traced.
  std::vector<Line> functions;                ///< The lines of complete functions.
  int values = 0, parameters = 0, names = 0;  ///< Counters for new names.
};

} // namespace spmd
