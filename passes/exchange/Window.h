//===- Window.h - what each device looks at of an array ---------*- C++ -*-===//
//
// Windows come to devices by one exchange: each element goes straight from where it lies to every device that looks at
// it and does not have it, and only once. A device's window has its own elements at their place between the others'.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/exchange/WindowDims.h"

namespace spmdc {

class Window {
public:
  /// Of devices that make pieces of a result of this sharding.
  Window(mlir::Value source, ShardingAttr pieces, std::vector<WindowDim> dims);

  mlir::Value getSource() const { return source; }
  const WindowDim &getDim(int64_t dim) const { return dims[dim]; }

  /// Whether these are windows of the same array for pieces that follow one another in the same way.
  bool canTake(const Window &other) const;
  /// Lets devices look at these, too.
  void add(const Window &other);

  /// All windows, one behind the other, as an array of which each device has its own.
  ArrayType getType() const;
  std::vector<spmd::DimMove> getMoves() const;
  /// Sent by all devices together.
  double getBytes(const spmd::MeshShape &mesh) const;

  /// The local window from the local piece of the array, for the first operation that looks at it.
  mlir::Value build(mlir::OpBuilder &builder, ShardingRuleOpInterface op, mlir::Value array, MeshAttr mesh) const;

private:
  mlir::Value source;
  ShardingAttr pieces;
  std::vector<WindowDim> dims;
};

} // namespace spmdc
