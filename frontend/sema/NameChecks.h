//===- NameChecks.h - repeated and unused names -----------------*- C++ -*-===//
//
// Checks that follow from the tree alone. Unknown names depend on calls and values: the Emitter reports them
// (EmitNames.cpp).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/sema/SymbolTable.h"
#include "frontend/syntax/Diagnostics.h"

namespace spmdc {

/// Reports each name that is declared twice in one list of declarations. A `let` may repeat a name.
void reportDuplicateNames(const Ast &program, Diagnostics &diagnostics);

/// Warns of each `let` and each parameter of the program that is never read, once at its declaration, for any number of
/// calls of its function. Names that begin with `_` are meant to be unused; counters and carries of loops may be.
void warnOfUnusedNames(const Ast &program, const SymbolTable &table, Diagnostics &warnings);

} // namespace spmdc
