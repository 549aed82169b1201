//===- Trace.h - a callable written down as a program -----------*- C++ -*-===//
//
// While a callable is traced, operations on arrays write lines of a program in the language: there is one front end,
// and a traced program goes the way of any other. Each line is checked as it is written (Inference.h), so that a
// mistake is thrown by the call that makes it. What the callable takes from outside becomes a parameter: arrays with
// values of the program, values of an outer function of the inner one that uses them.
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

/// A program and where each of its lines comes from.
struct TracedText {
  std::string text;
  std::vector<std::source_location> places; ///< By line.
  std::vector<Array> captured;              ///< Arguments behind those that the trace was given.
};

/// A function of the program being traced, and what of its surroundings it uses.
struct TracedSubfunction {
  std::string name;
  std::vector<Array> results;  ///< Of the function, for their types.
  std::vector<Array> captured; ///< Further arguments, as the caller sees them.
};

/// One program being traced; on its thread operations write to it while it lives.
class Trace {
public:
  using Body = std::function<std::vector<Array>(const std::vector<Array> &)>;

  Trace(std::shared_ptr<Job> job, Mesh mesh, std::source_location where);
  ~Trace();
  Trace(const Trace &) = delete;
  Trace &operator=(const Trace &) = delete;

  /// That of this thread, or null.
  static Trace *current();

  /// The entry's next parameter. Before the first line.
  Array addParameter(DType dtype, const std::vector<int64_t> &shape, const NamedSharding &sharding);

  /// Writes a line that computes the expression, and gives its results. `pattern`: how they are nested, each result a
  /// `$`; by default a tuple.
  std::vector<Array> record(const Operand &expression, const std::string &pattern = "");

  /// Writes a function of arrays of these types, whose name may then stand in expressions.
  TracedSubfunction addFunction(const std::vector<Array> &parameters, const Body &body, std::source_location where);

  /// The whole program. `reused`: for each parameter, the result that may take its memory, or -1.
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
  Trace *outer;                               ///< That operations wrote to before; null: none.
  std::vector<std::shared_ptr<Frame>> frames; ///< The entry, and functions within one another.
  std::vector<Line> functions;                ///< Those that are complete.
  int values = 0, parameters = 0, names = 0;  ///< Named so far.
};

} // namespace spmd
