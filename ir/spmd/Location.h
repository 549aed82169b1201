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

/// A name that `let` gave to a value: to result number `result` of the operation with this location, or to the argument
/// with this location.
struct ValueName {
  llvm::StringRef name;
  std::optional<mlir::Location> place = std::nullopt; ///< The location of the name, if known.
  unsigned result = 0;

  /// The number of a handle, a name such as `#17` (ValueNames.h, addValueHandle); nullopt for a name from `let`.
  std::optional<unsigned> getHandle() const;
};

/// `loc` with one more name; the expression is the first part of the result.
mlir::Location getNamedLoc(mlir::Location loc, const ValueName &name);

/// The same location, without names.
mlir::Location getUnnamedLoc(mlir::Location loc);

/// The names that `let` gave, in the order of the lets.
llvm::SmallVector<ValueName> getValueNames(mlir::Location loc);

/// The same, and the handles among them.
llvm::SmallVector<ValueName> getNamesAndHandles(mlir::Location loc);

/// `loc` for a value whose annotation (a type or a P(...)) is at `mark`. A location that already has such a range keeps
/// it.
mlir::Location getAnnotatedLoc(mlir::Location loc, mlir::Location mark);

/// The same location without the annotation's range, for another value of the same expression.
mlir::Location getUnannotatedLoc(mlir::Location loc);

/// The range of the value's annotation, if known.
std::optional<mlir::Location> getAnnotationRange(mlir::Location loc);

/// The begin of the (first) expression of a location, if known.
std::optional<SourcePosition> getSourcePosition(mlir::Location loc);

/// The first and the last character of the (first) expression of a location, if known.
std::optional<std::pair<SourcePosition, SourcePosition>> getSourceRange(mlir::Location loc);

/// The begin of each expression that was fused into one operation.
llvm::SmallVector<SourcePosition> getSourcePositions(mlir::Location loc);

/// For each of the same expressions: its position, then the positions of the calls around it, innermost first. An
/// expression in a function occurs once for each call.
llvm::SmallVector<llvm::SmallVector<SourcePosition>> getSourceCallStacks(mlir::Location loc);

/// The first name that `let` gave, if any.
std::optional<llvm::StringRef> getValueName(mlir::Location loc);

/// `loc` for an operation that computes a derivative by the expression. All other functions give the same for it.
mlir::Location getBackwardLoc(mlir::Location loc);

/// Whether the (first) expression of a location is one by which a derivative is computed.
bool isBackward(mlir::Location loc);

/// The fused location of an operation that replaces several.
mlir::Location fuseLocs(mlir::MLIRContext *context, llvm::ArrayRef<mlir::Location> locs);

} // namespace spmdc
