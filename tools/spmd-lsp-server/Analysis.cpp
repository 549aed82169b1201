//===- Analysis.cpp - the analysis of one version of a document -----------===//

#include "tools/spmd-lsp-server/Analysis.h"

#include "frontend/Prelude.h"
#include "frontend/syntax/Parser.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"

using mlir::lsp::DiagnosticSeverity;

namespace spmdc {

Analysis::Analysis(mlir::lsp::URIForFile uri, Snapshot text, FrontendOptions options,
                   std::function<bool()> shouldContinue)
    : uri(std::move(uri)), fileName(llvm::sys::path::filename(this->uri.file()).str()), options(std::move(options)),
      shouldContinue(std::move(shouldContinue)), snapshot(std::move(text)) {
  if (llvm::StringRef(fileName).ends_with(".mlir"))
    refusal = "this is IR, which `spmd-lsp-server --mlir` serves";
  else if (snapshot.text->str().size() > maxBytes)
    refusal = "the text is larger than 4 MiB and is not analysed in editors; spmdc compiles up to 64 MiB";
}

Analysis::~Analysis() = default;

void Analysis::guard(llvm::function_ref<void()> step) {
  if (!refusal.empty() || !failure.empty())
    return;
  try {
    step();
  } catch (const std::exception &error) {
    failure = std::string("the compiler failed: ") + error.what();
  }
}

void Analysis::findNames() {
  guard([&] { parseNames(); });
  snapshot.knowledge = Knowledge::Names;
}

void Analysis::parseNames() {
  Diagnostics unused; // The compiler reports the same errors.
  std::unique_ptr<Ast> program = parse(unused.addSource(fileName, snapshot.text->str()), unused);
  std::unique_ptr<Ast> prelude = parse(unused.addSource("prelude.spmd", std::string(preludeText())), unused);
  snapshot.symbols = std::make_shared<SymbolTable>(*program, *prelude);
  chooseEntry(*program);
}

/// A file without the entry may be incomplete, or a collection of functions. Then the first function that could be the
/// entry, because all its parameters have types, serves as the entry.
void Analysis::chooseEntry(const Ast &program) {
  if (findFunction(program, options.function) || llvm::is_contained(program.brokenNames, options.function))
    return;
  for (const FnDecl &fn : program.functions) {
    bool hasTypes = fn.generics.empty() && llvm::all_of(fn.params, [](const ParamDecl &p) { return p.type; });
    if (!hasTypes)
      continue;
    hint = "there is no function '" + options.function + "'; shardings are shown as if '" + std::string(fn.name.text) +
           "' were the entry";
    hintPlace = spanOf(fn.name.range);
    options.function = std::string(fn.name.text);
    return;
  }
  if (!program.functions.empty()) {
    hint = "there is no function '" + options.function + "'; functions are checked as far as their types are written";
    hintPlace = spanOf(program.functions.front().name.range);
  }
  options.function.clear();
}

void Analysis::findTypes() {
  guard([&] { compileTypes(); });
  snapshot.knowledge = Knowledge::Types;
}

void Analysis::compileTypes() {
  CompileOptions compile;
  compile.frontend = options;
  compile.frontend.index = index.get();
  compile.pipeline.shouldContinue = shouldContinue;
  compiler.emplace(fileName, snapshot.text->str(), std::move(compile));
  compiler->module(Stage::Array);
  auto symbols = std::make_shared<SymbolTable>(*snapshot.symbols);
  symbols->addUses(index->getFields());
  snapshot.symbols = std::move(symbols);
  snapshot.index = std::make_shared<ProgramIndex>(*index);
}

void Analysis::findShardings() {
  guard([&] {
    mlir::ModuleOp module = options.function.empty() ? mlir::ModuleOp() : compiler->module(Stage::Propagated);
    if (!module)
      return;
    index->addShardings(module);
    snapshot.index = std::make_shared<ProgramIndex>(*index);
  });
  snapshot.knowledge = Knowledge::Shardings;
}

void Analysis::findCosts() {
  guard([&] {
    if (!options.function.empty() && compiler->module(Stage::Partitioned))
      compiler->checkBudget();
  });
}

bool Analysis::hasErrors() const {
  return !refusal.empty() || !failure.empty() ||
         (compiler && (compiler->errorList().hasErrors() || !compiler->generalErrors().empty()));
}

EditorDiagnostics Analysis::diagnostics() const {
  DiagnosticMessages messages(uri, fileName, *snapshot.text);
  if (!refusal.empty())
    messages.add(refusal, DiagnosticSeverity::Information);
  if (!failure.empty())
    messages.add(failure, DiagnosticSeverity::Error);
  if (!hint.empty())
    messages.add(hint, DiagnosticSeverity::Information, hintPlace);
  if (compiler) {
    messages.add(compiler->errorList(), DiagnosticSeverity::Error);
    messages.add(compiler->warningList(), DiagnosticSeverity::Warning);
    messages.addGeneral(compiler->generalErrors());
  }
  return messages.take();
}

} // namespace spmdc
