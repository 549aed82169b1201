//===- SpellingTest.cpp - the nearest name --------------------------------===//

#include "runtime/support/Spelling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

using spmd::editDistance;
using spmd::nearestSpelling;

namespace {

TEST(Spelling, Distance) {
  EXPECT_EQ(editDistance("", ""), 0u);
  EXPECT_EQ(editDistance("", "abc"), 3u);
  EXPECT_EQ(editDistance("steps", "step"), 1u);
  EXPECT_EQ(editDistance("setps", "steps"), 1u); // Neighbours swapped.
  EXPECT_EQ(editDistance("kitten", "sitting"), 3u);
}

/// The definition, by recursion over the last letters.
size_t plainDistance(const std::string &a, const std::string &b) {
  if (a.empty() || b.empty())
    return a.size() + b.size();
  std::string shortA = a.substr(0, a.size() - 1), shortB = b.substr(0, b.size() - 1);
  size_t best = std::min({plainDistance(shortA, b) + 1, plainDistance(a, shortB) + 1,
                          plainDistance(shortA, shortB) + (a.back() != b.back())});
  if (a.size() > 1 && b.size() > 1 && a.back() == b[b.size() - 2] && a[a.size() - 2] == b.back())
    best = std::min(best, plainDistance(a.substr(0, a.size() - 2), b.substr(0, b.size() - 2)) + 1);
  return best;
}

TEST(Spelling, DistanceIsTheDefinition) {
  std::vector<std::string> words = {""};
  for (size_t i = 0; i < words.size() && words[i].size() < 3; ++i)
    for (char c : {'a', 'b', 'c'})
      words.push_back(words[i] + c);
  for (const std::string &a : words)
    for (const std::string &b : words)
      EXPECT_EQ(editDistance(a, b), plainDistance(a, b)) << a << " " << b;
}

TEST(Spelling, Nearest) {
  std::vector<std::string_view> names = {"steps", "step", "mesh", "set"};
  EXPECT_EQ(nearestSpelling("stesp", names), "steps");
  EXPECT_EQ(nearestSpelling("mehs", names), "mesh");
  EXPECT_EQ(nearestSpelling("stems", names), "steps");
  EXPECT_EQ(nearestSpelling("Steps_", names), "steps");
  EXPECT_EQ(nearestSpelling("profile", names), "");
  EXPECT_EQ(nearestSpelling("sat", {"set"}), ""); // Short names that differ mean different things.
  EXPECT_EQ(nearestSpelling("s", names), "");
  EXPECT_EQ(nearestSpelling("ste", names), "step"); // The first of two equally near names.
}

TEST(Spelling, DidYouMean) {
  std::vector<std::string> names = {"x", "p.w", "p.layer.bias"};
  EXPECT_EQ(spmd::didYouMean("p['w']", names), "; did you mean 'p.w'?");
  EXPECT_EQ(spmd::didYouMean("p.layer.bais", names), "; did you mean 'p.layer.bias'?");
  EXPECT_EQ(spmd::didYouMean("y", names), "");
}

} // namespace
