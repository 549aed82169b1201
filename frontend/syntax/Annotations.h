//===- Annotations.h - annotations in a program's text ----------*- C++ -*-===//
//
// The ranges of a program's text that have a sharding, or may get one: the dimensions of array types, and the entries
// of `shard(x, P(...))`. Those of a shard_map are not listed: they determine what the program computes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/syntax/Ast.h"

#include <string>
#include <vector>

namespace spmdc {

struct AnnotatedDim {
  Range whole;  ///< `2048@b`; in a P(...) the entry.
  Range suffix; ///< After the size: `@b`, empty if nothing is written; in a P(...) the entry.
  std::vector<std::string> axes;
  bool isOpen = true;
  int64_t priority = -1;
  std::string place = {}; ///< `mlp.spmd:3:12`, where `whole` begins; set by AnnotatedProgram (compiler/explain).
};

struct Annotation {
  Range range; ///< The type or the P(...).
  bool isPartition = false;
  bool isSignature = false; ///< Part of a parameter or a result of the entry.
  bool isParameter = false; ///< Part of a parameter of the entry.
  std::vector<AnnotatedDim> dims;
  /// In an exported program, the parameter of jax.jit that says it, `in_shardings of x`, or the operation:
  /// `with_sharding_constraint at model.py:12:5`, `the sharding of tanh at model.py:12:9`.
  std::string label = {};
  std::string type = {};  ///< In an exported program, the type of an argument or result: `tensor<8x16xf32>`.
  std::string place = {}; ///< Where `range` begins, as in AnnotatedDim.
};

/// Lists the annotations in text order.
std::vector<Annotation> listAnnotations(const Ast &ast, std::string_view entry);

/// The text of one dimension's sharding: after the size in a type (`@(a, b)`, empty if there is none), or as an entry
/// of P(...).
std::string writeDim(const std::vector<std::string> &axes, bool isOpen, int64_t priority, bool isPartition);

} // namespace spmdc
