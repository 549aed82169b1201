//===- LexerTest.cpp - from text to tokens --------------------------------===//

#include "frontend/syntax/Lexer.h"
#include "tests/frontend/syntax/SyntaxTestHelper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace spmdc;
using namespace spmdc::testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

namespace {

struct Lexed {
  Diagnostics diagnostics;
  std::vector<std::string> tokens;
  explicit Lexed(std::string text) {
    const Source &source = diagnostics.addSource("t.spmd", std::move(text));
    for (const Token &token : lex(source, diagnostics))
      if (token.kind != TokenKind::End)
        tokens.emplace_back(source.getText().substr(token.begin, token.end - token.begin));
  }
  std::vector<std::string> errors() const { return errorLines(diagnostics); }
};

// The longest operator wins, and blanks are not needed between tokens.
TEST(Lexer, operators) {
  EXPECT_THAT(Lexed("a**-b<=c<<d...e..f->g!=!h||i|j").tokens,
              ElementsAre("a", "**", "-", "b", "<=", "c", "<<", "d", "...", "e", "..", "f", "->", "g", "!=", "!", "h",
                          "||", "i", "|", "j"));
}

// A point belongs to a number only before a digit, so that ranges and fields need no blanks.
TEST(Lexer, numbers) {
  EXPECT_THAT(Lexed("0..8 1.5 1e-5 2.5E+3 7 x.0").tokens,
              ElementsAre("0", "..", "8", "1.5", "1e-5", "2.5E+3", "7", "x", ".", "0"));
  EXPECT_THAT(Lexed("64MiB 1.5GB,2B").tokens, ElementsAre("64MiB", "1.5GB", ",", "2B"));
  EXPECT_THAT(Lexed("64MiBs").errors(), ElementsAre("1:1: malformed number '64MiBs'"));
  EXPECT_THAT(Lexed("1.").errors(), ElementsAre("1:1: a digit is missing after the point: write '1.0'"));
  EXPECT_THAT(Lexed("12ab + 1").errors(), ElementsAre("1:1: malformed number '12ab'"));
}

TEST(Lexer, commentsEndWithTheLine) { EXPECT_THAT(Lexed("a // b \xC3\xA9 \"c\nd//").tokens, ElementsAre("a", "d")); }

TEST(Lexer, strings) {
  EXPECT_EQ(stringValue("\"a\\n\\\"\\\\\""), "a\n\"\\");
  EXPECT_THAT(Lexed("\"bij,bjk->bik\"").errors(), IsEmpty());
  EXPECT_THAT(Lexed("x\n  \"abc\ny").errors(), ElementsAre("2:3: the string is not closed on its line"));
  EXPECT_THAT(Lexed("\"a\\qb\"").errors(),
              ElementsAre("1:3: unknown escape; a string may hold \\n, \\t, \\\" and \\\\"));
}

// Columns count characters, not bytes.
TEST(Lexer, columnsAreCharacters) {
  EXPECT_THAT(Lexed("\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\" $").errors(),
              ElementsAre("1:7: unexpected character '$'"));
  EXPECT_THAT(Lexed("\xC3\xA9").errors(), ElementsAre("1:1: unexpected character '\xC3\xA9'"));
}

// A run of bytes that are not text is reported once, at any position.
TEST(Lexer, bytesThatAreNoText) {
  EXPECT_THAT(Lexed(std::string("a\0\0b", 4)).errors(), ElementsAre("1:2: NUL byte in the text"));
  EXPECT_THAT(Lexed("a \xFF\xFE b // \x80").errors(), ElementsAre("1:3: invalid UTF-8", "1:11: invalid UTF-8"));
  EXPECT_THAT(Lexed("\"\xC0\xAF\"").errors(), ElementsAre("1:2: invalid UTF-8"));
  EXPECT_THAT(Lexed("\xED\xA0\x80").errors(), ElementsAre("1:1: invalid UTF-8"));
  EXPECT_THAT(Lexed("a \x01").errors(), ElementsAre("1:3: control character in the text"));
}

TEST(Lexer, lineEndsOfWindows) {
  EXPECT_THAT(Lexed("a\r\n  $\r\n").errors(), ElementsAre("2:3: unexpected character '$'"));
}

// Lexing, and locating an error at the end, are linear in the length of a line.
TEST(Lexer, aLineOfTenMegabytes) {
  std::string text;
  while (text.size() < (10u << 20))
    text += "abc + ";
  size_t column = text.size() + 1;
  Lexed lexed(text + "$");
  EXPECT_THAT(lexed.errors(), ElementsAre("1:" + std::to_string(column) + ": unexpected character '$'"));
  EXPECT_LT(lexed.diagnostics.str().size(), 600u);
}

} // namespace
