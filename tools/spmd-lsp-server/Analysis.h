//===- Analysis.h - the way of one version through the compiler -*- C++ -*-===//
//
// One object takes one text as far as it is asked to, a step at a time, so that whoever drives it can stop between
// steps. Each step adds to what the snapshot knows and to the messages. Not thread-safe; it may go from one thread to
// another between steps.
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
  /// Texts beyond this are not analysed: nobody writes them by hand.
  static constexpr size_t maxBytes = size_t(4) << 20;

  /// `text` has a text, a number and a version. Once `isWanted` says no, steps end early, and what they have found is
  /// of no use.
  Analysis(mlir::lsp::URIForFile uri, Snapshot text, FrontendOptions options, std::function<bool()> isWanted);
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
  /// Runs a step of the compiler. What it throws is a message, and the text is not analysed any further.
  void guard(llvm::function_ref<void()> step);
  void parseNames();
  void chooseEntry(const Ast &program);
  void compileTypes();

  mlir::lsp::URIForFile uri;
  std::string fileName;
  FrontendOptions options;
  std::function<bool()> isWanted;
  Snapshot snapshot;
  std::string refusal; ///< Why the text is not analysed; empty where it is.
  std::string failure; ///< What a step has thrown.
  std::string hint;    ///< What a person should know though nothing is wrong.
  TextSpan hintPlace;
  std::shared_ptr<ProgramIndex> index = std::make_shared<ProgramIndex>();
  std::optional<Compiler> compiler;
};

} // namespace spmdc
