//===- FrontendTestHelper.cpp - compiles and inspects a text --------------===//

#include "tests/frontend/FrontendTestHelper.h"

#include "ir/evaluate/GlobalEvaluator.h"
#include "ir/spmd/SpmdTypes.h"

namespace spmdc::testing {

Compiled::Compiled(const std::string &text, const FrontendOptions &options) {
  module = importProgram(text, "t.spmd", options, context, diagnostics);
}

mlir::func::FuncOp Compiled::function() { return *module->getOps<mlir::func::FuncOp>().begin(); }

std::string Compiled::print(bool withLocations) {
  if (!isGood())
    return diagnostics.str();
  std::string text;
  llvm::raw_string_ostream stream(text);
  mlir::OpPrintingFlags flags;
  if (withLocations)
    flags.enableDebugInfo();
  module->print(stream, flags);
  return text;
}

std::vector<std::string> Compiled::errors() const {
  auto place = [](const Range &range) {
    LineColumn at = range.start();
    std::string file = range.source->getName() == "t.spmd" ? "" : range.source->getName() + ":";
    return file + std::to_string(at.line) + ":" + std::to_string(at.column) + ": ";
  };
  std::vector<std::string> lines;
  for (const Diagnostic &error : diagnostics.getErrors()) {
    lines.push_back(place(error.where) + error.message);
    for (const DiagnosticNote &note : error.notes)
      lines.push_back("  " + place(note.where) + note.message);
  }
  return lines;
}

std::vector<std::string> Compiled::resultTypes() {
  std::vector<std::string> types;
  for (mlir::Type type : function().getFunctionType().getResults())
    types.push_back(llvm::cast<ArrayType>(type).str());
  return types;
}

std::vector<Tensor> Compiled::run() {
  auto results = evaluateGlobal(function(), {});
  if (failed(results))
    return {};
  return std::vector<Tensor>(results->begin(), results->end());
}

static std::string programOf(const std::string &expression) {
  return "mesh m(a=4, b=2) fn main(x: f32[4, 8], y: f32[8], i: i32[3], b: bool[4]) {\nreturn " + expression + ";\n}";
}

std::vector<std::string> errorsOf(const std::string &expression) { return Compiled(programOf(expression)).errors(); }

std::string typeOf(const std::string &expression) {
  Compiled compiled(programOf(expression));
  return compiled.isGood() ? compiled.resultTypes().at(0) : compiled.errors().at(0);
}

} // namespace spmdc::testing
