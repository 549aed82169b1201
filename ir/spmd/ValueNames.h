//===- ValueNames.h - names of values from let ------------------*- C++ -*-===//
//
// Names are stored in locations (Location.h). A value may have several: `let b = a;`, or two lets of one computation. A
// value that replaces another one takes over its names, so that the user finds each name as long as the value exists.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/spmd/Location.h"

#include "mlir/IR/PatternMatch.h"

namespace spmdc {

/// The names of this value; its operation may have others for other results.
llvm::SmallVector<ValueName> getValueNames(mlir::Value value);

/// The first name of the value.
std::optional<llvm::StringRef> getValueName(mlir::Value value);

/// Adds a name to the value, unless it has the same name from the same location. Ignores `name.result`.
void addValueName(mlir::Value value, ValueName name);

/// Attaches a number to the value, which moves with its names, for code that has to find the value again after passes
/// (frontend/editor/ProgramIndex.h). Messages and reports ignore it.
void addValueHandle(mlir::Value value, unsigned handle);
llvm::SmallVector<unsigned> getValueHandles(mlir::Value value);

/// Moves the names of a value to its replacement. A constant takes none, since the value was folded away.
void moveValueNames(mlir::Value from, mlir::Value to);

/// Moves names when patterns replace operations. An operation that a pattern creates has only the names of the
/// operations that it replaces, not those of the location that it was built with.
class NameKeeper : public mlir::RewriterBase::Listener {
public:
  void notifyOperationInserted(mlir::Operation *op, mlir::OpBuilder::InsertPoint previous) override;
  using Listener::notifyOperationReplaced;
  void notifyOperationReplaced(mlir::Operation *op, mlir::ValueRange values) override;
};

} // namespace spmdc
