//===- Frontend.cpp - from text to array IR -------------------------------===//

#include "frontend/Frontend.h"
#include "frontend/Prelude.h"
#include "frontend/emit/Emitter.h"
#include "frontend/sema/NameChecks.h"
#include "frontend/syntax/AstPrinter.h"
#include "frontend/syntax/BigStack.h"
#include "frontend/syntax/Parser.h"

#include "mlir/IR/Verifier.h"

namespace spmdc {

void loadFrontendDialects(mlir::MLIRContext &context) {
  context.loadDialect<mlir::func::FuncDialect, SpmdDialect, ArrayDialect>();
}

/// The source, or null if it is too long for 32-bit offsets.
static const Source *addProgram(llvm::StringRef text, llvm::StringRef fileName, Diagnostics &diagnostics) {
  if (text.size() <= Source::maxBytes)
    return &diagnostics.addSource(fileName.str(), text.str());
  const Source &source = diagnostics.addSource(fileName.str(), "");
  diagnostics.error({&source, 0, 0}, "the file is larger than 64 MiB");
  return nullptr;
}

/// The module, and the types of the entry's results.
static mlir::OwningOpRef<mlir::ModuleOp> emitProgram(llvm::StringRef text, llvm::StringRef fileName,
                                                     const FrontendOptions &options, mlir::MLIRContext &context,
                                                     Diagnostics &diagnostics, std::vector<EntryResult> &results) {
  loadFrontendDialects(context);
  const Source *source = addProgram(text, fileName, diagnostics);
  if (!source)
    return {};
  const Source &preludeSource = diagnostics.addSource("prelude.spmd", std::string(preludeText()));
  mlir::OwningOpRef<mlir::ModuleOp> module;
  runOnBigStack([&] {
    std::unique_ptr<Ast> program = parse(*source, diagnostics);
    std::unique_ptr<Ast> prelude = parse(preludeSource, diagnostics);
    // Syntax errors leave poisoned names in the tree; the rest is checked.
    NameResolution names(*program, *prelude);
    Emitter emitter(context, *program, *prelude, names, options, diagnostics);
    module = emitter.run();
    results = emitter.getEntryResults();
    if (module && failed(mlir::verify(*module))) {
      diagnostics.error({source, 0, 0}, "internal error: the program became invalid IR");
      module = {};
    }
    if (module && options.warnings)
      warnOfUnusedNames(*program, names.getTable(), *options.warnings);
  });
  return module;
}

mlir::OwningOpRef<mlir::ModuleOp> importProgram(llvm::StringRef text, llvm::StringRef fileName,
                                                const FrontendOptions &options, mlir::MLIRContext &context,
                                                Diagnostics &diagnostics) {
  std::vector<EntryResult> results;
  return emitProgram(text, fileName, options, context, diagnostics, results);
}

std::optional<std::vector<EntryResult>> inferResults(llvm::StringRef text, llvm::StringRef fileName,
                                                     const FrontendOptions &options, mlir::MLIRContext &context,
                                                     Diagnostics &diagnostics) {
  std::vector<EntryResult> results;
  if (!emitProgram(text, fileName, options, context, diagnostics, results))
    return std::nullopt;
  return results;
}

std::string dumpAst(llvm::StringRef text, llvm::StringRef fileName, Diagnostics &diagnostics) {
  const Source *source = addProgram(text, fileName, diagnostics);
  return source ? printAst(*parse(*source, diagnostics)) : "";
}

} // namespace spmdc
