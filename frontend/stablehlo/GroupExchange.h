//===- GroupExchange.h - what the devices of a group send ------*- C++ -*-===//
#pragma once

#include "frontend/stablehlo/DeviceGroups.h"
#include "frontend/stablehlo/Translation.h"

namespace spmdc::stablehlo {

/// The groups of devices of one collective of a manual region, and what each device gets from the others of its group.
///
/// Groups over axes of the mesh, or parts of axes, use the collectives over these axes. Any other groups, of equal or
/// different sizes, take turns: in turn k each device sends to the device k positions behind it, around its group. So a
/// device sends as much as in a ring, at its position in a table of constants.
///
///   groups [0, 3], [1, 2]: the turn is a permutation 0 -> 3, 3 -> 0, 1 -> 2, 2 -> 1.
class GroupExchange {
public:
  /// The groups of `op`; -1 fills up the shorter ones. Fails with a message if they are none, or those of other devices
  /// than those of the region. `isOrdered` is false if the order of devices in a group does not matter.
  static mlir::FailureOr<GroupExchange> get(Translation &t, mlir::Operation *op, mlir::DenseIntElementsAttr groups,
                                            bool isOrdered);

  /// The axes over which the groups extend; nullopt if they are no axes. Empty for groups of one device.
  const std::optional<AxesAttr> &getAxes() const { return axes; }
  /// The number of devices of the largest group.
  int64_t getSize() const { return size; }
  bool areOfOneSize() const { return isEven; }
  /// Whether each device is in a group.
  bool coverAll() const { return isComplete; }

  /// This device's position in its group, i32; 0 for a device without a group.
  mlir::Value getPosition() const;
  /// The number of devices of this device's group, i32; 0 for a device without a group.
  mlir::Value getOwnSize() const;

  /// The arrays of the group, [size, ...]: index i has that of the i-th device. Entries behind a
  /// shorter group are any arrays.
  mlir::Value gather(mlir::Value array) const;
  /// Index i of `blocks`, [size, ...], goes to the i-th device, which has it at the sender's index.
  mlir::Value exchange(mlir::Value blocks) const;

private:
  GroupExchange(Translation &t, mlir::Operation *op) : t(&t), op(op) {}

  /// The row of a constant table, [devices, columns], of this device.
  mlir::Value rowOf(llvm::ArrayRef<int32_t> table, int64_t columns) const;
  /// A row's entry for each position of the table axes, in terms of the position and size of the group.
  mlir::Value rowOf(int64_t columns, llvm::function_ref<int64_t(int64_t position, int64_t size, int64_t column)>) const;
  /// Arrays that came in turns, by the positions of the devices that sent them.
  mlir::Value inOrder(llvm::ArrayRef<mlir::Value> turns) const;
  mlir::Value turn(mlir::Value array, int64_t by) const;

  Translation *t;
  mlir::Operation *op;
  std::optional<AxesAttr> axes;
  AxisGroups table; ///< Of groups that are no axes.
  int64_t size = 1;
  bool isEven = true, isComplete = true;
};

/// The reason that reports give for a collective: JAX's name of the operation, the last part of its location's name.
mlir::StringAttr reasonOf(mlir::Operation *op);

} // namespace spmdc::stablehlo
