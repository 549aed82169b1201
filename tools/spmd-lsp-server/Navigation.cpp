//===- Navigation.cpp - from names to their declarations and uses ---------===//

#include "tools/spmd-lsp-server/Navigation.h"
#include "tools/spmd-lsp-server/HoverText.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <numeric>

namespace spmdc {

std::vector<mlir::lsp::Location> definitionsAt(const Snapshot &snapshot, const mlir::lsp::URIForFile &uri,
                                               mlir::lsp::Position position) {
  const SymbolUse *use = snapshot.symbols->findUse(snapshot.text->offsetAt(position));
  if (!use || !use->symbol)
    return {};
  TextSpan declared = snapshot.symbols->getSymbols()[*use->symbol].place;
  return {mlir::lsp::Location(uri, snapshot.text->rangeOf(declared))};
}

std::vector<mlir::lsp::Location> referencesAt(const Snapshot &snapshot, const mlir::lsp::URIForFile &uri,
                                              mlir::lsp::Position position, bool includesDeclaration) {
  std::vector<mlir::lsp::Location> places;
  const SymbolUse *asked = snapshot.symbols->findUse(snapshot.text->offsetAt(position));
  if (!asked)
    return places;
  for (const SymbolUse &use : snapshot.symbols->getUses()) {
    bool isSame = asked->symbol ? use.symbol == asked->symbol : !use.symbol && use.operation == asked->operation;
    bool isDeclaration = use.symbol && snapshot.symbols->getSymbols()[*use.symbol].place == use.place;
    if (isSame && (includesDeclaration || !isDeclaration))
      places.emplace_back(uri, snapshot.text->rangeOf(use.place));
  }
  return places;
}

static mlir::lsp::SymbolKind kindOf(SymbolKind kind) {
  switch (kind) {
  case SymbolKind::Mesh:
    return mlir::lsp::SymbolKind::Object;
  case SymbolKind::Axis:
    return mlir::lsp::SymbolKind::Key;
  case SymbolKind::Const:
  case SymbolKind::GenericSize:
    return mlir::lsp::SymbolKind::Constant;
  case SymbolKind::Struct:
    return mlir::lsp::SymbolKind::Struct;
  case SymbolKind::Field:
    return mlir::lsp::SymbolKind::Field;
  case SymbolKind::Function:
    return mlir::lsp::SymbolKind::Function;
  case SymbolKind::Parameter:
  case SymbolKind::Variable:
    return mlir::lsp::SymbolKind::Variable;
  }
  llvm_unreachable("unknown symbol");
}

std::vector<mlir::lsp::DocumentSymbol> documentSymbols(const Snapshot &snapshot) {
  llvm::ArrayRef<Symbol> symbols = snapshot.symbols->getSymbols();
  auto make = [&](const Symbol &symbol) {
    TextSpan whole = {std::min(symbol.declaration.begin, symbol.place.begin),
                      std::max(symbol.declaration.end, symbol.body.end)};
    mlir::lsp::DocumentSymbol made(symbol.name, kindOf(symbol.kind), snapshot.text->rangeOf(whole),
                                   snapshot.text->rangeOf(symbol.place));
    if (const IndexedPlace *place = snapshot.index->find(symbol.place))
      made.detail = typeText(*place);
    return made;
  };
  std::vector<size_t> order(symbols.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](size_t a, size_t b) { return symbols[a].place < symbols[b].place; });
  std::map<size_t, std::vector<mlir::lsp::DocumentSymbol>> children;
  for (size_t i : order)
    if (symbols[i].parent)
      children[*symbols[i].parent].push_back(make(symbols[i]));
  std::vector<mlir::lsp::DocumentSymbol> result;
  for (size_t i : order)
    if (!symbols[i].parent) {
      result.push_back(make(symbols[i]));
      result.back().children = std::move(children[i]);
    }
  return result;
}

} // namespace spmdc
