//===- ValueNames.h - the names that let gave to values ---------*- C++ -*-===//
//
// Names stand on locations (Location.h). A value may have several: `let b = a;`, or two lets of one computation. What
// takes the place of a value takes its names too, so that a person finds each of them again as long as there is the
// value.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/spmd/Location.h"

#include "mlir/IR/PatternMatch.h"

namespace spmdc {

/// The names of this value, of the results of its operation.
llvm::SmallVector<ValueName> getValueNames(mlir::Value value);

/// The first of them.
std::optional<llvm::StringRef> getValueName(mlir::Value value);

/// Gives the value one name more, unless it has that one, of that place. `name.result` is of no matter.
void addValueName(mlir::Value value, ValueName name);

/// A number that stays with the value as its names do, for whoever has to find what has become of it behind passes
/// (frontend/ProgramIndex.h). Messages and reports know nothing of it.
void addValueHandle(mlir::Value value, unsigned handle);
llvm::SmallVector<unsigned> getValueHandles(mlir::Value value);

/// Gives the names of a value to what takes its place. A constant takes none: what was folded away is no value.
void moveValueNames(mlir::Value from, mlir::Value to);

/// Takes the names along when patterns replace operations. An operation that a pattern makes has no other names than
/// those of what it replaces, whatever location it was made with.
class NameKeeper : public mlir::RewriterBase::Listener {
public:
  void notifyOperationInserted(mlir::Operation *op, mlir::OpBuilder::InsertPoint previous) override;
  using Listener::notifyOperationReplaced;
  void notifyOperationReplaced(mlir::Operation *op, mlir::ValueRange values) override;
};

} // namespace spmdc
