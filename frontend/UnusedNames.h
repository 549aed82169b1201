//===- UnusedNames.h - names that a program declares and does not use -----===//
#pragma once

#include "frontend/SymbolTable.h"
#include "frontend/syntax/Diagnostics.h"

namespace spmdc {

/// Warns of each `let` and each parameter of the program that is never read, once at its declaration, for any number of
/// calls of its function. Names that begin with `_` are meant to be unused; counters and carries of loops may be.
void warnOfUnusedNames(const Ast &program, const Ast &prelude, Diagnostics &warnings);

} // namespace spmdc
