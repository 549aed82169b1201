//===- AstPrinter.h - prints the syntax tree --------------------*- C++ -*-===//
#pragma once

#include "frontend/syntax/Ast.h"

#include <string>

namespace spmdc {

/// The program as the parser understood it: one declaration or statement on each line, after its `line:column`, with
/// expressions in prefix form: `5:3 return (call relu (@ x y))`. The output of `--emit=ast`.
std::string printAst(const Ast &ast);

/// One expression, or one type in the language's syntax.
std::string printExpr(const Expr &expr);
std::string printType(const TypeSyntax &type);

} // namespace spmdc
