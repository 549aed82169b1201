//===- DiagnosticMessages.h - the compiler's messages for editors -*- C++ -*-===//
#pragma once

#include "tools/spmd-lsp-server/DocumentText.h"

#include "frontend/syntax/Diagnostics.h"

#include "mlir/Tools/lsp-server-support/Protocol.h"

#include <string>
#include <vector>

namespace spmdc {

using EditorDiagnostics = std::vector<mlir::lsp::Diagnostic>;

/// Turns messages about one document into those of the protocol.
class DiagnosticMessages {
public:
  DiagnosticMessages(mlir::lsp::URIForFile uri, std::string fileName, const DocumentText &text)
      : uri(std::move(uri)), fileName(std::move(fileName)), text(text) {}

  void add(const Diagnostics &diagnostics, mlir::lsp::DiagnosticSeverity severity);
  /// A message about no place in particular; it stands at the beginning.
  void add(std::string message, mlir::lsp::DiagnosticSeverity severity, TextSpan place = {});
  /// `error: ...` and `note: ...`, a line each.
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
