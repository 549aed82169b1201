//===- Lexer.cpp - from text to tokens ------------------------------------===//

#include "frontend/syntax/Lexer.h"

#include <algorithm>
#include <array>
#include <utility>

namespace spmdc {

namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isNamePart(char c) { return isNameStart(c) || isDigit(c); }

bool isByteUnit(std::string_view name) {
  static constexpr std::string_view units[] = {"B", "KiB", "MiB", "GiB", "TiB", "KB", "MB", "GB", "TB"};
  return std::find(std::begin(units), std::end(units), name) != std::end(units);
}

constexpr std::pair<std::string_view, TokenKind> keywords[] = {
    {"mesh", TokenKind::Mesh},   {"const", TokenKind::Const}, {"struct", TokenKind::Struct},
    {"fn", TokenKind::Fn},       {"let", TokenKind::Let},     {"return", TokenKind::Return},
    {"for", TokenKind::For},     {"while", TokenKind::While}, {"in", TokenKind::In},
    {"carry", TokenKind::Carry}, {"yield", TokenKind::Yield}, {"if", TokenKind::If},
    {"else", TokenKind::Else},   {"true", TokenKind::True},   {"false", TokenKind::False}};

/// Longest first where one begins with another.
constexpr std::pair<std::string_view, TokenKind> operators[] = {
    {"...", TokenKind::Ellipsis},   {"..", TokenKind::DotDot},    {"->", TokenKind::Arrow},
    {"**", TokenKind::StarStar},    {"<=", TokenKind::LessEqual}, {">=", TokenKind::GreaterEqual},
    {"==", TokenKind::EqualEqual},  {"!=", TokenKind::NotEqual},  {"<<", TokenKind::ShiftLeft},
    {">>", TokenKind::ShiftRight},  {"&&", TokenKind::AndAnd},    {"||", TokenKind::OrOr},
    {"(", TokenKind::LeftParen},    {")", TokenKind::RightParen}, {"[", TokenKind::LeftBracket},
    {"]", TokenKind::RightBracket}, {"{", TokenKind::LeftBrace},  {"}", TokenKind::RightBrace},
    {",", TokenKind::Comma},        {";", TokenKind::Semicolon},  {":", TokenKind::Colon},
    {"?", TokenKind::Question},     {".", TokenKind::Dot},        {"=", TokenKind::Assign},
    {"+", TokenKind::Plus},         {"-", TokenKind::Minus},      {"*", TokenKind::Star},
    {"/", TokenKind::Slash},        {"%", TokenKind::Percent},    {"@", TokenKind::At},
    {"<", TokenKind::Less},         {">", TokenKind::Greater},    {"&", TokenKind::And},
    {"|", TokenKind::Or},           {"^", TokenKind::Caret},      {"!", TokenKind::Not}};

class Lexer {
public:
  Lexer(const Source &source, Diagnostics &diagnostics)
      : source(source), text(source.getText()), diagnostics(diagnostics) {}

  std::vector<Token> run() {
    while (skipBlanks(), position < text.size())
      lexToken();
    uint32_t end = text.size();
    tokens.push_back({TokenKind::End, end, end});
    return std::move(tokens);
  }

private:
  char peek(uint32_t ahead = 0) const { return position + ahead < text.size() ? text[position + ahead] : '\0'; }

  void error(uint32_t begin, std::string message) { diagnostics.error({&source, begin, position}, std::move(message)); }

  void add(TokenKind kind, uint32_t begin) { tokens.push_back({kind, begin, position}); }

  void skipBlanks() {
    while (position < text.size()) {
      char c = text[position];
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
        ++position;
      else if (c == '/' && peek(1) == '/')
        skipComment();
      else
        return;
    }
  }

  void skipComment() {
    while (position < text.size() && text[position] != '\n') {
      size_t length = utf8Length(text.substr(position));
      if (length == 0 || text[position] == '\0')
        lexStray();
      else
        position += length;
    }
  }

  void lexToken() {
    uint32_t begin = position;
    char c = peek();
    if (isNameStart(c))
      return lexName(begin);
    if (isDigit(c))
      return lexNumber(begin);
    if (c == '"')
      return lexString(begin);
    if (c == '/' && peek(1) == '*')
      return lexBlockComment(begin);
    for (auto [spelling, kind] : operators)
      if (c == spelling[0] && text.substr(position, spelling.size()) == spelling) {
        position += spelling.size();
        return add(kind, begin);
      }
    lexStray();
  }

  void lexName(uint32_t begin) {
    while (position < text.size() && isNamePart(text[position]))
      ++position;
    std::string_view name = text.substr(begin, position - begin);
    for (auto [spelling, kind] : keywords)
      if (name == spelling)
        return add(kind, begin);
    add(name == "inf" || name == "nan" ? TokenKind::Float : TokenKind::Identifier, begin);
  }

  void skipDigits() {
    while (isDigit(peek()))
      ++position;
  }

  void lexNumber(uint32_t begin) {
    TokenKind kind = TokenKind::Integer;
    skipDigits();
    // `0..8` is a range, and `x.0` is never a float: a point is part of a number only before a digit.
    if (peek() == '.' && isDigit(peek(1))) {
      kind = TokenKind::Float;
      ++position;
      skipDigits();
    }
    if (peek() == 'e' || peek() == 'E') {
      uint32_t sign = peek(1) == '+' || peek(1) == '-';
      if (isDigit(peek(1 + sign))) {
        kind = TokenKind::Float;
        position += 1 + sign;
        skipDigits();
      }
    }
    if (isNameStart(peek())) {
      uint32_t suffix = position;
      while (isNamePart(peek()))
        ++position;
      if (isByteUnit(text.substr(suffix, position - suffix)))
        kind = TokenKind::Bytes;
      else
        error(begin, "malformed number '" + shortened(begin) + "'");
    } else if (kind == TokenKind::Integer && peek() == '.' && peek(1) != '.' && !isNameStart(peek(1))) {
      ++position;
      error(begin, "a digit is missing after the point: write '" + shortened(begin) + "0'");
    }
    add(kind, begin);
  }

  std::string shortened(uint32_t begin) const {
    std::string_view word = text.substr(begin, position - begin);
    return word.size() <= 40 ? std::string(word) : std::string(word.substr(0, 37)) + "...";
  }

  void lexString(uint32_t begin) {
    ++position;
    while (position < text.size() && text[position] != '"' && text[position] != '\n') {
      if (text[position] == '\\') {
        char escaped = peek(1);
        if (escaped != 'n' && escaped != 't' && escaped != '"' && escaped != '\\') {
          uint32_t at = position++;
          error(at, R"(unknown escape; a string may hold \n, \t, \" and \\)");
          continue;
        }
        position += 2;
        continue;
      }
      size_t length = utf8Length(text.substr(position));
      if (length == 0 || text[position] == '\0')
        lexStray();
      else
        position += length;
    }
    if (peek() == '"')
      ++position;
    else
      error(begin, "the string is not closed on its line");
    add(TokenKind::String, begin);
  }

  /// Consumes a single-quoted string after the quote at `begin`, so that its text causes no further errors.
  void lexSingleQuoted(uint32_t begin) {
    error(begin, "a string is written in double quotes");
    size_t close = text.find_first_of("'\n", position);
    if (close == std::string_view::npos || text[close] == '\n')
      return;
    while (text[position] != '\'') {
      size_t length = utf8Length(text.substr(position));
      if (length == 0 || text[position] == '\0')
        lexStray();
      else
        position += length;
    }
    ++position;
    add(TokenKind::String, begin);
  }

  /// A block comment of other languages is an error, and skipped.
  void lexBlockComment(uint32_t begin) {
    position += 2;
    error(begin, "a comment begins with '//' and ends at the end of its line");
    // Remembers a failed search: many comments in a large text must not each search to its end.
    size_t close = mayCloseComment ? text.find("*/", position) : std::string_view::npos;
    mayCloseComment = close != std::string_view::npos;
    if (!mayCloseComment)
      return skipComment();
    while (position < close) {
      size_t length = utf8Length(text.substr(position));
      if (length == 0 || text[position] == '\0')
        lexStray();
      else
        position += length;
    }
    position = close + 2;
  }

  /// Consumes a run of bytes that are not text, or one character that begins no token.
  void lexStray() {
    uint32_t begin = position;
    if (text[position] == '\0') {
      while (position < text.size() && text[position] == '\0')
        ++position;
      return error(begin, "NUL byte in the text");
    }
    size_t length = utf8Length(text.substr(position));
    if (length == 0) {
      while (position < text.size() && utf8Length(text.substr(position)) == 0)
        ++position;
      return error(begin, "invalid UTF-8");
    }
    position += length;
    if (static_cast<unsigned char>(text[begin]) < 0x20 || text[begin] == 0x7F)
      return error(begin, "control character in the text");
    if (text[begin] == '#') {
      error(begin, "a comment begins with '//'");
      return skipComment();
    }
    if (text[begin] == '\'')
      return lexSingleQuoted(begin);
    error(begin, "unexpected character '" + std::string(text.substr(begin, length)) + "'");
  }

  const Source &source;
  std::string_view text;
  Diagnostics &diagnostics;
  uint32_t position = 0;
  bool mayCloseComment = true; ///< False where no `*/` follows.
  std::vector<Token> tokens;
};

} // namespace

std::vector<Token> lex(const Source &source, Diagnostics &diagnostics) { return Lexer(source, diagnostics).run(); }

std::vector<std::string_view> keywordNames() {
  std::vector<std::string_view> names;
  for (auto [spelling, kind] : keywords)
    names.push_back(spelling);
  return names;
}

std::string_view describe(TokenKind kind) {
  switch (kind) {
  case TokenKind::End:
    return "end of file";
  case TokenKind::Identifier:
    return "identifier";
  case TokenKind::Integer:
    return "integer";
  case TokenKind::Float:
    return "number";
  case TokenKind::String:
    return "string";
  case TokenKind::Bytes:
    return "number of bytes";
  default:
    break;
  }
  // Quoted spellings of keywords and operators, in the order of the enumeration.
  static constexpr std::string_view quoted[] = {
      "'mesh'", "'const'", "'struct'", "'fn'",    "'let'", "'return'", "'for'", "'while'", "'in'", "'carry'", "'yield'",
      "'if'",   "'else'",  "'true'",   "'false'", "'('",   "')'",      "'['",   "']'",     "'{'",  "'}'",     "','",
      "';'",    "':'",     "'?'",      "'.'",     "'..'",  "'...'",    "'->'",  "'='",     "'+'",  "'-'",     "'*'",
      "'**'",   "'/'",     "'%'",      "'@'",     "'<'",   "'<='",     "'>'",   "'>='",    "'=='", "'!='",    "'<<'",
      "'>>'",   "'&'",     "'&&'",     "'|'",     "'||'",  "'^'",      "'!'"};
  static_assert(std::size(quoted) == size_t(TokenKind::Not) - size_t(TokenKind::Mesh) + 1);
  return quoted[size_t(kind) - size_t(TokenKind::Mesh)];
}

std::string stringValue(std::string_view token) {
  std::string value;
  for (size_t i = 1; i + 1 < token.size(); ++i) {
    if (token[i] != '\\') {
      value += token[i];
      continue;
    }
    char escaped = token[++i];
    value += escaped == 'n' ? '\n' : escaped == 't' ? '\t' : escaped;
  }
  return value;
}

} // namespace spmdc
