//===- SymbolTable.cpp - names of a program and their uses ----------------===//

#include "frontend/sema/SymbolTable.h"
#include "frontend/sema/NameResolution.h"
#include "frontend/syntax/BigStack.h"

#include <algorithm>
#include <tuple>

namespace spmdc {

SymbolTable::SymbolTable(const Ast &program, const Ast &prelude) {
  runOnBigStack([&] { *this = NameResolution(program, prelude).getTable(); });
}

size_t SymbolTable::add(Symbol symbol) {
  uses.push_back({symbol.place, symbols.size(), ""});
  symbols.push_back(std::move(symbol));
  return symbols.size() - 1;
}

void SymbolTable::sortUses() {
  std::sort(uses.begin(), uses.end(), [](const SymbolUse &a, const SymbolUse &b) {
    return std::tie(a.place, a.symbol, a.operation) < std::tie(b.place, b.symbol, b.operation);
  });
  auto isSame = [](const SymbolUse &a, const SymbolUse &b) { return a.place == b.place && a.symbol == b.symbol; };
  uses.erase(std::unique(uses.begin(), uses.end(), isSame), uses.end());
}

const SymbolUse *SymbolTable::findUse(uint32_t offset) const {
  auto after = std::upper_bound(uses.begin(), uses.end(), offset,
                                [](uint32_t at, const SymbolUse &use) { return at < use.place.begin; });
  return after != uses.begin() && std::prev(after)->place.touches(offset) ? &*std::prev(after) : nullptr;
}

void SymbolTable::addUses(const std::map<TextSpan, TextSpan> &declaredPlaces) {
  std::map<TextSpan, size_t> numbers;
  for (size_t i = 0; i < symbols.size(); ++i)
    numbers.emplace(symbols[i].place, i);
  for (const auto &[use, declared] : declaredPlaces)
    if (auto symbol = numbers.find(declared); symbol != numbers.end())
      addUse({use, symbol->second, ""});
  sortUses();
}

std::vector<const Symbol *> SymbolTable::visibleAt(uint32_t offset) const {
  std::map<std::string_view, const Symbol *> visible;
  for (const Symbol &symbol : symbols) {
    if (symbol.scope.size() == 0 || !symbol.scope.touches(offset))
      continue;
    // The symbol whose scope begins last hides the others.
    const Symbol *&known = visible[symbol.name];
    if (!known || known->scope.begin <= symbol.scope.begin)
      known = &symbol;
  }
  std::vector<const Symbol *> result;
  for (const auto &[name, symbol] : visible)
    result.push_back(symbol);
  return result;
}

} // namespace spmdc
