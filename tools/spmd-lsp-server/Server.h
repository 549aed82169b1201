//===- Server.h - the requests of the protocol ------------------*- C++ -*-===//
//
// Answers the requests of an editor from the Analyst's snapshots. Lives on the thread that reads messages.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/spmd-lsp-server/Analyst.h"

#include "mlir/Tools/lsp-server-support/Transport.h"

namespace spmdc {

/// The methods of the language server.
class Server {
public:
  /// Registers the methods of the protocol with `handler`. `waitsForCosts`: the analysis of a document ends before the
  /// next message is answered, so that tests see all messages in one order.
  Server(mlir::lsp::MessageHandler &handler, FrontendOptions options, bool waitsForCosts);

  /// Whether an analysis is running that may take seconds, although no request waits for it.
  bool isBusy() { return analyst.isBusy(); }

private:
  template <typename T> using Callback = mlir::lsp::Callback<T>;

  void initialize(const mlir::lsp::InitializeParams &params, Callback<llvm::json::Value> reply);
  void initialized(const mlir::lsp::InitializedParams &params) {}
  void shutdown(const mlir::lsp::NoParams &params, Callback<std::nullptr_t> reply) { reply(nullptr); }

  void didOpen(const mlir::lsp::DidOpenTextDocumentParams &params);
  void didChange(const mlir::lsp::DidChangeTextDocumentParams &params);
  void didClose(const mlir::lsp::DidCloseTextDocumentParams &params);
  void setText(const mlir::lsp::URIForFile &uri, int64_t version, std::string text);

  void hover(const mlir::lsp::TextDocumentPositionParams &params, Callback<std::optional<mlir::lsp::Hover>> reply);
  void definition(const mlir::lsp::TextDocumentPositionParams &params,
                  Callback<std::vector<mlir::lsp::Location>> reply);
  void references(const mlir::lsp::ReferenceParams &params, Callback<std::vector<mlir::lsp::Location>> reply);
  void symbols(const mlir::lsp::DocumentSymbolParams &params, Callback<std::vector<mlir::lsp::DocumentSymbol>> reply);
  void completion(const mlir::lsp::CompletionParams &params, Callback<mlir::lsp::CompletionList> reply);

  mlir::lsp::OutgoingNotification<llvm::json::Value> publish;
  bool waitsForCosts;
  Analyst analyst;
};

} // namespace spmdc
