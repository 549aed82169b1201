//===- transform.h - derivatives, loops and branches ------------*- C++ -*-===//
//
// The language's transformations and control flow, for callables. In a callable that is traced they become a part of
// its program. Elsewhere each call is a program of its own, compiled once for the types and shardings of its arguments
// (and traced at each call: use jit for frequent calls). The callables may capture arrays. Needs the library with the
// compiler.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "trace.h"

#include <cstdint>
#include <optional>

namespace spmd {

namespace detail {

/// A callable as a function of the program.
struct Subprogram {
  std::vector<Array> parameters; ///< For their types.
  std::function<std::vector<Array>(const std::vector<Array> &)> body;
  std::source_location where;
};

/// `transform(f, wrt=(0, 2))(operands)`; `wrt` may be missing.
std::vector<Array> applyTransform(const std::string &transform, const std::optional<std::vector<size_t>> &wrt,
                                  const Subprogram &program);
/// The body's first parameter is the counter, an i32.
std::vector<Array> applyFor(int64_t lower, int64_t upper, const Subprogram &body);
std::vector<Array> applyWhile(const Subprogram &condition, const Subprogram &body);
std::vector<Array> applyIf(const Operand &predicate, const Subprogram &onTrue, const Subprogram &onFalse);
/// Returns zero, as an i32: stands for a loop's counter while the body is traced.
Array counterOfLoop(const std::vector<Array> &carries, std::source_location where);

template <typename F, typename... Args>
Subprogram subprogram(F &function, std::source_location where, const Args &...args) {
  return {flatten(args...).leaves,
          [&](const std::vector<Array> &leaves) { return tree_leaves(callWith(function, leaves, args...)); }, where};
}

} // namespace detail

/// Returns a callable that returns the value of `function`, one number, and its derivative; JAX's `jax.value_and_grad`.
/// The template arguments are the indices of the arguments to differentiate by. For one, or none (the first), the
/// derivative is a tree with the structure of that argument; for several it is a std::tuple of such trees. A derivative
/// by integers is an error.
template <size_t... argnums, typename F>
auto value_and_grad(F function, std::source_location where = std::source_location::current()) {
  return [function = std::move(function), where]<typename... Args>(const Args &...args) mutable {
    if constexpr (sizeof...(argnums) == 0) {
      return value_and_grad<0>(function, where)(args...);
    } else {
      static_assert(((argnums < sizeof...(Args)) && ...), "the numbers are those of arguments of the call");
      std::vector<size_t> counts = detail::flatten(args...).counts, wrt;
      for (size_t argument : {argnums...})
        for (size_t i = 0, first = 0; i <= argument; first += counts[i++])
          if (i == argument)
            for (size_t leaf = 0; leaf < counts[i]; ++leaf)
              wrt.push_back(first + leaf);
      std::vector<Array> all =
          detail::applyTransform("value_and_grad", wrt, detail::subprogram(function, where, args...));
      size_t next = 1;
      auto derivative = [&](auto tree) {
        tree_for_each(tree, [&](Array &leaf) { leaf = all.at(next++); });
        return tree;
      };
      auto arguments = std::tie(args...);
      std::tuple<std::remove_cvref_t<std::tuple_element_t<argnums, decltype(arguments)>>...> derivatives{
          derivative(std::get<argnums>(arguments))...};
      if constexpr (sizeof...(argnums) == 1)
        return std::pair(all.front(), std::get<0>(derivatives));
      else
        return std::pair(all.front(), derivatives);
    }
  };
}

/// Returns the derivative alone; JAX's `jax.grad`.
template <size_t... argnums, typename F>
auto grad(F function, std::source_location where = std::source_location::current()) {
  return [both = value_and_grad<argnums...>(std::move(function), where)](const auto &...args) mutable {
    return both(args...).second;
  };
}

/// Returns a callable with the same values; its derivative recomputes intermediate values instead of keeping them;
/// JAX's `jax.checkpoint`.
template <typename F> auto checkpoint(F function, std::source_location where = std::source_location::current()) {
  return [function = std::move(function), where](const auto &...args) mutable {
    auto call = [&](const std::vector<Array> &leaves) { return detail::callWith(function, leaves, args...); };
    std::optional<decltype(call({}))> form;
    detail::Subprogram program{detail::flatten(args...).leaves,
                               [&](const std::vector<Array> &leaves) {
                                 form = call(leaves);
                                 return tree_leaves(*form);
                               },
                               where};
    std::vector<Array> all = detail::applyTransform("checkpoint", std::nullopt, program);
    return tree_unflatten(*form, all);
  };
}

/// `carry = body(i, carry)` for i (an i32) from `lower` to `upper` - 1, compiled once for any number of iterations;
/// JAX's `jax.lax.fori_loop`. The carry keeps its structure and types.
template <typename Body, Tree T>
T fori_loop(int64_t lower, int64_t upper, Body body, const T &carry,
            std::source_location where = std::source_location::current()) {
  Array counter = detail::counterOfLoop(tree_leaves(carry), where);
  return tree_unflatten(carry, detail::applyFor(lower, upper, detail::subprogram(body, where, counter, carry)));
}

/// `carry = body(carry)` as long as `condition(carry)`, one bool, holds; JAX's `jax.lax.while_loop`. The carry keeps
/// its structure and types. It has no derivative.
template <typename Condition, typename Body, Tree T>
T while_loop(Condition condition, Body body, const T &carry,
             std::source_location where = std::source_location::current()) {
  return tree_unflatten(
      carry, detail::applyWhile(detail::subprogram(condition, where, carry), detail::subprogram(body, where, carry)));
}

/// Runs `on_true(operands...)` or `on_false(operands...)`; JAX's `jax.lax.cond`. `predicate` is one bool, the same on
/// all devices. Both take the same trees and return the same structure; types that differ are promoted as for `+`.
template <typename True, typename False, Tree... Args>
auto cond(const Operand &predicate, True on_true, False on_false, const Args &...operands) {
  auto call = [&](const std::vector<Array> &leaves) { return detail::callWith(on_true, leaves, operands...); };
  std::optional<decltype(call({}))> form;
  detail::Subprogram program{detail::flatten(operands...).leaves,
                             [&](const std::vector<Array> &leaves) {
                               form = call(leaves);
                               return tree_leaves(*form);
                             },
                             predicate.get_location()};
  std::vector<Array> all =
      detail::applyIf(predicate, program, detail::subprogram(on_false, program.where, operands...));
  return tree_unflatten(*form, all);
}

} // namespace spmd
