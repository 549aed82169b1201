//===- SyntaxTestHelper.h - parses and inspects a text ----------*- C++ -*-===//
#pragma once

#include "frontend/syntax/AstPrinter.h"
#include "frontend/syntax/Parser.h"

#include <string>
#include <vector>

namespace spmdc::testing {

/// `line:column: message` of each error, in order; notes follow as `  line:column: message`.
inline std::vector<std::string> errorLines(const Diagnostics &diagnostics) {
  auto place = [](const Range &range) {
    LineColumn at = range.start();
    return std::to_string(at.line) + ":" + std::to_string(at.column) + ": ";
  };
  std::vector<std::string> lines;
  for (const Diagnostic &error : diagnostics.getErrors()) {
    lines.push_back(place(error.where) + error.message);
    for (const DiagnosticNote &note : error.notes)
      lines.push_back("  " + place(note.where) + note.message);
  }
  return lines;
}

struct Parsed {
  Diagnostics diagnostics;
  std::unique_ptr<Ast> ast;
  explicit Parsed(std::string text) { ast = parse(diagnostics.addSource("t.spmd", std::move(text)), diagnostics); }
  std::vector<std::string> errors() const { return errorLines(diagnostics); }
  std::string print() const { return printAst(*ast); }
};

/// The prefix form of one expression, or the first error.
inline std::string expression(const std::string &text) {
  Parsed parsed("fn f() { return " + text + "; }");
  if (parsed.diagnostics.hasErrors())
    return parsed.errors().front();
  return printExpr(*parsed.ast->functions.at(0).body.statements.at(0)->value);
}

} // namespace spmdc::testing
