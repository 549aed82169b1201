//===- SymbolTable.h - names of a program and their uses --------*- C++ -*-===//
//
// Every name that a program declares, and every use of it, by the scopes of the language. The table follows from the
// tree alone: no expression is evaluated, so functions without calls, and code next to an error, have their names too.
// ProgramIndex adds what depends on types (the struct of a field).
//
// Source ranges are byte ranges of the program's text. The table owns its data.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/syntax/Ast.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spmdc {

/// Bytes [begin, end) of the program.
struct TextSpan {
  uint32_t begin = 0, end = 0;

  bool contains(uint32_t offset) const { return begin <= offset && offset < end; }
  /// Includes the end, for a cursor after a word.
  bool touches(uint32_t offset) const { return begin <= offset && offset <= end; }
  uint32_t size() const { return end - begin; }
  auto operator<=>(const TextSpan &) const = default;
};

inline TextSpan spanOf(const Range &range) { return {range.begin, range.end}; }

enum class SymbolKind : uint8_t { Mesh, Axis, Const, Struct, Field, Function, Parameter, GenericSize, Variable };

struct Symbol {
  SymbolKind kind;
  std::string name;
  TextSpan place;                              ///< The name where it is declared.
  TextSpan declaration;                        ///< The full declaration: `const N = 8`, a function's head, `x: f32[8]`.
  TextSpan scope;                              ///< Where the plain name refers to it; empty for fields and axes.
  std::optional<size_t> parent = std::nullopt; ///< The struct, function or mesh that it is part of.
  TextSpan body = {};                          ///< Body of a function.
};

/// An occurrence of a name in the text. Its declaration is a use, too.
struct SymbolUse {
  TextSpan place;
  std::optional<size_t> symbol; ///< Nullopt for a function that the program does not declare.
  std::string operation;        ///< If `symbol` is nullopt: the function of the prelude or of Builtins.h.
};

class SymbolTable {
public:
  SymbolTable() = default;
  SymbolTable(const Ast &program, const Ast &prelude);

  const std::vector<Symbol> &getSymbols() const { return symbols; }
  /// The uses in text order.
  const std::vector<SymbolUse> &getUses() const { return uses; }
  /// The name at a byte offset, or the one that ends there; null if there is none.
  const SymbolUse *findUse(uint32_t offset) const;
  /// The symbols that plain names may refer to at a byte offset; only the innermost of several with one name.
  std::vector<const Symbol *> visibleAt(uint32_t offset) const;

  size_t add(Symbol symbol);
  void addUse(SymbolUse use) { uses.push_back(std::move(use)); }
  /// Adds uses of the symbols declared in these ranges; ignores ranges without a declaration.
  void addUses(const std::map<TextSpan, TextSpan> &declaredPlaces);
  /// Sorts the uses by their places, and drops repeated ones. To be called after the last addUse.
  void sortUses();

private:
  std::vector<Symbol> symbols;
  std::vector<SymbolUse> uses;
};

} // namespace spmdc
