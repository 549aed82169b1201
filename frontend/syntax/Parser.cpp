//===- Parser.cpp - tokens, recovery and the top of the grammar -----------===//

#include "frontend/syntax/BigStack.h"
#include "frontend/syntax/ParserImpl.h"

#include <algorithm>
#include <charconv>

namespace spmdc {

/// Those of runtime/support/DType.h, in its order, which a test compares: syntax does not depend on the runtime.
const std::vector<std::string_view> &dtypeNames() {
  static const std::vector<std::string_view> names = {"f64", "f32", "bf16", "f16", "i64", "i32",  "i16",
                                                      "i8",  "u64", "u32",  "u16", "u8",  "bool", "key"};
  return names;
}

bool isDTypeName(std::string_view name) {
  return std::find(dtypeNames().begin(), dtypeNames().end(), name) != dtypeNames().end();
}

std::unique_ptr<Ast> parse(const Source &source, Diagnostics &diagnostics) {
  std::unique_ptr<Ast> ast;
  runOnBigStack([&] { ast = Parser(source, diagnostics).run(); });
  return ast;
}

std::string Parser::found() const {
  if (at(TokenKind::End))
    return "end of file";
  std::string_view text = textOf(peek());
  if (text.size() > 40)
    return "'" + std::string(text.substr(0, std::min(text.find('\n'), size_t(37)))) + "...'";
  return "'" + std::string(text) + "'";
}

Diagnostic &Parser::report(Range where, std::string message) {
  Diagnostic &error = diagnostics.error(where, std::move(message));
  // Text after `//` that ends like code was probably not meant as a comment.
  if (next == 0)
    return error;
  uint32_t begin = tokens[next - 1].end;
  std::string_view between = source.getText().substr(begin, peek().begin - begin);
  between = between.substr(0, between.find('\n'));
  size_t slashes = between.find_first_not_of(" \t"), last = between.find_last_not_of(" \t\r");
  bool isCode = slashes != between.npos && between.substr(slashes, 2) == "//" && last > slashes + 1 &&
                std::string_view(";)]},").find(between[last]) != std::string_view::npos;
  if (isCode) {
    auto at = static_cast<uint32_t>(begin + slashes);
    error.note({&source, at, at + 2}, "'//' begins a comment; floor_divide(x, y) rounds a quotient down");
  }
  return error;
}

void Parser::fail(Range where, std::string message) {
  report(where, std::move(message));
  throw SyntaxError();
}

void Parser::failExpected(std::string_view what) {
  fail(here(), "expected " + std::string(what) + ", found " + found());
}

/// Reports operators of other languages at the end of an expression.
void Parser::refuseForeignOperator() {
  std::string_view text = textOf(peek());
  constexpr std::string_view choice =
      "write 'if c { x } else { y }' for one condition, and where(c, x, y) for one in each element";
  if (at(TokenKind::Identifier) && (text == "and" || text == "or"))
    fail(here(), "'" + std::string(text) + "' is written '" + (text == "and" ? "&&" : "||") + "'");
  if (at(TokenKind::Identifier) && text == "as")
    fail(here(), "cast(x, f32) changes a dtype");
  bool isOnItsLine = next > 0 && source.position(tokens[next - 1].end).line == here().start().line;
  if (at(TokenKind::Question) || (at(TokenKind::If) && isOnItsLine))
    fail(here(), std::string(choice));
}

void Parser::expect(TokenKind kind, std::string_view where) {
  if (!accept(kind))
    failExpected(std::string(describe(kind)) + " " + std::string(where));
}

Identifier Parser::expectIdentifier(std::string_view what) {
  if (!at(TokenKind::Identifier)) {
    if (peek().kind >= TokenKind::Mesh && peek().kind <= TokenKind::False)
      fail(here(), "expected " + std::string(what) + ", but " + found() + " is a keyword");
    failExpected(what);
  }
  const Token &token = take();
  return {textOf(token), rangeOf(token)};
}

std::optional<int64_t> Parser::integerValue(const Token &token) {
  std::string_view text = textOf(token);
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc::result_out_of_range)
    return value;
  diagnostics.error(rangeOf(token), "the integer does not fit in 64 bits");
  return std::nullopt;
}

std::unique_ptr<Ast> Parser::run() {
  while (!at(TokenKind::End)) {
    bool isMesh = at(TokenKind::Mesh);
    std::string_view name = peek(1).kind == TokenKind::Identifier ? textOf(peek(1)) : "";
    try {
      declaration();
    } catch (const SyntaxError &) {
      ast->hasBrokenMesh |= isMesh;
      ast->brokenNames.push_back(name);
      skipToDeclaration();
    }
  }
  return std::move(ast);
}

/// `mesh`, `const`, `struct` and `fn` are keywords that only begin declarations.
void Parser::skipToDeclaration() {
  while (!at(TokenKind::End) && !at(TokenKind::Mesh) && !at(TokenKind::Const) && !at(TokenKind::Struct) &&
         !at(TokenKind::Fn))
    take();
}

/// Skips to after the next `;` of this block, or to a token that ends the block or cannot be in it.
void Parser::skipStatement() {
  unsigned braces = 0;
  while (true) {
    switch (peek().kind) {
    case TokenKind::End:
    case TokenKind::Mesh:
    case TokenKind::Const:
    case TokenKind::Struct:
    case TokenKind::Fn:
      return;
    case TokenKind::LeftBrace:
      ++braces;
      break;
    case TokenKind::RightBrace:
      if (braces == 0)
        return;
      --braces;
      break;
    case TokenKind::Semicolon:
      if (braces == 0) {
        take();
        return;
      }
      break;
    case TokenKind::Let:
    case TokenKind::Return:
      if (braces == 0)
        return;
      break;
    default:
      break;
    }
    take();
  }
}

} // namespace spmdc
