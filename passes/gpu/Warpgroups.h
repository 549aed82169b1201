//===- Warpgroups.h - products of tiles by warpgroups -----------*- C++ -*-===//
//
// wgmma of sm_90a (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions"): four warps multiply 64 rows, of which
// each has 16, by up to 256 columns. Right factors, and left ones that are not in registers, are read from shared
// memory, through descriptors: panels of rows of 128 bytes, swizzled (StreamTiles.h). Results and left factors are in
// the registers in which TensorCores.h has them. All four warps must execute each product.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/gpu/TensorCores.h"

namespace spmdc {

class Warpgroups {
public:
  Warpgroups(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}

  /// The descriptor (i64) of a factor from this address on. Groups of 8 rows are adjacent; `panelBytes` is the distance
  /// of panels, if a product reads several at once.
  mlir::Value describe(mlir::Value pointer, int64_t panelBytes);
  /// left * right: 64 rows of features by `columns` rows of features, 16 features at a time; step s begins
  /// `leftSteps[s]` and `rightSteps[s]` bytes behind the descriptors. Returns four results for each 8 columns.
  llvm::SmallVector<mlir::Value> multiply(mlir::Type elementType, mlir::Value left, llvm::ArrayRef<int64_t> leftSteps,
                                          mlir::Value right, llvm::ArrayRef<int64_t> rightSteps, int64_t columns);
  /// sums + left * right: right has 16 rows for each of `left`, `rightSteps[s]` bytes behind its descriptor, and a
  /// column for each feature.
  llvm::SmallVector<mlir::Value> multiplyAdd(mlir::Type elementType, llvm::ArrayRef<TensorCores::Left> left,
                                             mlir::Value right, llvm::ArrayRef<int64_t> rightSteps,
                                             llvm::ArrayRef<mlir::Value> sums);
  /// Lets products read what this thread has copied, after a barrier.
  void publishCopies();

private:
  /// One instruction's text.
  std::string getProduct(mlir::Type elementType, size_t results, const std::string &left,
                         const std::string &accumulates, bool isRightTransposed);
  llvm::SmallVector<mlir::Value> emit(const std::string &text, llvm::ArrayRef<mlir::Value> sums, size_t results,
                                      llvm::ArrayRef<mlir::Value> operands, const std::string &constraints);

  mlir::OpBuilder &b;
  mlir::Location loc;
};

} // namespace spmdc
