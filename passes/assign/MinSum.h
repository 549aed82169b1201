//===- MinSum.h - the least of a sum of functions ---------------*- C++ -*-===//
//
// Variables that have few values each, and functions of few of them each: which values make the sum of all functions
// least? One variable after the other is eliminated: the functions in which it occurs are added up, and of its values
// the best for all others is kept (dynamic programming over a graph; Dechter, "Bucket elimination", 1999). Along a
// chain or a tree that takes as long as the functions are large.
//
// Where the sum of the functions of a variable has too many numbers, they are added up in groups, of which each has the
// variable take the value that it wants (mini-buckets; Dechter and Rish, 2003). Then the least is a bound that no
// values go below, and the values that are found are good ones.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace spmdc {

class MinSum {
public:
  /// A variable with the values 0, 1, ... below `size`, which is at least 1; returns its number.
  unsigned addVariable(unsigned size);

  enum class Kind {
    Plain,
    Weighted, ///< Counts as often as the terms say.
    Held,     ///< The same, of its own.
    Optional, ///< Counts if the terms say so.
  };
  /// A function of different variables: its values for all of theirs, those of the last variable next to one another.
  /// Not negative; may be infinite.
  void add(llvm::ArrayRef<unsigned> variables, std::vector<double> values, Kind kind = Kind::Plain);

  struct Terms {
    double weight = 1, held = 0; ///< Not negative.
    bool hasOptional = true;
  };

  struct Solution {
    std::vector<unsigned> values; ///< By variable.
    double bound = 0;             ///< No values make the sum less.
    bool isExact = true;          ///< The sum of these values is the bound.
  };
  /// Makes no table of more numbers than that, unless a function has more. Of equal sums the first in the order of
  /// values.
  Solution solve(size_t mostNumbers, Terms terms) const;

  /// The sum of all functions.
  double evaluate(llvm::ArrayRef<unsigned> values, Terms terms) const;

private:
  struct Function {
    llvm::SmallVector<unsigned, 4> variables;
    std::vector<double> values;
    Kind kind = Kind::Plain;
  };
  class Elimination;

  static double weightOf(const Function &function, const Terms &terms);

  double valueOf(const Function &function, llvm::ArrayRef<unsigned> values) const;

  std::vector<unsigned> sizes;
  std::vector<Function> functions;
};

} // namespace spmdc
