//===- DiagnosticMessages.h - the compiler's messages for editors -*- C++ -*-===//
#pragma once

#include "tools/spmd-lsp-server/DocumentText.h"

#include "frontend/syntax/Diagnostics.h"

#include "mlir/Tools/lsp-server-support/Protocol.h"

#include <string>
#include <vector>

namespace spmdc {

using EditorDiagnostics = std::vector<mlir::lsp::Diagnostic>;

/// Converts the compiler's messages about one document to diagnostics of the protocol.
class DiagnosticMessages {
public:
  DiagnosticMessages(mlir::lsp::URIForFile uri, std::string fileName, const DocumentText &text)
      : uri(std::move(uri)), fileName(std::move(fileName)), text(text) {}

  void add(const Diagnostics &diagnostics, mlir::lsp::DiagnosticSeverity severity);
  /// Adds a message without a place; it is shown at the beginning of the document.
  void add(std::string message, mlir::lsp::DiagnosticSeverity severity, TextSpan place = {});
  /// Adds messages from lines `error: ...` and `note: ...`.
  void addGeneral(llvm::StringRef lines);

  EditorDiagnostics take() { return std::move(messages); }

private:
  bool isHere(const Range &range) const { return range.source && range.source->getName() == fileName; }

  mlir::lsp::URIForFile uri;
  std::string fileName;
  const DocumentText &text;
  EditorDiagnostics messages;
};

} // namespace spmdc
