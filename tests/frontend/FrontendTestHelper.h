//===- FrontendTestHelper.h - compiles and inspects a text ------*- C++ -*-===//
#pragma once

#include "frontend/Frontend.h"
#include "ir/interfaces/Tensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"

#include <string>
#include <vector>

namespace spmdc::testing {

struct Compiled {
  mlir::MLIRContext context;
  Diagnostics diagnostics;
  mlir::OwningOpRef<mlir::ModuleOp> module;

  explicit Compiled(const std::string &text, const FrontendOptions &options = {});

  bool isGood() const { return module.get() != nullptr; }
  mlir::func::FuncOp function();
  /// The module as text, without locations; with them on request.
  std::string print(bool withLocations = false);
  /// `line:column: message` of each error; notes follow as `  line:column: message`.
  std::vector<std::string> errors() const;
  /// The types of the results: `f32[8@a, 4]`.
  std::vector<std::string> resultTypes();
  /// The results of the function without parameters, evaluated.
  std::vector<Tensor> run();
};

/// The errors of a `main` of one expression over x: f32[4, 8], y: f32[8], i: i32[3], b: bool[4] on a mesh (a=4, b=2).
std::vector<std::string> errorsOf(const std::string &expression);
/// The type of the expression's value, or the first error.
std::string typeOf(const std::string &expression);

} // namespace spmdc::testing
