//===- tree.h - arrays in containers ----------------------------*- C++ -*-===//
//
// JAX's pytrees: the arguments and results of a traced callable may be an Array, or std::vector, std::array, std::pair,
// std::tuple and std::map<std::string, ...> of trees, or a struct with a member function that ties its members:
//
//     struct Layer {
//       spmd::Array w, b;
//       auto tree_members() { return std::tie(w, b); }
//     };
//
//===----------------------------------------------------------------------===//
#pragma once

#include "array.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace spmd {

namespace detail {

template <typename T> struct IsTree : std::false_type {};
template <> struct IsTree<Array> : std::true_type {};
template <typename T> struct IsTree<T &> : IsTree<T> {};
template <typename T> struct IsTree<std::vector<T>> : IsTree<T> {};
template <typename T, size_t N> struct IsTree<std::array<T, N>> : IsTree<T> {};
template <typename T> struct IsTree<std::map<std::string, T>> : IsTree<T> {};
template <typename A, typename B>
struct IsTree<std::pair<A, B>> : std::bool_constant<IsTree<A>::value && IsTree<B>::value> {};
template <typename... Ts> struct IsTree<std::tuple<Ts...>> : std::bool_constant<(IsTree<Ts>::value && ...)> {};
template <typename T>
  requires requires(T &tree) { tree.tree_members(); }
struct IsTree<T> : std::true_type {};

template <typename T> struct IsMap : std::false_type {};
template <typename T> struct IsMap<std::map<std::string, T>> : std::true_type {};
template <typename T> struct IsTuple : std::false_type {};
template <typename... Ts> struct IsTuple<std::tuple<Ts...>> : std::true_type {};
template <typename A, typename B> struct IsTuple<std::pair<A, B>> : std::true_type {};

} // namespace detail

/// A type that consists of arrays.
template <typename T>
concept Tree = detail::IsTree<std::remove_cvref_t<T>>::value;

/// Calls `visit` with each array of the tree, in order: those of a map in the order of their keys. JAX's
/// `jax.tree.leaves` with a visitor, which may assign to the array.
template <Tree T, typename Visit> void tree_for_each(T &tree, const Visit &visit) {
  using Plain = std::remove_cvref_t<T>;
  if constexpr (std::is_same_v<Plain, Array>) {
    visit(tree);
  } else if constexpr (detail::IsTuple<Plain>::value) {
    std::apply([&](auto &...elements) { (tree_for_each(elements, visit), ...); }, tree);
  } else if constexpr (detail::IsMap<Plain>::value) {
    for (auto &[name, element] : tree)
      tree_for_each(element, visit);
  } else if constexpr (requires { tree.tree_members(); }) {
    auto members = tree.tree_members();
    tree_for_each(members, visit);
  } else {
    for (auto &element : tree)
      tree_for_each(element, visit);
  }
}

/// The arrays of a tree; JAX's `jax.tree.leaves`.
template <Tree T> std::vector<Array> tree_leaves(T tree) {
  std::vector<Array> leaves;
  tree_for_each(tree, [&](Array &leaf) { leaves.push_back(leaf); });
  return leaves;
}

/// Returns a tree of the same structure with other arrays, as many as it has; JAX's `jax.tree.unflatten`.
template <Tree T> T tree_unflatten(T tree, const std::vector<Array> &leaves) {
  size_t next = 0;
  tree_for_each(tree, [&](Array &leaf) { leaf = leaves.at(next++); });
  return tree;
}

/// Returns the tree with `map(leaf)` in place of each array; JAX's `jax.tree.map`. With further trees of the same
/// structure, `map` gets the arrays at the same place of each.
template <typename Map, Tree T, Tree... Rest> T tree_map(const Map &map, T tree, const Rest &...rest) {
  std::array<std::vector<Array>, sizeof...(Rest)> others = {tree_leaves(rest)...};
  size_t next = 0;
  tree_for_each(tree, [&](Array &leaf) {
    leaf = [&]<size_t... I>(std::index_sequence<I...>) {
      return map(leaf, others[I].at(next)...);
    }(std::make_index_sequence<sizeof...(Rest)>());
    ++next;
  });
  return tree;
}

/// Returns the structure of a tree as text: equal if containers have the same sizes and keys. JAX's
/// `jax.tree.structure`.
template <Tree T> std::string tree_structure(T &tree) {
  using Plain = std::remove_cvref_t<T>;
  std::string text;
  auto add = [&](auto &element) { text += (text.empty() ? "" : ", ") + tree_structure(element); };
  if constexpr (std::is_same_v<Plain, Array>) {
    return "*";
  } else if constexpr (detail::IsTuple<Plain>::value) {
    std::apply([&](auto &...elements) { (add(elements), ...); }, tree);
    return "(" + text + ")";
  } else if constexpr (detail::IsMap<Plain>::value) {
    for (auto &[name, element] : tree)
      text += (text.empty() ? "" : ", ") + std::to_string(name.size()) + ":" + name + ": " + tree_structure(element);
    return "{" + text + "}";
  } else if constexpr (requires { tree.tree_members(); }) {
    auto members = tree.tree_members();
    return tree_structure(members);
  } else {
    for (auto &element : tree)
      add(element);
    return "[" + text + "]";
  }
}

} // namespace spmd
