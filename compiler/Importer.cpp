//===- Importer.cpp - the languages of programs ---------------------------===//

#include "compiler/Importer.h"

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

const Importer &importerOf(llvm::StringRef fileName) {
  static const LanguageImporter language;
  static const IrImporter ir;
  struct Entry {
    llvm::StringLiteral ending;
    const Importer &importer;
  };
  static const Entry entries[] = {{".mlir", ir}};
  for (const Entry &entry : entries)
    if (fileName.ends_with(entry.ending))
      return entry.importer;
  return language;
}

} // namespace spmdc
