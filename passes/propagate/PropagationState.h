//===- PropagationState.h - the graph that propagation works on -*- C++ -*-===//
//
// The state of one function's propagation: a slot for each array, with its current sharding; an entry for each
// operation with a sharding rule and for each edge of control flow; and the user's annotations, which become visible in
// the order of user priorities. The values of one sharding group share a slot, and so do the arguments and the result
// of a loop's carry.
//
// Annotations are the shardings on types of arguments and of operations' results, mostly of constraints. The annotation
// of a constraint also applies to its operand, if that is the result of an operation without annotation and has no
// constraint with another sharding: for `let h: f32[8@a] = x @ y`, the product itself is computed in this sharding.
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
  /// An operation with a rule, or an edge (`isEdge`), which acts as an operation that copies its operands to its
  /// result: from the initial value and the value that the body yields to a loop's carry, from the values that the
  /// branches yield to the result of a conditional, and across the border of a manual region, over its automatic axes.
  struct OpEntry {
    mlir::Operation *op;
    ShardingRule rule;
    OpKind kind;
    OpSurroundings surroundings;
    bool isEdge;
    llvm::SmallVector<mlir::Value, 4> values; ///< Operands, then results.
    llvm::SmallVector<unsigned, 4> slots;     ///< The slots of `values`.

    /// The operation's name for messages.
    llvm::StringRef getName() const;
  };

  /// Reads a function. Emits an error and fails on an axis that the mesh does not have, and on a sharding group whose
  /// members have different shapes or contradicting annotations.
  static mlir::FailureOr<PropagationState> create(mlir::func::FuncOp func, const MeshAxes &mesh);

  const MeshAxes &getMesh() const { return mesh; }
  /// In program order.
  llvm::ArrayRef<OpEntry> getOps() const { return ops; }
  TensorSharding &getSharding(unsigned slot) { return slots[slot].current; }
  const TensorSharding &getSharding(unsigned slot) const { return slots[slot].current; }
  /// The annotation of the slot, null if there is none, and its location.
  ShardingAttr getAnnotation(unsigned slot) const { return slots[slot].annotation; }
  mlir::Location getAnnotationLoc(unsigned slot) const { return slots[slot].annotationLoc; }
  unsigned getNumSlots() const { return slots.size(); }
  /// The operations that use or define an array of the slot, by number.
  llvm::ArrayRef<unsigned> getOpsAround(unsigned slot) const { return slots[slot].opsAround; }

  /// The user priorities of all annotations, ascending; 0 is always among them.
  llvm::SmallVector<int64_t, 2> getPriorities() const;
  /// Makes the annotations of one more priority visible. Must be called in ascending order, starting with 0.
  void activate(int64_t priority);

  /// The current sharding of the value, closed; null for a scalar.
  ShardingAttr getFinalSharding(mlir::Value value) const;

private:
  struct Slot {
    ShardingAttr annotation; ///< Null without annotation.
    mlir::Location annotationLoc;
    bool isGrouped = false;
    /// The manual axes of a region that contains, takes or yields the array, and those that its constraint excludes.
    AxisList excluded;
    TensorSharding current;
    llvm::SmallVector<unsigned, 4> opsAround;
  };

  explicit PropagationState(const MeshAxes &mesh) : mesh(mesh) {}
  mlir::LogicalResult addValue(mlir::Value value);
  mlir::LogicalResult addCarries(mlir::Operation *loop);
  mlir::LogicalResult addGroups(mlir::func::FuncOp func);
  mlir::LogicalResult excludeManualAxes(mlir::func::FuncOp func);
  mlir::LogicalResult excludeReplicatedAxes(mlir::func::FuncOp func);
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
