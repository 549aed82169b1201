//===- UnusedNames.cpp - warns of unused names ----------------------------===//

#include "frontend/UnusedNames.h"

namespace spmdc {

/// The declaration of a counter or carry is its name, that of a `let` begins with the keyword.
static bool isLet(const Symbol &symbol) {
  return symbol.kind == SymbolKind::Variable && symbol.declaration.begin != symbol.place.begin;
}

void warnOfUnusedNames(const Ast &program, const Ast &prelude, Diagnostics &warnings) {
  SymbolTable table(program, prelude);
  const std::vector<Symbol> &symbols = table.getSymbols();
  // A named argument of a call is not a use of the parameter: only uses in its scope count.
  std::vector<bool> isUsed(symbols.size());
  for (const SymbolUse &use : table.getUses())
    if (use.symbol && symbols[*use.symbol].scope.contains(use.place.begin))
      isUsed[*use.symbol] = true;
  for (size_t i = 0; i < symbols.size(); ++i) {
    const Symbol &symbol = symbols[i];
    bool isParameter = symbol.kind == SymbolKind::Parameter;
    if (isUsed[i] || symbol.name.starts_with("_") || !(isParameter || isLet(symbol)))
      continue;
    std::string name = "'" + symbol.name + "'";
    std::string what = isParameter ? "parameter " + name + " of '" + symbols[*symbol.parent].name + "'" : name;
    warnings.error({program.source, symbol.place.begin, symbol.place.end},
                   what + " is not used; call it '_" + symbol.name + "' if it is meant to be unused");
  }
}

} // namespace spmdc
