//===- NameResolution.h - what the names of a program refer to --*- C++ -*-===//
//
// The rules of scopes and the order of lookup. SymbolResolver resolves each name of the program and of the prelude
// once, from the tree alone; the Emitter asks for the result at every evaluation, and editors use the same result as a
// SymbolTable.
//
// A name is identified by the address of its letters in the text, both where it is declared and where it is used.
//
// The value `x` is the last name declared before it in the innermost scope that has one, else a const, else a dtype,
// else a struct. A called name is a parameter whose value is a function, else a function of the program, else one of
// the prelude, else an operation. The prelude sees its own functions and operations only.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/sema/SymbolTable.h"

#include <deque>
#include <unordered_map>

namespace spmdc {

struct Builtin;

/// A parameter, generic size, `let`, counter or carry.
struct LocalName {
  std::string_view name;               ///< Where it is declared.
  size_t symbol = 0;                   ///< Its number in the SymbolTable.
  bool mayBeFunction = false;          ///< A parameter without a type.
  unsigned depth = 0;                  ///< The number of scopes around it.
  const LocalName *previous = nullptr; ///< Declared before it and visible there.
};

/// The meaning of a name where a value is expected.
enum class ValueNameKind : uint8_t { Local, Const, DType, None, Struct, Broken, Function, Unknown };
/// The meaning of a called name, unless its value is a function. Broken: its declaration has a syntax error.
enum class CalledNameKind : uint8_t { Broken, Function, Transform, Operation, Unknown };

/// All that a name may refer to at one place; the place decides between a value and a function.
struct NameUse {
  const LocalName *local = nullptr;
  const ConstDecl *constant = nullptr;
  const StructDecl *structDecl = nullptr;
  const FnDecl *fn = nullptr; ///< Of the program or the prelude.
  bool isPrelude = false;     ///< `fn` is one of the prelude.
  const Builtin *builtin = nullptr;
  bool isTransform = false; ///< grad, value_and_grad, checkpoint.
  bool isDType = false, isNone = false, isBroken = false;
  const LocalName *visible = nullptr; ///< The last visible local name.

  ValueNameKind asValue() const;
  CalledNameKind asCalled() const;
  /// The visible local names, innermost scope first, by name within a scope, and the last declaration of a name first.
  std::vector<const LocalName *> visibleLocals() const;
};

class NameResolution {
public:
  /// Nested expressions need the front end's stack (BigStack.h).
  NameResolution(const Ast &program, const Ast &prelude);
  NameResolution(const NameResolution &) = delete;
  NameResolution &operator=(const NameResolution &) = delete;

  /// The use at this place of the text: the name of an expression, of a struct's type or of a struct literal.
  const NameUse &at(std::string_view name) const;
  /// The program's consts; the first of several with one name.
  const std::map<std::string_view, const ConstDecl *> &getConsts() const { return consts; }
  /// The program's names, for editors and warnings.
  const SymbolTable &getTable() const { return table; }

private:
  friend class SymbolResolver;

  SymbolTable table;
  std::map<std::string_view, const ConstDecl *> consts;
  std::deque<LocalName> locals;
  std::unordered_map<const char *, NameUse> uses;
};

} // namespace spmdc
