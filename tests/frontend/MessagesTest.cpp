//===- MessagesTest.cpp - the text of every message -----------------------===//
//
// data/messages.txt holds wrong programs with all their messages. A line `program TEXT`, `expr TEXT` (an expression
// over the arguments of errorsOf) or `syntax TEXT` (after a line with a valid `main`) begins a case; then come lines `=
// LINE:COLUMN: MESSAGE` and, indented, those of the notes. check_messages.py fails for a message of the front end that
// is neither in this file nor in another test.
//
//===----------------------------------------------------------------------===//

#include "tests/frontend/FrontendTestHelper.h"

#include <gtest/gtest.h>

#include <fstream>

using namespace spmdc;
using namespace spmdc::testing;

namespace {

struct MessageCase {
  std::string kind, text;
  std::vector<std::string> expected;

  std::vector<std::string> actual() const {
    if (kind == "expr")
      return errorsOf(text);
    return Compiled((kind == "syntax" ? "fn main(z: f32) { return z; }\n" : "") + text).errors();
  }
};

std::vector<MessageCase> readCases() {
  std::ifstream file(SPMDC_SOURCE_DIR "/tests/frontend/data/messages.txt");
  std::vector<MessageCase> cases;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#')
      continue;
    std::string first = line.substr(0, line.find(' '));
    std::string rest = line.substr(std::min(first.size() + 1, line.size()));
    if (first == "=")
      cases.at(cases.size() - 1).expected.push_back(rest);
    else
      cases.push_back({first, rest, {}});
  }
  return cases;
}

TEST(Messages, areAsTheyRead) {
  std::vector<MessageCase> cases = readCases();
  ASSERT_GE(cases.size(), 200u);
  for (const MessageCase &test : cases) {
    SCOPED_TRACE(test.kind + " " + test.text);
    EXPECT_FALSE(test.expected.empty());
    EXPECT_EQ(test.actual(), test.expected);
  }
}

} // namespace
