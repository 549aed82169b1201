//===- SymbolTable.h - what the names of a program stand for ----*- C++ -*-===//
//
// Every name that a program declares, and every place where one is used, by the scopes of the language. It follows from
// the tree alone: nothing is evaluated, so that functions which nobody calls, and what stands beside an error, have
// their names too. What depends on types (which struct a field is of) is added by ProgramIndex.
//
// Places are bytes of the program's text. The table owns all that it says.
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
  /// Also at its end, where a cursor behind a word stands.
  bool touches(uint32_t offset) const { return begin <= offset && offset <= end; }
  uint32_t size() const { return end - begin; }
  auto operator<=>(const TextSpan &) const = default;
};

inline TextSpan spanOf(const Range &range) { return {range.begin, range.end}; }

enum class SymbolKind : uint8_t { Mesh, Axis, Const, Struct, Field, Function, Parameter, GenericSize, Variable };

struct Symbol {
  SymbolKind kind;
  std::string name;
  TextSpan place;       ///< The name where it is declared.
  TextSpan declaration; ///< What says all about it: `const N = 8`, a function's head, `x: f32[8]`.
  TextSpan scope;       ///< Where the name alone stands for it; empty for fields and axes, which need a struct or `@`.
  std::optional<size_t> parent = std::nullopt; ///< The struct, function or mesh that it is part of.
  TextSpan body = {};                          ///< Of a function.
};

/// A name in the text. Where it is declared is a use too.
struct SymbolUse {
  TextSpan place;
  std::optional<size_t> symbol; ///< None for a function that the program does not declare:
  std::string operation;        ///< one of the prelude or of the table of operations.
};

class SymbolTable {
public:
  SymbolTable() = default;
  SymbolTable(const Ast &program, const Ast &prelude);

  const std::vector<Symbol> &getSymbols() const { return symbols; }
  /// In the order of the text.
  const std::vector<SymbolUse> &getUses() const { return uses; }
  /// The name at a place, or the one that ends there; null where there is none.
  const SymbolUse *findUse(uint32_t offset) const;
  /// What a name alone may stand for at a place; of several with one name the innermost.
  std::vector<const Symbol *> visibleAt(uint32_t offset) const;

  size_t add(Symbol symbol);
  void addUse(SymbolUse use) { uses.push_back(std::move(use)); }
  /// More uses, each of what is declared at a place; for places where nothing is declared none.
  void addUses(const std::map<TextSpan, TextSpan> &declaredPlaces);

private:
  void sort();

  std::vector<Symbol> symbols;
  std::vector<SymbolUse> uses;
};

} // namespace spmdc
