//===- Lexer.h - from text to tokens ----------------------------*- C++ -*-===//
#pragma once

#include "frontend/syntax/Diagnostics.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spmdc {

enum class TokenKind : uint8_t {
  End,
  Identifier,
  Integer,
  Float,
  String,
  Bytes, ///< `64MiB`.
  // Keywords.
  Mesh,
  Const,
  Struct,
  Fn,
  Let,
  Return,
  For,
  While,
  In,
  Carry,
  Yield,
  If,
  Else,
  True,
  False,
  // Punctuation and operators.
  LeftParen,
  RightParen,
  LeftBracket,
  RightBracket,
  LeftBrace,
  RightBrace,
  Comma,
  Semicolon,
  Colon,
  Question,
  Dot,
  DotDot,
  Ellipsis,
  Arrow,
  Assign,
  Plus,
  Minus,
  Star,
  StarStar,
  Slash,
  Percent,
  At,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  EqualEqual,
  NotEqual,
  ShiftLeft,
  ShiftRight,
  And,
  AndAnd,
  Or,
  OrOr,
  Caret,
  Not,
};

struct Token {
  TokenKind kind = TokenKind::End;
  uint32_t begin = 0;
  uint32_t end = 0;
};

/// All tokens of a source; the last one is `End`. Text that is not a token is reported (invalid UTF-8, NUL bytes, open
/// strings, malformed numbers, stray characters) and skipped.
std::vector<Token> lex(const Source &source, Diagnostics &diagnostics);

/// `mesh`, `const` and all other reserved words.
std::vector<std::string_view> keywordNames();

/// A kind of token in messages: `';'`, `identifier`.
std::string_view describe(TokenKind kind);

/// The value of a string token, escapes (`\n \t \" \\`) resolved. `token` includes the quotes.
std::string stringValue(std::string_view token);

} // namespace spmdc
