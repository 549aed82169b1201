//===- MinSum.h - minimizes a sum of functions ------------------*- C++ -*-===//
//
// Given variables with few values each, and functions of few variables each, MinSum finds values that minimize the sum
// of all functions. It eliminates one variable after the other: it adds up the functions that contain the variable,
// and keeps the minimum over its values for all values of the others (dynamic programming over a graph; Dechter,
// "Bucket elimination", 1999). Along a chain or a tree the time is linear in the size of the functions.
//
// If the sum of a variable's functions has too many entries, they are added up in groups, and each group minimizes over
// the variable separately (mini-buckets; Dechter and Rish, 2003). Then the minimum is a lower bound, and the values
// that are found are good, but not always optimal.
//
// The layers of a network give equal functions of other variables. Functions of equal values share one table, so that
// equality of tables is equality of pointers, and equal sums are minimized once.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <memory>
#include <unordered_set>
#include <vector>

namespace spmdc {

/// A minimization problem: variables and functions are added, then `solve` may be called for different terms.
class MinSum {
public:
  /// A variable with the values 0, 1, ... below `size`, which is at least 1; returns its number.
  unsigned addVariable(unsigned size);

  enum class Kind {
    Plain,
    Weighted, ///< Multiplied by `Terms::weight`.
    Held,     ///< Multiplied by `Terms::held`.
    Optional, ///< Counts only with `Terms::hasOptional`.
  };
  /// The values of a function, those of the last variable contiguous. They are not negative and may be infinite.
  using Table = std::shared_ptr<const std::vector<double>>;
  /// The table of these values: one for all equal values of this problem.
  Table share(std::vector<double> values);

  /// Adds a function of distinct variables.
  void addTable(llvm::ArrayRef<unsigned> variables, Table values, Kind kind = Kind::Plain);
  void add(llvm::ArrayRef<unsigned> variables, std::vector<double> values, Kind kind = Kind::Plain) {
    addTable(variables, share(std::move(values)), kind);
  }

  struct Terms {
    double weight = 1, held = 0; ///< Not negative.
    bool hasOptional = true;
  };

  struct Solution {
    std::vector<unsigned> values; ///< By variable.
    double bound = 0;             ///< A lower bound on the sum for any values.
    bool isExact = true;          ///< Whether the sum of these values equals the bound.
  };
  /// Makes no table of more than `maxEntries` entries, unless a function has more. Among equal sums it returns the
  /// first in the order of values.
  Solution solve(size_t maxEntries, Terms terms) const;

  /// The sum of all functions.
  double evaluate(llvm::ArrayRef<unsigned> values, Terms terms) const;

private:
  struct Function {
    llvm::SmallVector<unsigned, 4> variables;
    Table values;
    Kind kind = Kind::Plain;
  };
  class Elimination;

  struct HashOfValues {
    size_t operator()(const Table &table) const;
  };
  struct HasEqualValues {
    bool operator()(const Table &one, const Table &other) const { return *one == *other; }
  };

  static double weightOf(const Function &function, const Terms &terms);

  double valueOf(const Function &function, llvm::ArrayRef<unsigned> values) const;

  std::vector<unsigned> sizes;
  std::vector<Function> functions;
  std::unordered_set<Table, HashOfValues, HasEqualValues> tables; ///< All that are shared. Not iterated.
};

} // namespace spmdc
