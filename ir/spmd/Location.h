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
#include <utility>

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

/// A name that `let` gave to a result of the operation (to the value, if it is an argument) at a location.
struct ValueName {
  llvm::StringRef name;
  std::optional<mlir::Location> place = std::nullopt; ///< Where the name stands, if that is known.
  unsigned result = 0;

  /// The number that a name such as `#17` is, which no `let` gave (ValueNames.h, addValueHandle).
  std::optional<unsigned> getHandle() const;
};

/// `loc`, with one name more: the expression comes first, as everywhere.
mlir::Location getNamedLoc(mlir::Location loc, const ValueName &name);

/// The same location, without names.
mlir::Location getUnnamedLoc(mlir::Location loc);

/// The names that `let` gave, in the order in which it did.
llvm::SmallVector<ValueName> getValueNames(mlir::Location loc);

/// The same, and the handles among them.
llvm::SmallVector<ValueName> getNamesAndHandles(mlir::Location loc);

/// `loc`, of a value whose sharding is written at `mark` (the range of a type or of a P(...)). A location that has a
/// mark keeps it.
mlir::Location getMarkedLoc(mlir::Location loc, mlir::Location mark);

/// The same location, without that: of another value that the expression at `loc` needs.
mlir::Location getUnmarkedLoc(mlir::Location loc);

/// Where the value's sharding is written, if that is known.
std::optional<mlir::Location> getMark(mlir::Location loc);

/// Where the (first) expression of a location begins, if it knows.
std::optional<SourcePosition> getSourcePosition(mlir::Location loc);

/// The first and the last character of the (first) expression of a location, if it knows.
std::optional<std::pair<SourcePosition, SourcePosition>> getSourceRange(mlir::Location loc);

/// Where each of the expressions begins whose work was fused into one operation.
llvm::SmallVector<SourcePosition> getSourcePositions(mlir::Location loc);

/// For each of the same expressions the place and behind it the calls that led there, innermost first: what is written
/// once in a function is there as often as that is called.
llvm::SmallVector<llvm::SmallVector<SourcePosition>> getSourceWays(mlir::Location loc);

/// The first name that `let` gave, if any.
std::optional<llvm::StringRef> getValueName(mlir::Location loc);

/// The fused location of an operation that does the work of several.
mlir::Location fuseLocs(mlir::MLIRContext *context, llvm::ArrayRef<mlir::Location> locs);

} // namespace spmdc
