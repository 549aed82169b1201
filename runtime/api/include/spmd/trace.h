//===- trace.h - compiled C++ callables -------------------------*- C++ -*-===//
//
// jit of a callable, as JAX's: the callable is called once with symbolic arrays, its operations (numpy.h, operand.h)
// are written as a program in the language, and the program is compiled and called. Other effects of the callable
// (printing, counting, asking for the time) happen while it is traced and not in later calls. Needs the library with
// the compiler.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "function.h"
#include "operand.h"
#include "tree.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

namespace spmd {

namespace detail {

class TracedFunction;

/// The results of a trace or of a call: arrays, and the tree that they belong to.
struct TraceOutput {
  std::vector<Array> leaves;
  std::shared_ptr<const void> tree;
};
using TraceBody = std::function<TraceOutput(const std::vector<Array> &)>;

/// The arguments of a call: their arrays, how many each argument has, and the structure of the trees.
struct TraceInput {
  std::vector<Array> leaves;
  std::vector<size_t> counts;
  std::string structure;
};

std::shared_ptr<TracedFunction> makeTracedFunction(JitOptions options, std::source_location where);
TraceOutput callTraced(TracedFunction &function, TraceInput input, const TraceBody &body);
Lowered lowerTraced(TracedFunction &function, TraceInput input, const TraceBody &body);
size_t countTraced(const TracedFunction &function);
bool isTracing();

/// A jitted callable that is called while another one is traced, on this thread. Throws if so many are nested that the
/// callable must be calling itself.
class NestedTrace {
public:
  explicit NestedTrace(const TracedFunction &function);
  ~NestedTrace();
  NestedTrace(const NestedTrace &) = delete;
  NestedTrace &operator=(const NestedTrace &) = delete;
};

template <typename... Args> TraceInput flatten(const Args &...args) {
  TraceInput input;
  auto add = [&](auto tree) {
    size_t before = input.leaves.size();
    tree_for_each(tree, [&](Array &leaf) { input.leaves.push_back(leaf); });
    input.counts.push_back(input.leaves.size() - before);
    input.structure += tree_structure(tree) + ", ";
  };
  (add(args), ...);
  input.structure += typeid(std::tuple<Args...>).name();
  return input;
}

/// Calls `function` with trees of the same structure as the arguments, and other arrays in them.
template <typename F, typename... Args>
auto callWith(F &function, const std::vector<Array> &leaves, const Args &...args) {
  std::tuple<Args...> trees(args...);
  size_t next = 0;
  std::apply([&](auto &...tree) { (tree_for_each(tree, [&](Array &leaf) { leaf = leaves.at(next++); }), ...); }, trees);
  return std::apply([&](auto &...tree) { return function(tree...); }, trees);
}

} // namespace detail

/// A compiled callable; copies share the compiled programs. Safe from any thread. Only one thread at a time traces the
/// callable, so the callable must not wait for another thread that calls the same function. The program must make its
/// calls in the same order on all processes (spmd.h).
template <typename F> class Jitted {
public:
  Jitted(F function, JitOptions options, std::source_location where)
      : function(std::make_shared<F>(std::move(function))),
        traced(detail::makeTracedFunction(std::move(options), where)) {}

  /// Runs it on trees of arrays (tree.h) and returns without waiting for the results, which are global arrays in a tree
  /// of the structure that the callable returns. The first call for the structures, types and shardings of the
  /// arguments traces and compiles; later calls reuse that. All processes of the mesh make the same calls; if they
  /// trace different programs, all get an error. Inside of another trace the callable is traced as a part of it.
  template <typename... Args> auto operator()(const Args &...args) const {
    static_assert((Tree<Args> && ...),
                  "the arguments of a jitted callable are arrays or trees of arrays (spmd/tree.h); "
                  "capture numbers in the callable, which makes them constants of the program");
    using Result = std::remove_cvref_t<std::invoke_result_t<F &, std::add_lvalue_reference_t<Args>...>>;
    static_assert(Tree<Result>, "a jitted callable returns an array or a tree of arrays (spmd/tree.h)");
    if (detail::isTracing()) {
      detail::NestedTrace nested(*traced);
      return Result(detail::callWith(*function, detail::flatten(args...).leaves, args...));
    }
    detail::TraceOutput output = detail::callTraced(*traced, detail::flatten(args...), bodyFor(args...));
    return tree_unflatten(*static_cast<const Result *>(output.tree.get()), output.leaves);
  }

  /// Lowers the program for these arguments without running it; JAX's `jit(f).lower(...)`. as_text has one more stage,
  /// `source`: the traced program with the places of its lines. No communication.
  template <typename... Args> Lowered lower(const Args &...args) const {
    static_assert((Tree<Args> && ...),
                  "the arguments of a jitted callable are arrays or trees of arrays (spmd/tree.h)");
    return detail::lowerTraced(*traced, detail::flatten(args...), bodyFor(args...));
  }

  /// Returns for how many combinations of structures, types and shardings it was traced.
  size_t cache_size() const { return detail::countTraced(*traced); }

private:
  template <typename... Args> detail::TraceBody bodyFor(const Args &...args) const {
    return [&, this](const std::vector<Array> &leaves) {
      auto result = detail::callWith(*function, leaves, args...);
      detail::TraceOutput output{tree_leaves(result), nullptr};
      tree_for_each(result, [](Array &leaf) { leaf = Array(); }); // Keeps the structure alone.
      output.tree = std::make_shared<const decltype(result)>(std::move(result));
      return output;
    };
  }

  std::shared_ptr<F> function;
  std::shared_ptr<detail::TracedFunction> traced;
};

/// Returns a callable that takes and returns trees of arrays, and is compiled for the arguments of its calls; JAX's
/// `jax.jit`. The options for a source's text (`function`, `constants`) are errors here. An error in an operation is
/// thrown by the operation's call in the callable, with its file and line.
template <typename F>
  requires(!std::convertible_to<F, std::string>)
Jitted<std::remove_cvref_t<F>> jit(F &&function, JitOptions options = {},
                                   std::source_location where = std::source_location::current()) {
  return {std::forward<F>(function), std::move(options), where};
}

} // namespace spmd
