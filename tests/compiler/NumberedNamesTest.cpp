#include "compiler/inspection/NumberedNames.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <set>

using Names = std::vector<std::pair<std::string, std::string>>;

namespace {

/// The joined names with their texts.
Names joinNumbered(const Names &names, size_t fewest = 2) {
  Names result;
  for (const auto &[name, first] : spmdc::joinNumbered(names, fewest))
    result.emplace_back(name, names[first].second);
  return result;
}

TEST(NumberedNames, NamesThatDifferInOneNumberAreOne) {
  EXPECT_EQ(joinNumbered({{"p[0]['w']", "P()"}, {"p[1]['w']", "P()"}, {"p[2]['w']", "P()"}}),
            (Names{{"p[{0..2}]['w']", "P()"}}));
  EXPECT_EQ(
      joinNumbered(
          {{"p[0]", "P()"}, {"p[1]", "P()"}, {"p[4]", "P()"}, {"p[10]", "P()"}, {"p[11]", "P()"}, {"p[12]", "P()"}}),
      (Names{{"p[{0,1,4,10..12}]", "P()"}}));
}

TEST(NumberedNames, EqualTextIsNeeded) {
  Names names = {{"p[0]['w']", "P('a')"}, {"p[1]['w']", "P('b')"}, {"p[1]['v']", "P('a')"}, {"p", "P('a')"}};
  EXPECT_EQ(joinNumbered(names), names);
}

TEST(NumberedNames, SeveralNumbersAreJoinedOneAfterTheOther) {
  Names names;
  for (const char *stage : {"0", "1", "2"})
    for (const char *block : {"0", "1", "2", "3"})
      names.emplace_back(std::string("stage_") + stage + ".block_" + block, "P()");
  EXPECT_EQ(joinNumbered(names), (Names{{"stage_{0..2}.block_{0..3}", "P()"}}));
  names.pop_back();
  EXPECT_EQ(joinNumbered(names), (Names{{"stage_{0..2}.block_{0..2}", "P()"}, {"stage_{0,1}.block_3", "P()"}}));
}

TEST(NumberedNames, TheOrderIsThatOfTheFirstNames) {
  EXPECT_EQ(joinNumbered({{"b1", "x"}, {"a", "x"}, {"b0", "x"}}), (Names{{"b{0,1}", "x"}, {"a", "x"}}));
}

TEST(NumberedNames, FewerNamesRemain) {
  Names names = {{"a0", "x"}, {"b0", "x"}, {"a1", "x"}, {"b1", "x"}, {"b2", "x"}};
  EXPECT_EQ(joinNumbered(names, 3), (Names{{"a0", "x"}, {"b{0..2}", "x"}, {"a1", "x"}}));
  EXPECT_EQ(joinNumbered(names, 4), names);
}

TEST(NumberedNames, LongNumbersRemain) {
  Names names = {{"h12345678901", "x"}, {"h12345678902", "x"}};
  EXPECT_EQ(joinNumbered(names), names);
  EXPECT_EQ(joinNumbered({}), Names());
}

TEST(NumberedNames, LeadingZerosRemain) {
  EXPECT_EQ(joinNumbered({{"w08", "x"}, {"w09", "x"}, {"w10", "x"}, {"w11", "x"}}), (Names{{"w{08..11}", "x"}}));
  // 1 and 01 are two numbers, and so are 100 and 0100.
  EXPECT_EQ(joinNumbered({{"w1", "x"}, {"w01", "x"}, {"w2", "x"}, {"w02", "x"}, {"w100", "x"}}),
            (Names{{"w{1,2,100}", "x"}, {"w{01,02}", "x"}}));
}

/// The names that `text` stands for, as a shell expands it.
std::set<std::string> expand(const std::string &text) {
  size_t open = text.find('{');
  if (open == std::string::npos)
    return {text};
  size_t close = text.find('}', open);
  std::set<std::string> result;
  for (size_t at = open + 1; at < close;) {
    size_t end = std::min(text.find(',', at), close);
    std::string range = text.substr(at, end - at);
    size_t dots = range.find("..");
    int first = std::stoi(range), last = dots == std::string::npos ? first : std::stoi(range.substr(dots + 2));
    size_t digits = range[0] == '0' ? std::min(dots, range.size()) : 0;
    for (int i = first; i <= last; ++i) {
      std::string number = std::to_string(i);
      number.insert(0, digits - std::min(digits, number.size()), '0');
      result.merge(expand(text.substr(0, open) + number + text.substr(close + 1)));
    }
    at = end + 1;
  }
  return result;
}

TEST(NumberedNames, StandForTheNamesThatWereJoined) {
  std::mt19937 random(20261130);
  for (int round = 0; round < 200; ++round) {
    std::set<std::pair<std::string, std::string>> names, expanded;
    for (int i = 0; i < 12; ++i)
      names.emplace("s" + std::to_string(random() % 3) +
                        (round % 2      ? ".b"
                         : random() % 2 ? ".b0"
                                        : ".b00") +
                        std::to_string(random() % 12),
                    random() % 4 ? "x" : "y");
    size_t lines = 0, count = 0;
    for (const auto &[name, text] : joinNumbered(Names(names.begin(), names.end()))) {
      ++lines;
      for (const std::string &one : expand(name)) {
        ++count;
        expanded.emplace(one, text);
      }
    }
    EXPECT_EQ(expanded, names) << "round " << round;
    EXPECT_EQ(count, names.size()) << "a name is in two lines, round " << round;
    EXPECT_LE(lines, names.size());
  }
}

} // namespace
