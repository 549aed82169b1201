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
  /// A product of 64 rows, 16 contracted elements at a time.
  struct Product {
    mlir::Type elementType;
    /// The left factor in shared memory: its descriptor, and the bytes behind it at which each step begins; or, if the
    /// descriptor is null, in registers.
    mlir::Value left;
    llvm::SmallVector<int64_t> leftSteps;
    llvm::SmallVector<TensorCores::Left> leftRows;
    /// The right factor's descriptor and steps. Transposed: a row of it is a row of the factor, else a column.
    mlir::Value right;
    llvm::SmallVector<int64_t> rightSteps;
    bool isRightTransposed = false;
  };

  Warpgroups(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}

  /// The descriptor (i64) of a factor from this address on. Groups of 8 rows are adjacent; `panelBytes` is the distance
  /// of panels, if a product reads several at once.
  mlir::Value describe(mlir::Value pointer, int64_t panelBytes);
  /// left * right, four results for each 8 of `columns`.
  llvm::SmallVector<mlir::Value> multiply(const Product &product, int64_t columns) {
    return finish(start(product, {}, columns), 0);
  }
  /// sums + left * right.
  llvm::SmallVector<mlir::Value> multiplyAdd(const Product &product, llvm::ArrayRef<mlir::Value> sums) {
    return finish(start(product, sums, static_cast<int64_t>(sums.size()) * 2), 0);
  }

  /// Starts sums + left * right, or left * right without sums. Nothing may read the results, or change the registers
  /// and the shared memory of the factors, before `finish`.
  llvm::SmallVector<mlir::Value> start(const Product &product, llvm::ArrayRef<mlir::Value> sums, int64_t columns);
  /// Waits until at most `running` of the products that were started last are running; returns the results, which
  /// `start` returned, of the product that was started before these.
  llvm::SmallVector<mlir::Value> finish(llvm::ArrayRef<mlir::Value> started, int64_t running);
  /// Lets this thread's products read copies for which it has waited.
  void publishCopies();

private:
  /// An instruction block with f32 results of which the first values are `sums`.
  llvm::SmallVector<mlir::Value> emit(const std::string &text, llvm::ArrayRef<mlir::Value> sums, size_t results,
                                      llvm::ArrayRef<mlir::Value> operands, const std::string &constraints);

  mlir::OpBuilder &b;
  mlir::Location loc;
};

} // namespace spmdc
