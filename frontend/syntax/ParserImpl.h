//===- ParserImpl.h - the parser's state and rules --------------*- C++ -*-===//
//
// A recursive descent with precedence climbing. A rule that cannot continue reports the error and throws SyntaxError,
// which only the loops over statements and declarations catch: they skip to the next one. The rules are in
// ParseDecls.cpp, ParseTypes.cpp and ParseExprs.cpp.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/syntax/Lexer.h"
#include "frontend/syntax/Parser.h"

#include <algorithm>
#include <set>

namespace spmdc {

/// Unwinds to the nearest rule that can recover; the error is already reported.
struct SyntaxError {};

class Parser {
public:
  Parser(const Source &source, Diagnostics &diagnostics)
      : source(source), diagnostics(diagnostics), tokens(lex(source, diagnostics)), ast(std::make_unique<Ast>()) {
    ast->source = &source;
    findStructs();
  }

  std::unique_ptr<Ast> run();

private:
  // Tokens.
  const Token &peek(size_t ahead = 0) const { return tokens[std::min(next + ahead, tokens.size() - 1)]; }
  bool at(TokenKind kind) const { return peek().kind == kind; }
  const Token &take() { return tokens[next + 1 < tokens.size() ? next++ : next]; }
  bool accept(TokenKind kind) {
    if (!at(kind))
      return false;
    take();
    return true;
  }
  Range rangeOf(const Token &token) const { return {&source, token.begin, token.end}; }
  Range here() const { return rangeOf(peek()); }
  /// From a token's beginning to the end of the last token taken.
  Range since(uint32_t begin) const {
    return {&source, begin, std::max(begin, next > 0 ? tokens[next - 1].end : begin)};
  }
  std::string_view textOf(const Token &token) const {
    return source.getText().substr(token.begin, token.end - token.begin);
  }
  /// The next token in messages: `'x'`, `end of file`.
  std::string found() const;

  /// Records an error at the next token, or before it.
  Diagnostic &report(Range where, std::string message);
  [[noreturn]] void fail(Range where, std::string message);
  [[noreturn]] void failExpected(std::string_view what);
  void expect(TokenKind kind, std::string_view where);
  Identifier expectIdentifier(std::string_view what);
  std::optional<int64_t> integerValue(const Token &token);

  /// Parses items up to the closing token, separated by commas; a trailing comma is allowed.
  template <typename Item> void commaList(TokenKind close, std::string_view where, Item item) {
    while (!at(close)) {
      item();
      if (!accept(TokenKind::Comma))
        break;
    }
    if (!accept(close))
      failExpected("',' or " + std::string(describe(close)) + " " + std::string(where));
  }

  /// Counts one level of nesting while it lives.
  class Nested {
  public:
    Nested(Parser &parser, unsigned levels = 1) : parser(parser), levels(levels) {
      if ((parser.depth += levels) > maxNesting) {
        parser.depth -= levels;
        parser.fail(parser.here(), "nesting is deeper than 1000 levels");
      }
    }
    ~Nested() { parser.depth -= levels; }

  private:
    Parser &parser;
    unsigned levels;
  };
  friend class Nested;

  // Declarations and statements.
  void declaration();
  void meshDecl();
  void constDecl();
  /// `budget` is not a keyword: it is a name except at the beginning of a declaration.
  bool atBudget() const { return at(TokenKind::Identifier) && textOf(peek()) == "budget"; }
  void budgetDecl();
  void structDecl();
  std::vector<Identifier> genericSizes();
  void fnDecl();
  void nestedDeclaration();
  ParamDecl param();
  void skipToDeclaration();
  void skipStatement();

  /// The kind of a block decides which statements it may have.
  enum class BlockKind { Function, Loop, Branch };
  Block block(BlockKind kind);
  void statement(Block &block);
  void endStatement();
  void checkBlockEnd(const Block &block, BlockKind kind);
  Pattern pattern();

  // Types.
  TypeSyntax *type();
  void findStructs();
  void arrayDims(TypeSyntax &type);
  DimShardingSyntax dimSharding();

  // Expressions.
  Expr *expression() {
    Expr *result = binary(0, false);
    refuseForeignOperator();
    return result;
  }
  void refuseForeignOperator();
  static constexpr unsigned sizePrecedence = 8; ///< `+`: operators that bind tighter than shifts and comparisons.
  Expr *binary(unsigned minPrecedence, bool inDimension);
  Expr *unary();
  Expr *power();
  Expr *postfix();
  Expr *primary();
  Expr *number();
  Expr *parenthesised();
  Expr *list();
  Expr *partition();
  Expr *structLiteral();
  Expr *call(Expr *callee);
  Expr *index(Expr *base);
  Expr *indexItem();
  Expr *ifExpr();
  Expr *forExpr();
  Expr *whileExpr();
  std::vector<Carry> carries();

  // A dtype's or a struct's name may also be bound as a variable, after which `key[0]` indexes.
  void bind(std::string_view name) {
    if (isDTypeName(name) || structNames.count(name))
      boundTypes.push_back(name);
  }
  bool isBound(std::string_view name) const {
    return std::find(boundTypes.begin(), boundTypes.end(), name) != boundTypes.end();
  }
  bool atType() const;

  const Source &source;
  Diagnostics &diagnostics;
  std::vector<Token> tokens;
  size_t next = 0;
  unsigned depth = 0;
  std::unique_ptr<Ast> ast;
  std::vector<std::string_view> boundTypes;
  std::set<std::string_view> structNames;
};

} // namespace spmdc
