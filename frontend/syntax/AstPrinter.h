//===- AstPrinter.h - the tree as text --------------------------*- C++ -*-===//
#pragma once

#include "frontend/syntax/Ast.h"

#include <string>

namespace spmdc {

/// The program as the parser understood it: one declaration or statement a line, behind its `line:column`, expressions
/// in prefix form with every grouping explicit: `5:3 return (call relu (@ x y))`. What `--emit=ast` prints.
std::string printAst(const Ast &ast);

/// One expression, or one type the way the language writes it.
std::string printExpr(const Expr &expr);
std::string printType(const TypeSyntax &type);

} // namespace spmdc
