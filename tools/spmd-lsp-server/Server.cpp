//===- Server.cpp - the requests of the protocol --------------------------===//

#include "tools/spmd-lsp-server/Server.h"

#include "tools/spmd-lsp-server/Completion.h"
#include "tools/spmd-lsp-server/HoverText.h"
#include "tools/spmd-lsp-server/Navigation.h"

using namespace mlir::lsp;

namespace spmdc {

Server::Server(MessageHandler &handler, FrontendOptions options, bool waitsForCosts)
    : publish(handler.outgoingNotification<llvm::json::Value>("textDocument/publishDiagnostics")),
      waitsForCosts(waitsForCosts),
      analyst(std::move(options),
              [this](const URIForFile &uri, std::optional<int64_t> version, const EditorDiagnostics &messages) {
                llvm::json::Object params{{"uri", uri}, {"diagnostics", messages}};
                if (version)
                  params["version"] = *version;
                publish(std::move(params));
              }) {
  handler.method("initialize", this, &Server::initialize);
  handler.notification("initialized", this, &Server::initialized);
  handler.method("shutdown", this, &Server::shutdown);
  handler.notification("textDocument/didOpen", this, &Server::didOpen);
  handler.notification("textDocument/didChange", this, &Server::didChange);
  handler.notification("textDocument/didClose", this, &Server::didClose);
  handler.method("textDocument/hover", this, &Server::hover);
  handler.method("textDocument/definition", this, &Server::definition);
  handler.method("textDocument/references", this, &Server::references);
  handler.method("textDocument/documentSymbol", this, &Server::symbols);
  handler.method("textDocument/completion", this, &Server::completion);
}

void Server::initialize(const InitializeParams &params, Callback<llvm::json::Value> reply) {
  llvm::json::Object sync{{"openClose", true}, {"change", static_cast<int>(TextDocumentSyncKind::Incremental)}};
  llvm::json::Object capabilities{
      {"textDocumentSync", std::move(sync)},
      {"hoverProvider", true},
      {"definitionProvider", true},
      {"referencesProvider", true},
      {"documentSymbolProvider", params.capabilities.hierarchicalDocumentSymbol},
      {"completionProvider", llvm::json::Object{{"triggerCharacters", {"@", "."}}}},
  };
  llvm::json::Object info{{"name", "spmd-lsp-server"}, {"version", SPMDC_VERSION}};
  reply(llvm::json::Object{{"serverInfo", std::move(info)}, {"capabilities", std::move(capabilities)}});
}

//===----------------------------------------------------------------------===//
// Documents
//===----------------------------------------------------------------------===//

void Server::setText(const URIForFile &uri, int64_t version, std::string text) {
  analyst.setText(uri, version, std::move(text));
  if (waitsForCosts)
    analyst.finish();
}

void Server::didOpen(const DidOpenTextDocumentParams &params) {
  setText(params.textDocument.uri, params.textDocument.version, params.textDocument.text);
}

void Server::didChange(const DidChangeTextDocumentParams &params) {
  std::shared_ptr<const DocumentText> text = analyst.getText(params.textDocument.uri);
  if (!text || params.contentChanges.empty())
    return; // The document is not open, so the change has no base.
  std::string changed;
  for (const TextDocumentContentChangeEvent &change : params.contentChanges) {
    changed = text->changed(change);
    text = std::make_shared<DocumentText>(changed);
  }
  setText(params.textDocument.uri, params.textDocument.version, std::move(changed));
}

void Server::didClose(const DidCloseTextDocumentParams &params) { analyst.close(params.textDocument.uri); }

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

void Server::hover(const TextDocumentPositionParams &params, Callback<std::optional<Hover>> reply) {
  auto snapshot = analyst.get(params.textDocument.uri, Knowledge::Shardings);
  reply(snapshot ? hoverAt(*snapshot, params.position) : std::nullopt);
}

// Names are known before types, except names of fields, which need types.

void Server::definition(const TextDocumentPositionParams &params, Callback<std::vector<Location>> reply) {
  auto snapshot = analyst.get(params.textDocument.uri, Knowledge::Types);
  reply(snapshot ? definitionsAt(*snapshot, params.textDocument.uri, params.position) : std::vector<Location>());
}

void Server::references(const ReferenceParams &params, Callback<std::vector<Location>> reply) {
  auto snapshot = analyst.get(params.textDocument.uri, Knowledge::Types);
  reply(snapshot ? referencesAt(*snapshot, params.textDocument.uri, params.position, params.context.includeDeclaration)
                 : std::vector<Location>());
}

void Server::symbols(const DocumentSymbolParams &params, Callback<std::vector<DocumentSymbol>> reply) {
  auto snapshot = analyst.get(params.textDocument.uri, Knowledge::Types);
  reply(snapshot ? documentSymbols(*snapshot) : std::vector<DocumentSymbol>());
}

void Server::completion(const CompletionParams &params, Callback<CompletionList> reply) {
  auto snapshot = analyst.get(params.textDocument.uri, Knowledge::Types);
  reply(snapshot ? completionsAt(*snapshot, params.position) : CompletionList());
}

} // namespace spmdc
