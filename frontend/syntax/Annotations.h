//===- Annotations.h - where shardings are written --------------*- C++ -*-===//
//
// The places of a program where a sharding stands or could stand: the dimensions of array types, and the entries of
// `shard(x, P(...))`. Those of a shard_map are none: they say what the program computes, not where.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/syntax/Ast.h"

#include <string>
#include <vector>

namespace spmdc {

struct AnnotatedDim {
  Range whole;  ///< `2048@b`; in a P(...) the entry.
  Range suffix; ///< From behind the size: `@b`, empty where nothing is written; in a P(...) the entry.
  std::vector<std::string> axes;
  bool isOpen = true;
  int64_t priority = -1;
};

struct Annotation {
  Range range; ///< The type or the P(...).
  bool isPartition = false;
  bool isSignature = false; ///< Part of a parameter or a result of the entry.
  bool isParameter = false; ///< Part of a parameter of the entry.
  std::vector<AnnotatedDim> dims;
};

/// In the order of the text.
std::vector<Annotation> listAnnotations(const Ast &ast, std::string_view entry);

/// One dimension's sharding as it is written behind the size of a type (`@(a, b)`, empty where it says nothing) or as
/// an entry of P(...).
std::string writeDim(const std::vector<std::string> &axes, bool isOpen, int64_t priority, bool isPartition);

} // namespace spmdc
