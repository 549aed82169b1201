//===- DiagnosticsTest.cpp - the format of errors -------------------------===//

#include "frontend/syntax/Diagnostics.h"

#include <gtest/gtest.h>

using namespace spmdc;

namespace {

// The line and a caret under the place; notes in the same form.
TEST(Diagnostics, lineCaretAndNote) {
  Diagnostics diagnostics;
  const Source &source = diagnostics.addSource("t.spmd", "let a = 1;\n\tlet b = foo;\n");
  diagnostics.error({&source, 20, 23}, "unknown name 'foo'").note({&source, 4, 5}, "a name is here");
  EXPECT_EQ(diagnostics.str(), "t.spmd:2:10: error: unknown name 'foo'\n"
                               "\tlet b = foo;\n"
                               "\t        ^~~\n"
                               "t.spmd:1:5: note: a name is here\n"
                               "let a = 1;\n"
                               "    ^\n");
}

// Errors come in the order of the text, independently of the order of detection; duplicates are dropped.
TEST(Diagnostics, orderAndRepetition) {
  Diagnostics diagnostics;
  const Source &source = diagnostics.addSource("t.spmd", "abc");
  diagnostics.error({&source, 2, 3}, "second");
  diagnostics.error({&source, 0, 1}, "first");
  diagnostics.error({&source, 2, 3}, "second");
  ASSERT_EQ(diagnostics.getErrors().size(), 2u);
  EXPECT_EQ(diagnostics.getErrors()[0].message, "first");
}

// Characters that a terminal must not show are replaced, one character for one, so that the caret stays right.
TEST(Diagnostics, bytesThatAreNoText) {
  Diagnostics diagnostics;
  const Source &source = diagnostics.addSource("t.spmd", std::string("\x1b\xff\0x", 4));
  diagnostics.error({&source, 3, 4}, "here");
  EXPECT_EQ(diagnostics.str(), "t.spmd:1:4: error: here\n\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDx\n   ^\n");
}

// A message may quote the program: invalid bytes and control characters in the quotation are replaced.
TEST(Diagnostics, quotedBytesThatAreNoText) {
  Diagnostics diagnostics;
  const Source &source = diagnostics.addSource("f", "text");
  diagnostics.error({&source, 0, 4}, "found '\xCE \x1B[31m \xC3\xA9'").note({&source, 1, 2}, "here \x07");
  const Diagnostic error = diagnostics.getErrors().at(0);
  EXPECT_EQ(error.message, "found '\xEF\xBF\xBD \xEF\xBF\xBD[31m \xC3\xA9'");
  EXPECT_EQ(error.notes.at(0).message, "here \xEF\xBF\xBD");
}

TEST(Diagnostics, endOfFile) {
  Diagnostics diagnostics;
  const Source &source = diagnostics.addSource("t.spmd", "ab\n");
  diagnostics.error({&source, 3, 3}, "expected more");
  EXPECT_EQ(diagnostics.str(), "t.spmd:2:1: error: expected more\n\n^\n");
}

// Only the surroundings of an error in a long line are shown.
TEST(Diagnostics, longLine) {
  Diagnostics diagnostics;
  const Source &source = diagnostics.addSource("t.spmd", std::string(5000, 'x') + "!" + std::string(5000, 'y'));
  diagnostics.error({&source, 5000, 5001}, "here");
  EXPECT_EQ(diagnostics.str(), "t.spmd:1:5001: error: here\n..." + std::string(80, 'x') + "!" + std::string(79, 'y') +
                                   "...\n" + std::string(83, ' ') + "^\n");
}

TEST(Diagnostics, garbageIsBounded) {
  Diagnostics diagnostics;
  const Source &source = diagnostics.addSource("t.spmd", std::string(1000, '$'));
  for (uint32_t i = 0; i < 1000; ++i)
    diagnostics.error({&source, i, i + 1}, "no");
  EXPECT_EQ(diagnostics.getErrors().size(), Diagnostics::maxErrors);
  EXPECT_NE(diagnostics.str().find("800 more errors are not shown\n"), std::string::npos);
}

} // namespace
