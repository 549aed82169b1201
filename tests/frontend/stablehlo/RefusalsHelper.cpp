//===- RefusalsHelper.cpp - messages about exported programs --------------===//

#include "tests/frontend/stablehlo/RefusalsHelper.h"

#include "gtest/gtest.h"

namespace spmdc {

/// Imports a text; the messages of one severity.
static std::string messagesOf(const std::string &text, const FrontendOptions &options,
                              mlir::DiagnosticSeverity severity) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  std::string errors, messages;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      errors += diagnostic.str() + "\n";
    if (diagnostic.getSeverity() == severity)
      messages += diagnostic.str() + "\n";
    return mlir::success();
  });
  Diagnostics diagnostics;
  auto module = importStablehlo(text, "f.mlir", options, context, diagnostics);
  errors += diagnostics.str();
  EXPECT_EQ(module.get() == nullptr, !errors.empty()) << errors;
  return severity == mlir::DiagnosticSeverity::Error ? errors : messages;
}

std::string importErrors(const std::string &text, const FrontendOptions &options) {
  return messagesOf(text, options, mlir::DiagnosticSeverity::Error);
}

std::string importWarnings(const std::string &text) { return messagesOf(text, {}, mlir::DiagnosticSeverity::Warning); }

std::string program(const std::string &lines, const std::string &before) {
  return before + "func.func @main(%x: tensor<8xf32>, %y: tensor<8x4xf32>, %n: tensor<i32>) -> tensor<8xf32> {\n" +
         lines + "\nreturn %x : tensor<8xf32>\n}\n";
}

} // namespace spmdc
