//===- NameChecks.cpp - repeated and unused names -------------------------===//

#include "frontend/sema/NameChecks.h"

namespace spmdc {

static const Identifier &nameOf(const Identifier &name) { return name; }
template <typename Decl> static const Identifier &nameOf(const Decl &decl) { return decl.name; }

template <typename Decls>
static void reportRepeated(const Decls &decls, std::string_view what, Diagnostics &diagnostics) {
  std::map<std::string_view, Range> seen;
  for (const auto &decl : decls) {
    const Identifier &name = nameOf(decl);
    if (auto [first, isNew] = seen.emplace(name.text, name.range); !isNew)
      diagnostics.error(name.range, std::string(what) + " '" + std::string(name.text) + "' is declared twice")
          .note(first->second, "first here");
  }
}

void reportDuplicateNames(const Ast &program, Diagnostics &diagnostics) {
  reportRepeated(program.consts, "const", diagnostics);
  reportRepeated(program.structs, "struct", diagnostics);
  reportRepeated(program.functions, "function", diagnostics);
  for (const StructDecl &decl : program.structs) {
    reportRepeated(decl.fields, "field", diagnostics);
    reportRepeated(decl.generics, "generic size", diagnostics);
  }
  for (const FnDecl &fn : program.functions) {
    reportRepeated(fn.params, "parameter", diagnostics);
    reportRepeated(fn.generics, "generic size", diagnostics);
  }
  // The parser reports a second mesh.
  if (!program.meshes.empty())
    reportRepeated(program.meshes.front().axes, "axis", diagnostics);
  reportRepeated(program.budget, "budget", diagnostics);
}

/// The declaration of a counter or carry is its name, that of a `let` begins with the keyword.
static bool isLet(const Symbol &symbol) {
  return symbol.kind == SymbolKind::Variable && symbol.declaration.begin != symbol.place.begin;
}

void warnOfUnusedNames(const Ast &program, const SymbolTable &table, Diagnostics &warnings) {
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
