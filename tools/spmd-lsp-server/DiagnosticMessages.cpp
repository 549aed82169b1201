//===- DiagnosticMessages.cpp - the compiler's messages for editors -------===//

#include "tools/spmd-lsp-server/DiagnosticMessages.h"

namespace spmdc {

void DiagnosticMessages::add(std::string message, mlir::lsp::DiagnosticSeverity severity, TextSpan place) {
  mlir::lsp::Diagnostic &added = messages.emplace_back();
  added.severity = severity;
  added.source = "spmdc";
  added.range = text.rangeOf(place);
  added.message = std::move(message);
}

void DiagnosticMessages::add(const Diagnostics &diagnostics, mlir::lsp::DiagnosticSeverity severity) {
  for (const spmdc::Diagnostic &diagnostic : diagnostics.getErrors()) {
    // An error in an option has no place in the document.
    bool isInDocument = isHere(diagnostic.where);
    std::string prefix = isInDocument ? "" : diagnostic.where.source->getName() + ": ";
    add(prefix + diagnostic.message, severity, isInDocument ? spanOf(diagnostic.where) : TextSpan());
    std::vector<mlir::lsp::DiagnosticRelatedInformation> related;
    for (const DiagnosticNote &note : diagnostic.notes)
      if (isHere(note.where))
        related.push_back({mlir::lsp::Location(uri, text.rangeOf(spanOf(note.where))), note.message});
      else // A place in the prelude, for example, which is not a file that an editor can open.
        messages.back().message += "\nnote: " + note.message;
    if (!related.empty())
      messages.back().relatedInformation = std::move(related);
  }
}

void DiagnosticMessages::addGeneral(llvm::StringRef lines) {
  while (!lines.empty()) {
    auto [line, rest] = lines.split('\n');
    lines = rest;
    if (line.consume_front("error: "))
      add(line.str(), mlir::lsp::DiagnosticSeverity::Error);
    else if (!messages.empty() && !line.empty())
      messages.back().message += "\n" + line.str();
  }
}

} // namespace spmdc
