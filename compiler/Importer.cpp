//===- Importer.cpp - the languages of programs ---------------------------===//

#include "compiler/Importer.h"

#include "frontend/stablehlo/Import.h"
#include "frontend/stablehlo/portable/Portable.h"

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
    OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
    // A passing pipeline would say so only at its end, and of a plan.
    if (module && module->getOps<func::FuncOp>().empty()) {
      emitError(module->getLoc()) << "the program has no function; "
                                  << (text.trim().empty() ? "the file is empty; " : "")
                                  << "write one with 'spmdc compile --emit=array', or export one from JAX";
      return {};
    }
    return module;
  }
  bool readsOperations() const override { return true; }
};

/// Whether a text begins as modules of MLIR do, and no program of the array language.
bool beginsAsModule(llvm::StringRef text) {
  for (text = text.ltrim(); text.consume_front("//"); text = text.ltrim())
    text = text.drop_front(std::min(text.find('\n'), text.size()));
  return text.starts_with("#loc") || text.starts_with("module ") || text.starts_with("\"builtin.module\"");
}

} // namespace

Language languageOf(llvm::StringRef fileName, llvm::StringRef text) {
  bool isModule = fileName.ends_with(".mlir");
  if (stablehlo::isPortable(text) || text.starts_with(kHloBegin) ||
      ((isModule || beginsAsModule(text)) && isStablehlo(text)))
    return Language::Jax;
  return isModule ? Language::Ir : Language::Array;
}

const Importer &importerOf(llvm::StringRef fileName, llvm::StringRef text) {
  static const LanguageImporter array;
  static const StablehloImporter jax;
  static const IrImporter ir;
  switch (languageOf(fileName, text)) {
  case Language::Array:
    return array;
  case Language::Jax:
    return jax;
  case Language::Ir:
    return ir;
  }
  llvm_unreachable("every language is above");
}

bool convertToText(std::string &program, std::string &cause) {
  if (!stablehlo::isPortable(program))
    return true;
  FailureOr<std::string> text = stablehlo::textOfPortable(program, cause);
  if (succeeded(text))
    program = std::move(*text);
  return succeeded(text);
}

} // namespace spmdc
