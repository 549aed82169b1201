//===- IrTest.h - common code of IR tests -----------------------*- C++ -*-===//
#pragma once

#include "ir/interfaces/Tensor.h"
#include "ir/spmd/SpmdTypes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "gtest/gtest.h"

#include <string>
#include <vector>

namespace spmdc {

/// A context with the dialects, that keeps diagnostics instead of printing them.
class IrTest : public ::testing::Test {
protected:
  IrTest();

  /// The module of this text; null if it does not parse or verify, with the reason in `diagnostics`.
  mlir::OwningOpRef<mlir::ModuleOp> parse(llvm::StringRef text);
  /// The same, with a failed expectation if it is null.
  mlir::OwningOpRef<mlir::ModuleOp> parseValid(llvm::StringRef text);
  /// The only function of a module.
  static mlir::func::FuncOp functionOf(mlir::ModuleOp module);
  /// Prints the operation without locations.
  static std::string print(mlir::Operation *op);

  Tensor f32(std::vector<int64_t> shape, const std::vector<double> &values);
  Tensor i32(std::vector<int64_t> shape, const std::vector<int64_t> &values);
  /// 0, 1, 2, ... in row-major order.
  Tensor iotaF32(std::vector<int64_t> shape);

  mlir::MLIRContext context;
  /// Severity and text, notes too, in order: "error: ...".
  std::vector<std::string> diagnostics;
  /// The diagnostics as one text.
  std::string diagnosticText() const;

private:
  mlir::ScopedDiagnosticHandler handler;
};

/// The elements of a float array, of an integer or bool array.
std::vector<double> floatsOf(const Tensor &tensor);
std::vector<int64_t> intsOf(const Tensor &tensor);

} // namespace spmdc
