//===- Compiler.cpp - from a program's text to an artifact ----------------===//

#include "runtime/jit/Compiler.h"

#include "ir/spmd/Location.h"
#include "ir/spmd/SpmdTypes.h"
#include "passes/pipeline/Registration.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/SourceMgr.h"

#include <chrono>

using namespace mlir;

namespace spmdc {
namespace {

/// The range of one character at a line and column, or of nothing at the end of the source.
Range rangeAt(const Source &source, unsigned line, unsigned column) {
  std::string_view text = source.getText();
  size_t offset = 0;
  for (unsigned current = 1; current < line && offset < text.size(); ++current) {
    size_t end = text.find('\n', offset);
    offset = end == std::string_view::npos ? text.size() : end + 1;
  }
  for (unsigned current = 1; current < column && offset < text.size() && text[offset] != '\n'; ++current)
    offset += std::max<size_t>(1, utf8Length(text.substr(offset)));
  auto begin = static_cast<uint32_t>(offset);
  return {&source, begin, begin < text.size() ? begin + 1 : begin};
}

double millisecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

} // namespace

struct Compiler::State {
  State(std::string fileName, std::string text, CompileOptions options)
      : fileName(std::move(fileName)), text(std::move(text)), options(std::move(options)),
        context(registry(), MLIRContext::Threading::DISABLED),
        handler(&context, [this](mlir::Diagnostic &diagnostic) { return take(diagnostic); }) {}

  static DialectRegistry registry() {
    DialectRegistry result;
    registerDialects(result);
    return result;
  }

  /// MLIR's diagnostics become this compilation's, at the place of the expression.
  LogicalResult take(mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Remark) {
      std::optional<SourcePosition> place = getSourcePosition(diagnostic.getLocation());
      remarks += (place ? place->str() + ": " : "") + "remark: " + diagnostic.str() + "\n";
      return success();
    }
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return success();
    spmdc::Diagnostic &error = diagnostics.error(placeOf(diagnostic.getLocation()), diagnostic.str());
    for (mlir::Diagnostic &note : diagnostic.getNotes())
      error.note(placeOf(note.getLocation()), note.str());
    return success();
  }

  Range placeOf(Location loc) {
    std::optional<SourcePosition> place = getSourcePosition(loc);
    if (!source)
      source = &diagnostics.addSource(fileName, text);
    return place && place->file == fileName ? rangeAt(*source, place->line, place->column) : Range{source, 0, 0};
  }

  /// The module at the beginning of the way, and its station.
  ModuleOp getStart() {
    if (start || diagnostics.hasErrors())
      return *start;
    auto began = std::chrono::steady_clock::now();
    if (llvm::StringRef(fileName).ends_with(".mlir")) {
      llvm::SourceMgr sources;
      sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(text, fileName), llvm::SMLoc());
      start = parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
    } else {
      start = compileToArray(text, fileName, options.frontend, context, diagnostics);
    }
    times.push_back({"frontend", millisecondsSince(began)});
    return *start;
  }

  /// The module at a station up to Plan; null on errors.
  ModuleOp getModule(Stage stage) {
    if (modules[stage])
      return *modules[stage];
    ModuleOp begin = getStart();
    if (!begin)
      return {};
    Stage reached = spmdc::getStage(begin);
    if (stage < reached) {
      diagnostics.error(placeOf(begin.getLoc()), ("the file is past the station '" + stageName(stage) +
                                                  "': it holds the station '" + stageName(reached) + "'")
                                                     .str());
      return {};
    }
    // Continue from the last station that was computed.
    ModuleOp from = begin;
    Stage at = reached;
    for (auto &[done, module] : modules)
      if (module && done <= stage && done >= at) {
        from = *module;
        at = done;
      }
    OwningOpRef<ModuleOp> module = from.clone();
    if (failed(runPipeline(*module, at, stage, options.pipeline, &times))) {
      if (!diagnostics.hasErrors())
        diagnostics.error(placeOf(begin.getLoc()), "the compiler failed without saying why: this is a defect of spmdc");
      return {};
    }
    modules[stage] = std::move(module);
    return *modules[stage];
  }

  std::string fileName, text;
  CompileOptions options;
  Diagnostics diagnostics;
  const Source *source = nullptr;
  std::string remarks;
  std::vector<PassTime> times;
  MLIRContext context;
  ScopedDiagnosticHandler handler;
  OwningOpRef<ModuleOp> start;
  std::map<Stage, OwningOpRef<ModuleOp>> modules;
};

Compiler::Compiler(std::string fileName, std::string text, CompileOptions options)
    : state(std::make_unique<State>(std::move(fileName), std::move(text), std::move(options))) {}

Compiler::~Compiler() = default;
Compiler::Compiler(Compiler &&) noexcept = default;
Compiler &Compiler::operator=(Compiler &&) noexcept = default;

std::optional<std::string> Compiler::textOf(Stage stage) {
  if (stage == Stage::Ast) {
    std::string ast = dumpAst(state->text, state->fileName, state->diagnostics);
    return state->diagnostics.hasErrors() ? std::nullopt : std::optional(ast);
  }
  ModuleOp module = state->getModule(stage);
  if (!module)
    return std::nullopt;
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  os << "\n";
  return text;
}

std::optional<ProgramReport> Compiler::report() {
  ModuleOp propagated = state->getModule(Stage::Propagated);
  if (!propagated)
    return std::nullopt;
  ModuleOp partitioned = state->getModule(Stage::Partitioned);
  if (!partitioned)
    return std::nullopt;
  return reportProgram(propagated, partitioned);
}

std::optional<spmd::Artifact> Compiler::compile() { return std::nullopt; }
std::optional<int64_t> Compiler::bytesPerDevice() { return 0; }

std::string Compiler::errors() const { return state->diagnostics.hasErrors() ? state->diagnostics.str() : ""; }

const std::string &Compiler::remarks() const { return state->remarks; }

const std::vector<PassTime> &Compiler::times() const { return state->times; }

} // namespace spmdc
