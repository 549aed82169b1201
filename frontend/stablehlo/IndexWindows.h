//===- IndexWindows.h - the windows of a gather or scatter ------*- C++ -*-===//
#pragma once

#include "frontend/stablehlo/Translation.h"

#include "ir/interfaces/Tensor.h"

namespace spmdc::stablehlo {

/// The attributes of a gather; a scatter has the same under other names.
struct Numbers {
  llvm::ArrayRef<int64_t> offsetDims, collapsedDims, batchingDims, indicesBatchingDims, startIndexMap;
  int64_t vectorDim;
};

/// The meaning of the dimensions of a gather or scatter. Its windows are the result of a gather, or the updates of a
/// scatter. Lists have an entry for each dimension of the operand.
struct Windows {
  llvm::SmallVector<int64_t> operand; ///< The operand's shape.
  llvm::SmallVector<int64_t> sizes;   ///< The shape of a window.
  llvm::SmallVector<int64_t> starts;  ///< The place of the window's start in an index vector; -1 if it starts at 0.
  llvm::SmallVector<int64_t>
      batches; ///< The batching dimension of the windows; -1 if the dimension is no batching one.
  llvm::SmallVector<int64_t>
      offsets;                      ///< The dimension of the windows that counts elements; -1 if there is one element.
  llvm::SmallVector<int64_t> shape; ///< Of all windows.
  llvm::SmallVector<int64_t> numbers; ///< The dimensions of the windows that number them, one for each of the indices.
  int64_t vectorDim;                  ///< The dimension of the indices that holds an index vector, or their rank.

  size_t rank() const { return operand.size(); }
  bool isBatching(size_t dim) const { return batches[dim] >= 0; }
  bool isIndexed(size_t dim) const { return !isBatching(dim) && starts[dim] >= 0; }
  llvm::SmallVector<int64_t> dimsWhere(llvm::function_ref<bool(size_t)> holds) const {
    return llvm::to_vector(llvm::make_filter_range(llvm::seq<int64_t>(0, rank()), holds));
  }
  bool hasBatching() const {
    return llvm::any_of(batches, [](int64_t dim) { return dim >= 0; });
  }
  llvm::SmallVector<int64_t> shapeOfDims(llvm::ArrayRef<int64_t> dims) const {
    return llvm::map_to_vector(dims, [&](int64_t dim) { return shape[dim]; });
  }
  bool isSingle() const { return elementCount(shapeOfDims(numbers)) == 1; }
  void erase(size_t dim) {
    for (llvm::SmallVector<int64_t> *list : {&operand, &sizes, &starts, &batches, &offsets})
      list->erase(list->begin() + dim);
  }
};

/// Nullopt if the attributes and the shapes do not fit. A gather has sizes of windows; those of a scatter are given by
/// its updates.
std::optional<Windows> windowsOf(const Numbers &of, llvm::ArrayRef<int64_t> operand, llvm::ArrayRef<int64_t> indices,
                                 llvm::ArrayRef<int64_t> shape, std::optional<llvm::ArrayRef<int64_t>> sizes);

/// The integers of indices, i32 or i64, as positions in an array of `count` elements.
mlir::FailureOr<mlir::Value> indicesOf(Translation &t, mlir::Operation *op, mlir::Value source, int64_t count);

/// One entry of each index vector: an array with a dimension for each of `windows.numbers`.
mlir::Value entryOf(Translation &t, const Windows &windows, mlir::Value indices, int64_t place);

/// The element of an array that is known while compiling, by its position in row-major order.
std::optional<int64_t> knownElement(mlir::Value array, int64_t position);

/// The scalar starts of a single window, in all dimensions of the operand.
llvm::SmallVector<mlir::Value> startsOf(Translation &t, const Windows &windows, mlir::Value indices);

} // namespace spmdc::stablehlo
