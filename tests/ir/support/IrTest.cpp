//===- IrTest.cpp - common code of IR tests -------------------------------===//

#include "tests/ir/support/IrTest.h"

#include "ir/plan/PlanOps.h"

#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace spmdc {

static const char *severityName(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Note:
    return "note: ";
  case DiagnosticSeverity::Warning:
    return "warning: ";
  case DiagnosticSeverity::Remark:
    return "remark: ";
  case DiagnosticSeverity::Error:
    return "error: ";
  }
  return "";
}

IrTest::IrTest()
    : context(MLIRContext::Threading::DISABLED), handler(&context, [this](Diagnostic &diagnostic) {
        diagnostics.push_back(severityName(diagnostic.getSeverity()) + diagnostic.str());
        for (Diagnostic &note : diagnostic.getNotes())
          diagnostics.push_back(severityName(note.getSeverity()) + note.str());
        return success();
      }) {
  context.loadDialect<func::FuncDialect, ArrayDialect, SpmdDialect, plan::PlanDialect>();
}

OwningOpRef<ModuleOp> IrTest::parse(StringRef text) { return parseSourceString<ModuleOp>(text, &context); }

OwningOpRef<ModuleOp> IrTest::parseValid(StringRef text) {
  OwningOpRef<ModuleOp> module = parse(text);
  EXPECT_TRUE(module) << text.str() << "\n" << diagnosticText();
  return module;
}

func::FuncOp IrTest::functionOf(ModuleOp module) { return *module.getOps<func::FuncOp>().begin(); }

std::string IrTest::print(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  op->print(os);
  return text;
}

std::string IrTest::diagnosticText() const { return llvm::join(diagnostics, "\n"); }

Tensor IrTest::f32(std::vector<int64_t> shape, const std::vector<double> &values) {
  Tensor tensor(shape, Float32Type::get(&context));
  EXPECT_EQ(tensor.elements.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i)
    tensor.elements[i] = Scalar::ofFloat(values[i]);
  return tensor;
}

Tensor IrTest::i32(std::vector<int64_t> shape, const std::vector<int64_t> &values) {
  Tensor tensor(shape, IntegerType::get(&context, 32));
  EXPECT_EQ(tensor.elements.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i)
    tensor.elements[i] = Scalar::ofInt(values[i]);
  return tensor;
}

Tensor IrTest::iotaF32(std::vector<int64_t> shape) {
  Tensor tensor(shape, Float32Type::get(&context));
  for (int64_t i = 0; i < tensor.size(); ++i)
    tensor.elements[i] = Scalar::ofFloat(static_cast<double>(i));
  return tensor;
}

std::vector<double> floatsOf(const Tensor &tensor) {
  std::vector<double> values;
  for (Scalar element : tensor.elements)
    values.push_back(element.f);
  return values;
}

std::vector<int64_t> intsOf(const Tensor &tensor) {
  std::vector<int64_t> values;
  for (Scalar element : tensor.elements)
    values.push_back(element.i);
  return values;
}

} // namespace spmdc
