//===- TerminalTextTest.cpp - untrusted text on a terminal ----------------===//

#include "runtime/support/TerminalText.h"

#include <gmock/gmock.h>

#include <random>

using spmd::escapeControls;

namespace {

TEST(TerminalText, WhatIsTextStays) {
  for (const char *text : {"", "host-7", "a\n  b\tc\n", "na\u00efve \u65e5\u672c \U0001F600", "\\x1b"})
    EXPECT_EQ(escapeControls(text), text);
}

TEST(TerminalText, WhatATerminalObeysIsShown) {
  EXPECT_EQ(escapeControls("\x1b[2J\x1b]0;title\x07"), "\\x1b[2J\\x1b]0;title\\x07");
  EXPECT_EQ(escapeControls("all well\rspoiled\b\x7f"), "all well\\x0dspoiled\\x08\\x7f");
  EXPECT_EQ(escapeControls(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(escapeControls("\u009b2J"), "\\u{9b}2J"); // The same as ESC [ on terminals that interpret C1.
  EXPECT_EQ(escapeControls("a\u202eb\u2066\u2028"), "a\\u{202e}b\\u{2066}\\u{2028}");
}

TEST(TerminalText, BytesThatAreNoUtf8AreShown) {
  EXPECT_EQ(escapeControls("\x9b"
                           "2J"),
            "\\x9b2J");
  EXPECT_EQ(escapeControls("\xc0\x9b"), "\\xc0\\x9b");          // Not the shortest form.
  EXPECT_EQ(escapeControls("\xe0\x82\x9b"), "\\xe0\\x82\\x9b"); // Nor this one.
  EXPECT_EQ(escapeControls("\xed\xa0\x80"), "\\xed\\xa0\\x80"); // A surrogate.
  EXPECT_EQ(escapeControls("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(escapeControls("end\xe6\x97"), "end\\xe6\\x97");
}

TEST(TerminalText, NothingHarmfulComesThroughAndASecondTimeChangesNothing) {
  std::mt19937 random(4711);
  for (int i = 0; i != 2000; ++i) {
    std::string text;
    for (int j = 0; j != 30; ++j)
      text += static_cast<char>(random() % 3 ? random() % 256 : 0x80 + random() % 64);
    std::string once = escapeControls(text);
    EXPECT_EQ(escapeControls(once), once);
    for (char c : once)
      EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') << text;
  }
}

} // namespace
