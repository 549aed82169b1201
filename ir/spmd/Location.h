//===- Location.h - source ranges and names on locations --------*- C++ -*-===//
//
// Every operation carries the range of the expression it came from, and no pass drops it: a pass that makes one
// operation from several fuses their locations. MLIR 19 has no range location, so a range is a fused location with
// the metadata string "range" and the positions of its first and last character.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Location.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <string>

namespace spmdc {

struct SourcePosition {
  std::string file;
  unsigned line = 0, column = 0;
  bool operator==(const SourcePosition &) const = default;
  /// `mlp.spmd:5:7`
  std::string str() const;
};

/// The location of an expression from (line, column) to (endLine, endColumn), 1-based, both inclusive.
mlir::Location getRangeLoc(mlir::MLIRContext *context, llvm::StringRef file, unsigned line, unsigned column,
                           unsigned endLine, unsigned endColumn);

/// `loc`, with the name that `let` gave to the value.
mlir::Location getNamedLoc(mlir::Location loc, llvm::StringRef name);

/// The same, and where the name stands: the expression comes first, as everywhere.
mlir::Location getNamedLoc(mlir::Location loc, llvm::StringRef name, mlir::Location nameLoc);

/// `loc`, of a value whose sharding is written at `mark` (the range of a type or of a P(...)). A location that has a
/// mark keeps it.
mlir::Location getMarkedLoc(mlir::Location loc, mlir::Location mark);

/// The same location, without that: of another value that the expression at `loc` needs.
mlir::Location getUnmarkedLoc(mlir::Location loc);

/// Where the value's sharding is written, if that is known.
std::optional<mlir::Location> getMark(mlir::Location loc);

/// Where the (first) expression of a location begins, if it knows.
std::optional<SourcePosition> getSourcePosition(mlir::Location loc);

/// Where each of the expressions begins whose work was fused into one operation.
llvm::SmallVector<SourcePosition> getSourcePositions(mlir::Location loc);

/// For each of the same expressions the place and behind it the calls that led there, innermost first: what is written
/// once in a function is there as often as that is called.
llvm::SmallVector<llvm::SmallVector<SourcePosition>> getSourceWays(mlir::Location loc);

/// The name that `let` gave to the value, if any.
std::optional<llvm::StringRef> getValueName(mlir::Location loc);

/// Where that name stands; where the expression begins if nothing else is known.
std::optional<SourcePosition> getNamePosition(mlir::Location loc);

/// The fused location of an operation that does the work of several.
mlir::Location fuseLocs(mlir::MLIRContext *context, llvm::ArrayRef<mlir::Location> locs);

} // namespace spmdc
