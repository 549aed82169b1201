//===- PropagationState.h - all arrays of a function in flux ----*- C++ -*-===//
//
// The graph that propagation works on: a slot per array (values of one sharding group share one, and so do the
// arguments and the result of a loop's carry), an entry per operation that has a sharding rule and per edge of control
// flow, and what people wrote about shardings, which becomes visible user priority by user priority.
//
// What counts as written: any sharding on the type of an argument or of an operation's result, constraints above all.
// What a constraint says also holds for its operand where that is the result of an operation about which nothing is
// written and no other constraint says otherwise: `let h: f32[8@a] = x @ y` computes the product right there.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/spmd/SpmdOps.h"
#include "passes/propagate/OpKind.h"
#include "passes/sharding/TensorSharding.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace spmdc {

class PropagationState {
public:
  /// An operation with a rule, or an edge of control flow: a carry of a loop follows what it starts from and what the
  /// body yields, a result of a branch what its arms yield, as the result of an operation that changes nothing would;
  /// so do the pieces that a manual region is given, and what it yields, along the axes that are not manual.
  struct OpEntry {
    mlir::Operation *op;
    ShardingRule rule;
    OpKind kind;
    OpSurroundings surroundings;
    bool isEdge;
    llvm::SmallVector<mlir::Value, 4> values; ///< Operands, then results.
    llvm::SmallVector<unsigned, 4> slots;     ///< Of the values.

    /// For messages.
    llvm::StringRef getName() const;
  };

  /// Reads a function. Fails, with a diagnostic at its place, on an axis that the mesh does not have and on a sharding
  /// group whose members cannot be sharded alike.
  static mlir::FailureOr<PropagationState> create(mlir::func::FuncOp func, const MeshAxes &mesh);

  const MeshAxes &getMesh() const { return mesh; }
  /// In program order.
  llvm::ArrayRef<OpEntry> getOps() const { return ops; }
  TensorSharding &getSharding(unsigned slot) { return slots[slot].current; }
  const TensorSharding &getSharding(unsigned slot) const { return slots[slot].current; }
  /// What is written about the arrays of the slot, null where nothing is, and where it stands.
  ShardingAttr getAnnotation(unsigned slot) const { return slots[slot].annotation; }
  mlir::Location getAnnotationLoc(unsigned slot) const { return slots[slot].annotationLoc; }
  unsigned getNumSlots() const { return slots.size(); }
  /// The operations that use or define an array of the slot, by number.
  llvm::ArrayRef<unsigned> getOpsAround(unsigned slot) const { return slots[slot].opsAround; }

  /// The user priorities of all annotations, ascending; 0 is always among them.
  llvm::SmallVector<int64_t, 2> getPriorities() const;
  /// Makes the annotations of one more priority visible. Starts with 0.
  void activate(int64_t priority);

  /// The value's sharding as it stands, closed; none for a scalar.
  ShardingAttr getFinalSharding(mlir::Value value) const;

private:
  struct Slot {
    ShardingAttr annotation; ///< Null: nothing is written.
    mlir::Location annotationLoc;
    bool isGrouped = false;
    AxisList excluded; ///< Manual axes of a region around which the array stands.
    TensorSharding current;
    llvm::SmallVector<unsigned, 4> opsAround;
  };

  explicit PropagationState(const MeshAxes &mesh) : mesh(mesh) {}
  mlir::LogicalResult addValue(mlir::Value value);
  mlir::LogicalResult addCarries(mlir::Operation *loop);
  mlir::LogicalResult addGroups(mlir::func::FuncOp func);
  mlir::LogicalResult excludeManualAxes(mlir::func::FuncOp func);
  void applyConstraintsToOperands(mlir::func::FuncOp func);
  void addOps(mlir::func::FuncOp func);
  void addOp(mlir::Operation *op, ShardingRule rule, bool isEdge, llvm::ArrayRef<mlir::Value> values);
  void addEdges(mlir::Operation *op);
  void addManualEdges(ManualOp manual);

  MeshAxes mesh;
  std::vector<Slot> slots;
  std::vector<OpEntry> ops;
  llvm::DenseMap<mlir::Value, unsigned> slotOf;
};

} // namespace spmdc
