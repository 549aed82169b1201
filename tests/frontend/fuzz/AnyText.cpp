//===- AnyText.cpp - properties of every text -----------------------------===//

#include "tests/frontend/fuzz/AnyText.h"

#include "frontend/Frontend.h"
#include "frontend/syntax/BigStack.h"

namespace spmdc::testing {

static std::string problemWith(const Range &where, const std::string &message) {
  if (message.empty())
    return "a message is empty";
  if (!where.source)
    return "nowhere: " + message;
  size_t size = where.source->getText().size();
  if (where.begin > size || where.end > size || where.begin > where.end)
    return "outside of its source: " + message;
  // Only at the beginning: later it may be a quotation of the text.
  return message.rfind("internal error", 0) == message.npos ? "" : message;
}

static std::string problemWith(const std::string &text) {
  for (size_t i = 0; i < text.size();) {
    size_t length = utf8Length(std::string_view(text).substr(i));
    auto byte = static_cast<unsigned char>(text[i]);
    bool isPrintable = (byte >= 0x20 && byte != 0x7f) || byte == '\n' || byte == '\t';
    if (length == 0 || !isPrintable)
      return "byte " + std::to_string(byte) + " in the errors' text";
    i += length;
  }
  return "";
}

static std::string check(std::string_view text, mlir::MLIRContext &context) {
  llvm::StringRef ref(text.data(), text.size());
  Diagnostics ofTree, diagnostics;
  dumpAst(ref, "t.spmd", ofTree);
  mlir::OwningOpRef<mlir::ModuleOp> module = importProgram(ref, "t.spmd", {}, context, diagnostics);
  if (bool(module) == diagnostics.hasErrors())
    return module ? "a module and errors" : "neither a module nor an error";
  for (const Diagnostics *all : {&ofTree, &diagnostics}) {
    for (const Diagnostic &error : all->getErrors()) {
      if (std::string problem = problemWith(error.where, error.message); !problem.empty())
        return problem;
      for (const DiagnosticNote &note : error.notes)
        if (std::string problem = problemWith(note.where, note.message); !problem.empty())
          return problem;
    }
    if (std::string problem = problemWith(all->str()); !problem.empty())
      return problem;
  }
  return "";
}

std::string checkAnyText(std::string_view text, mlir::MLIRContext &context) {
  // One thread for all steps that need it: to start a thread costs as much as a small text.
  std::string problem;
  runOnBigStack([&] { problem = check(text, context); });
  return problem;
}

} // namespace spmdc::testing
