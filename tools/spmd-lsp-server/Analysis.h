//===- Analysis.h - the analysis of one version of a document ---*- C++ -*-===//
//
// An Analysis compiles one text in steps, so that its owner can stop between steps. Each step adds to the snapshot and
// to the messages. Not thread-safe; it may move from one thread to another between steps.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Compiler.h"
#include "tools/spmd-lsp-server/DiagnosticMessages.h"
#include "tools/spmd-lsp-server/Snapshot.h"

#include <functional>
#include <memory>
#include <optional>

namespace spmdc {

class Analysis {
public:
  /// Larger texts are not analysed: they are generated, and would delay the server.
  static constexpr size_t maxBytes = size_t(4) << 20;

  /// `text` has a text, a number and a version. When `shouldContinue` returns false, steps end early with incomplete
  /// results.
  Analysis(mlir::lsp::URIForFile uri, Snapshot text, FrontendOptions options, std::function<bool()> shouldContinue);
  ~Analysis();

  const mlir::lsp::URIForFile &getUri() const { return uri; }
  const Snapshot &getSnapshot() const { return snapshot; }

  void findNames();
  void findTypes();
  void findShardings();
  /// Partitions the program, for its warnings and its budget. By far the longest step.
  void findCosts();
  bool hasErrors() const;

  /// All messages of the steps so far.
  EditorDiagnostics diagnostics() const;

private:
  /// Runs a step of the compiler. An exception becomes a message and ends the analysis.
  void guard(llvm::function_ref<void()> step);
  void parseNames();
  void chooseEntry(const Ast &program);
  void compileTypes();

  mlir::lsp::URIForFile uri;
  std::string fileName;
  FrontendOptions options;
  std::function<bool()> shouldContinue;
  Snapshot snapshot;
  std::string refusal; ///< The reason why the text is not analysed; empty if it is.
  std::string failure; ///< The message of an exception from a step.
  std::string hint;    ///< A message of severity Information.
  TextSpan hintPlace;
  std::shared_ptr<ProgramIndex> index = std::make_shared<ProgramIndex>();
  std::optional<Compiler> compiler;
};

} // namespace spmdc
