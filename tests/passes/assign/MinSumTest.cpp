//===- MinSumTest.cpp - MinSum against brute force on random sums ---------===//

#include "passes/assign/MinSum.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <limits>
#include <map>
#include <random>

using namespace spmdc;

namespace {

constexpr size_t kAnyNumbers = std::numeric_limits<size_t>::max();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Problem {
  MinSum sum;
  std::vector<unsigned> sizes;
};

/// Integers, so that sums in any order are equal. `repeats`: variables of one size, and functions of few different
/// tables, as equal layers of a network have.
Problem makeProblem(std::mt19937 &random, bool repeats = false) {
  Problem problem;
  unsigned count = 1 + random() % 7, sizeOfAll = 2 + random() % 2;
  std::map<size_t, std::vector<std::vector<double>>> known; // By their number of values.
  for (unsigned i = 0; i < count; ++i) {
    problem.sizes.push_back(repeats ? sizeOfAll : 1 + random() % 4);
    EXPECT_EQ(problem.sum.addVariable(problem.sizes.back()), i);
  }
  for (unsigned f = random() % 10; f > 0; --f) {
    std::vector<unsigned> variables(count);
    for (unsigned i = 0; i < count; ++i)
      variables[i] = i;
    std::shuffle(variables.begin(), variables.end(), random);
    variables.resize(random() % std::min(4U, count + 1));
    size_t numbers = 1;
    for (unsigned variable : variables)
      numbers *= problem.sizes[variable];
    std::vector<double> values(numbers);
    for (double &value : values)
      value = random() % 20 == 0 ? kInfinity : random() % 50;
    std::vector<std::vector<double>> &alike = known[numbers];
    if (repeats && alike.size() == 2)
      values = alike[random() % alike.size()];
    else
      alike.push_back(values);
    auto kinds = {MinSum::Kind::Plain, MinSum::Kind::Weighted, MinSum::Kind::Held, MinSum::Kind::Optional};
    problem.sum.add(variables, std::move(values), kinds.begin()[random() % 4]);
  }
  return problem;
}

double findLeast(const Problem &problem, MinSum::Terms terms) {
  std::vector<unsigned> values(problem.sizes.size(), 0);
  double least = kInfinity;
  while (true) {
    least = std::min(least, problem.sum.evaluate(values, terms));
    size_t i = 0;
    while (i < values.size() && ++values[i] == problem.sizes[i])
      values[i++] = 0;
    if (i == values.size())
      return least;
  }
}

// For chains, trees and cycles of functions.
TEST(MinSum, IsExactWhereTablesFit) {
  for (unsigned seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Problem problem = makeProblem(random, /*repeats=*/seed % 2);
    for (MinSum::Terms terms :
         {MinSum::Terms{}, {.weight = 3, .held = 2}, {.weight = 2, .held = 1, .hasOptional = false}}) {
      MinSum::Solution solution = problem.sum.solve(kAnyNumbers, terms);
      EXPECT_TRUE(solution.isExact);
      EXPECT_EQ(solution.bound, findLeast(problem, terms));
      EXPECT_EQ(problem.sum.evaluate(solution.values, terms), solution.bound);
    }
  }
}

// With tables that are too small, the result is a lower bound, and `isExact` is false.
TEST(MinSum, IsABoundWithSmallTables) {
  unsigned inexact = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Problem problem = makeProblem(random, /*repeats=*/seed % 2);
    MinSum::Solution solution = problem.sum.solve(/*mostNumbers=*/12, {});
    double least = findLeast(problem, {});
    EXPECT_LE(solution.bound, least);
    EXPECT_GE(problem.sum.evaluate(solution.values, {}), least);
    if (solution.isExact)
      EXPECT_EQ(solution.bound, least);
    inexact += !solution.isExact;
  }
  EXPECT_GT(inexact, 100U);
}

TEST(MinSum, TheFirstOfEqualValuesIsTaken) {
  MinSum sum;
  sum.addVariable(3);
  sum.addVariable(1);
  sum.add({0}, {5, 2, 2});
  EXPECT_EQ(sum.solve(kAnyNumbers, {}).values, (std::vector<unsigned>{1, 0}));
}

TEST(MinSum, NothingToChoose) {
  MinSum sum;
  EXPECT_EQ(sum.solve(kAnyNumbers, {}).bound, 0);
  sum.add({}, {7});
  EXPECT_EQ(sum.solve(kAnyNumbers, {}).bound, 7);
  EXPECT_TRUE(sum.solve(kAnyNumbers, {}).values.empty());
}

// A long chain in which only the last function decides between values.
TEST(MinSum, AlongAChain) {
  MinSum sum;
  constexpr unsigned kLength = 2000;
  for (unsigned i = 0; i < kLength; ++i) {
    sum.addVariable(2);
    if (i > 0)
      sum.add({i - 1, i}, {0, 1, 1, 0});
    sum.add({i}, {0, 0.0001});
  }
  sum.add({kLength - 1}, {1000, 0});
  MinSum::Solution solution = sum.solve(/*mostNumbers=*/16, {});
  EXPECT_TRUE(solution.isExact);
  EXPECT_EQ(solution.values, std::vector<unsigned>(kLength, 1));
}

} // namespace
