//===- ProgramIndex.h - values of a program's expressions -------*- C++ -*-===//
//
// The values of names and expressions by their ranges of the text, for editors. The Emitter fills it on request
// (FrontendOptions::index). Functions are inlined, so an expression may be evaluated several times with different
// values; each evaluation is an instance, identified by the calls around it.
//
// Passes decide the sharding of an array. Each array in the index therefore has a handle
// (ir/spmd/ValueNames.h), by which `addShardings` finds it in the propagated module.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/emit/Value.h"
#include "frontend/sema/SymbolTable.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>

namespace spmdc {

/// A leaf of a value: an array, or another part.
struct IndexedLeaf {
  std::string path; ///< `w`, `layers.0.w`; empty if the value is the array.
  std::string type; ///< `f32[8, 4]`; for a number known while compiling, the number.
  std::optional<unsigned> handle;
  bool isKey = false;
  // After propagation, if passes have kept the value:
  std::string sharding;  ///< `P(a, _)`.
  std::string localType; ///< `f32[2, 4]`, padded.
  bool isLocal = false;  ///< In a function that shard_map runs: `type` is that of one device's shard.
};

struct IndexedInstance {
  std::vector<uint32_t> calls; ///< The begins of the calls around it, innermost first.
  std::string description;     ///< `f32[8, 4]`, `(f32[], Layer)`, `3`.
  std::vector<IndexedLeaf> leaves;
};

struct IndexedPlace {
  std::vector<IndexedInstance> instances; ///< The first few.
  size_t instanceCount = 0;
};

class ProgramIndex {
public:
  static constexpr size_t maxInstances = 8, maxLeaves = 32;

  /// `calls`: as in IndexedInstance. Replaces an earlier value of the same range and calls (the body of a loop is
  /// evaluated until its types settle).
  void note(TextSpan place, std::vector<uint32_t> calls, const Value &value);
  /// The name of a field, and the range of its declaration.
  void noteField(TextSpan use, TextSpan declared) { fields[use] = declared; }

  /// Fills in the shardings, from the propagated module of the recorded program; none on one device.
  void addShardings(mlir::ModuleOp propagated);

  /// The expression or name with exactly this range; null if unknown.
  const IndexedPlace *find(TextSpan place) const;
  /// The smallest expression or name around the range.
  const IndexedPlace *findAround(TextSpan place, TextSpan *found = nullptr) const;
  const std::map<TextSpan, TextSpan> &getFields() const { return fields; }

private:
  std::map<TextSpan, IndexedPlace> places;
  std::map<TextSpan, TextSpan> fields;
  unsigned nextHandle = 0;
};

} // namespace spmdc
