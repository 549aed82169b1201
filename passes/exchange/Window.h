//===- Window.h - the elements of an array that a device reads --*- C++ -*-===//
//
// Windows come to devices by one exchange: a device receives each element of its window that it does not hold, once,
// from the element's owner. In the window, received elements and own elements are in the order of the array.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/exchange/WindowDims.h"

namespace spmdc {

/// The window of one array that each device reads to compute its shards of one or several results.
class Window {
public:
  /// `resultSharding` is the sharding of the results that are computed from the windows.
  Window(mlir::Value source, ShardingAttr resultSharding, std::vector<WindowDim> dims);

  mlir::Value getSource() const { return source; }
  const WindowDim &getDim(int64_t dim) const { return dims[dim]; }

  /// Whether both can become one window: they are of the same array, and their shards start at the same distances.
  bool canMerge(const Window &other) const;
  /// Extends the windows so that they contain those of `other`.
  void add(const Window &other);

  /// The type of all windows concatenated, an array of which each device's shard is its window.
  ArrayType getType() const;
  std::vector<spmd::DimMove> getMoves() const;
  /// Bytes that all devices together send.
  double getBytes(const spmd::MeshShape &mesh) const;

  /// The local window from the local shard `array`, for `op`, the first operation that reads it.
  mlir::Value build(mlir::OpBuilder &builder, ShardingRuleOpInterface op, mlir::Value array, MeshAttr mesh) const;

private:
  mlir::Value source;
  ShardingAttr resultSharding;
  std::vector<WindowDim> dims;
};

} // namespace spmdc
