//===- ProgramIndex.h - what is known of each place in a program -*- C++ -*-===//
//
// What names and expressions turned out to be, by their places in the text, for whoever asks about a place: an editor.
// The Emitter fills it where it is asked to (FrontendOptions::index). Functions are inlined, so an expression may be
// evaluated several times, each time as something else; each is an instance, told apart by the calls that led to it.
//
// How an array lies on the mesh is decided by passes. Each array in the index therefore has a handle
// (ir/spmd/ValueNames.h), by which `addShardings` finds it in the propagated module.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/SymbolTable.h"
#include "frontend/Value.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>

namespace spmdc {

/// An array that a value is made of, or some other part of it.
struct IndexedLeaf {
  std::string path; ///< `w`, `layers.0.w`; empty where the value is the array.
  std::string type; ///< `f32[8, 4]`; of a number known while compiling the number.
  std::optional<unsigned> handle;
  bool isKey = false;
  // Behind propagation, where passes have left such a value:
  std::string sharding;  ///< `P(a, _)`.
  std::string localType; ///< `f32[2, 4]`, padded.
  bool isPiece = false;  ///< In a function that shard_map runs: `type` is that of one device's piece.
};

struct IndexedInstance {
  std::vector<uint32_t> calls; ///< Where the calls begin that led here, innermost first.
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

  /// `calls`: as IndexedInstance has them. The value of the same place and calls that was noted before is forgotten
  /// (the body of a loop is evaluated until its types settle).
  void note(TextSpan place, std::vector<uint32_t> calls, const Value &value);
  /// The name of a field, and where that is declared.
  void noteField(TextSpan use, TextSpan declared) { fields[use] = declared; }

  /// Fills in the shardings, from the module behind propagation that the noted program has become; none on one device.
  void addShardings(mlir::ModuleOp propagated);

  /// The expression or name that is exactly there; null where none is known.
  const IndexedPlace *find(TextSpan place) const;
  /// The smallest one around the place.
  const IndexedPlace *findAround(TextSpan place, TextSpan *found = nullptr) const;
  const std::map<TextSpan, TextSpan> &getFields() const { return fields; }

private:
  std::map<TextSpan, IndexedPlace> places;
  std::map<TextSpan, TextSpan> fields;
  unsigned nextHandle = 0;
};

} // namespace spmdc
