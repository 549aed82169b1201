//===- RefusalsHelper.cpp - messages about exported programs --------------===//

#include "tests/frontend/stablehlo/RefusalsHelper.h"

#include "gtest/gtest.h"

namespace spmdc {

std::string importErrors(const std::string &text, const FrontendOptions &options) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  std::string errors;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    errors += diagnostic.str() + "\n";
    return mlir::success();
  });
  Diagnostics diagnostics;
  auto module = importStablehlo(text, "f.mlir", options, context, diagnostics);
  errors += diagnostics.str();
  EXPECT_EQ(module.get() == nullptr, !errors.empty()) << errors;
  return errors;
}

std::string program(const std::string &lines, const std::string &before) {
  return before + "func.func @main(%x: tensor<8xf32>, %y: tensor<8x4xf32>, %n: tensor<i32>) -> tensor<8xf32> {\n" +
         lines + "\nreturn %x : tensor<8xf32>\n}\n";
}

} // namespace spmdc
