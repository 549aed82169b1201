//===- Importer.cpp - the languages of programs ---------------------------===//

#include "compiler/Importer.h"

#include "frontend/stablehlo/Import.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace spmdc {
namespace {

/// The array language (docs/language.md).
class LanguageImporter : public Importer {
  OwningOpRef<ModuleOp> import(llvm::StringRef text, llvm::StringRef fileName, const FrontendOptions &options,
                               MLIRContext &context, Diagnostics &diagnostics) const override {
    return importProgram(text, fileName, options, context, diagnostics);
  }
  std::optional<std::string> dumpTree(llvm::StringRef text, llvm::StringRef fileName,
                                      Diagnostics &diagnostics) const override {
    return dumpAst(text, fileName, diagnostics);
  }
};

/// A program exported from JAX (docs/jax.md).
class StablehloImporter : public Importer {
  OwningOpRef<ModuleOp> import(llvm::StringRef text, llvm::StringRef fileName, const FrontendOptions &options,
                               MLIRContext &context, Diagnostics &diagnostics) const override {
    return importStablehlo(text, fileName, options, context, diagnostics);
  }
};

/// IR of any stage, as `--emit` and `--dump-ir` write it.
class IrImporter : public Importer {
  OwningOpRef<ModuleOp> import(llvm::StringRef text, llvm::StringRef fileName, const FrontendOptions &,
                               MLIRContext &context, Diagnostics &) const override {
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(text, fileName), llvm::SMLoc());
    return parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
  }
  bool readsOperations() const override { return true; }
};

} // namespace

const Importer &importerOf(llvm::StringRef fileName, llvm::StringRef text) {
  static const LanguageImporter language;
  static const IrImporter ir;
  static const StablehloImporter stablehlo;
  if (!fileName.ends_with(".mlir"))
    return language;
  return isStablehlo(text) ? static_cast<const Importer &>(stablehlo) : ir;
}

} // namespace spmdc
