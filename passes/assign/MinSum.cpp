//===- MinSum.cpp - minimizes a sum of functions --------------------------===//

#include "passes/assign/MinSum.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <set>

namespace spmdc {

/// The least of the numbers. Four minima at once, since each would wait for the one before it.
static double leastOf(llvm::ArrayRef<double> numbers) {
  constexpr size_t kAtOnce = 4;
  std::array<double, kAtOnce> least;
  least.fill(std::numeric_limits<double>::infinity());
  for (; numbers.size() >= kAtOnce; numbers = numbers.drop_front(kAtOnce))
    for (size_t i = 0; i < kAtOnce; ++i)
      least[i] = std::min(least[i], numbers[i]);
  for (double number : numbers)
    least[0] = std::min(least[0], number);
  return *std::min_element(least.begin(), least.end());
}

unsigned MinSum::addVariable(unsigned size) {
  assert(size > 0 && "a variable has a value");
  sizes.push_back(size);
  return static_cast<unsigned>(sizes.size()) - 1;
}

size_t MinSum::HashOfValues::operator()(const Table &table) const {
  // The bytes: numbers that compare equal but have other bytes, 0 and -0, only miss that they are equal.
  return llvm::hash_value(
      llvm::StringRef(reinterpret_cast<const char *>(table->data()), table->size() * sizeof(double)));
}

MinSum::Table MinSum::share(std::vector<double> values) {
  return *tables.insert(std::make_shared<const std::vector<double>>(std::move(values))).first;
}

void MinSum::addTable(llvm::ArrayRef<unsigned> variables, Table values, Kind kind) {
  assert(values->size() == std::accumulate(variables.begin(), variables.end(), size_t(1),
                                           [&](size_t size, unsigned variable) { return size * sizes[variable]; }) &&
         "a value for each combination of the variables' values");
  functions.push_back({llvm::SmallVector<unsigned, 4>(variables), std::move(values), kind});
}

double MinSum::valueOf(const Function &function, llvm::ArrayRef<unsigned> values) const {
  size_t place = 0;
  for (unsigned variable : function.variables)
    place = place * sizes[variable] + values[variable];
  return (*function.values)[place];
}

/// The factor of a function; with 0 it does not count, even if it is infinite.
double MinSum::weightOf(const Function &function, const Terms &terms) {
  switch (function.kind) {
  case Kind::Plain:
    return 1;
  case Kind::Weighted:
    return terms.weight;
  case Kind::Held:
    return terms.held;
  case Kind::Optional:
    return terms.hasOptional ? 1 : 0;
  }
  llvm_unreachable("all kinds are named");
}

double MinSum::evaluate(llvm::ArrayRef<unsigned> values, Terms terms) const {
  double sum = 0;
  for (const Function &function : functions)
    if (double weight = weightOf(function, terms); weight > 0)
      sum += weight * valueOf(function, values);
  return sum;
}

class MinSum::Elimination {
public:
  Elimination(const MinSum &problem, size_t maxEntries, Terms terms)
      : problem(problem), maxEntries(maxEntries), terms(terms) {
    ofVariable.resize(problem.sizes.size());
    buckets.resize(problem.sizes.size());
    for (const Function &function : problem.functions)
      if (weightOf(function) > 0)
        addFunction(&function);
  }

  Solution run() {
    size_t count = problem.sizes.size();
    std::vector<double> numbers(count);
    std::set<std::pair<double, unsigned>> left; // The variable with the smallest table first.
    for (unsigned variable = 0; variable < count; ++variable) {
      numbers[variable] = countNumbers(variable);
      left.insert({numbers[variable], variable});
    }
    std::vector<unsigned> order;
    while (!left.empty()) {
      unsigned next = left.begin()->second;
      left.erase(left.begin());
      order.push_back(next);
      for (unsigned variable : eliminate(next)) {
        left.erase({numbers[variable], variable});
        numbers[variable] = countNumbers(variable);
        left.insert({numbers[variable], variable});
      }
    }
    Solution solution;
    solution.bound = constant;
    solution.isExact = isExact;
    solution.values.assign(count, 0);
    for (unsigned variable : llvm::reverse(order))
      solution.values[variable] = findBest(variable, solution.values);
    return solution;
  }

private:
  using Functions = llvm::SmallVector<const Function *, 4>;

  void addFunction(const Function *function) {
    if (function->variables.empty())
      constant += weightOf(*function) * function->values->front();
    for (unsigned variable : function->variables)
      ofVariable[variable].push_back(function);
  }

  double weightOf(const Function &function) const { return MinSum::weightOf(function, terms); }

  double sizeOf(llvm::ArrayRef<unsigned> variables) const {
    double size = 1;
    for (unsigned variable : variables)
      size *= problem.sizes[variable];
    return size;
  }

  static llvm::SmallSetVector<unsigned, 8> getVariables(llvm::ArrayRef<const Function *> functions) {
    llvm::SmallSetVector<unsigned, 8> variables;
    for (const Function *function : functions)
      variables.insert(function->variables.begin(), function->variables.end());
    return variables;
  }

  /// The number of entries of the sum of all functions of a variable.
  double countNumbers(unsigned variable) const { return sizeOf(getVariables(ofVariable[variable]).getArrayRef()); }

  /// Eliminates a variable, and returns the variables whose functions have changed.
  llvm::SmallSetVector<unsigned, 8> eliminate(unsigned variable) {
    Functions own = ofVariable[variable];
    buckets[variable] = own;
    llvm::SmallSetVector<unsigned, 8> around = getVariables(own);
    around.remove(variable);
    for (unsigned other : around)
      llvm::erase_if(ofVariable[other], [&](const Function *function) { return llvm::is_contained(own, function); });
    std::vector<Functions> groups = group(own);
    isExact &= groups.size() <= 1;
    for (const Functions &members : groups) {
      made.push_back(std::make_unique<Function>(minimize(variable, members)));
      addFunction(made.back().get());
    }
    return around;
  }

  /// Groups the functions, the largest first: each joins the first group that stays small enough.
  std::vector<Functions> group(const Functions &own) const {
    std::multimap<size_t, const Function *, std::greater<>> bySize;
    for (const Function *function : own)
      bySize.emplace(function->values->size(), function);
    std::vector<Functions> groups;
    for (const Function *function : llvm::make_second_range(bySize)) {
      auto fits = [&](Functions members) {
        members.push_back(function);
        return sizeOf(getVariables(members).getArrayRef()) <= static_cast<double>(maxEntries);
      };
      auto found = llvm::find_if(groups, fits);
      if (found == groups.end())
        groups.push_back({function});
      else
        found->push_back(function);
    }
    return groups;
  }

  /// A function's entries, times its weight, with those of `last` contiguous, and the stride of each of the variables.
  struct Arranged {
    std::vector<double> values;
    std::vector<size_t> strides;
  };
  Arranged arrange(const Function &function, unsigned last, llvm::ArrayRef<unsigned> variables) const {
    const double factor = weightOf(function);
    const std::vector<double> &values = *function.values;
    size_t size = problem.sizes[last], after = 1; // `after`: the entries of the variables behind `last`.
    auto place = llvm::find(function.variables, last);
    for (auto behind = std::next(place); behind != function.variables.end(); ++behind)
      after *= problem.sizes[*behind];
    Arranged table{std::vector<double>(values.size()), std::vector<size_t>(variables.size(), 0)};
    double *to = table.values.data();
    for (size_t begin = 0; begin < values.size(); begin += size * after)
      for (size_t row = 0; row < after; ++row)
        for (size_t value = 0; value < size; ++value)
          *to++ = factor * values[begin + value * after + row];
    size_t stride = size;
    for (unsigned variable : llvm::reverse(function.variables)) {
      if (variable == last)
        continue;
      table.strides[static_cast<size_t>(llvm::find(variables, variable) - variables.begin())] = stride;
      stride *= problem.sizes[variable];
    }
    return table;
  }

  /// The minimum of the functions' sum over the variable, as a function of all others. Found once for equal sums: those
  /// of the same tables, in the same order, of variables that are related in the same way.
  Function minimize(unsigned variable, const Functions &members) {
    llvm::SmallSetVector<unsigned, 8> around = getVariables(members);
    around.remove(variable);
    Function result{llvm::SmallVector<unsigned, 4>(around.begin(), around.end()), {}, Kind::Plain};
    std::vector<uintptr_t> key;
    for (const Function *function : members) {
      key.push_back(reinterpret_cast<uintptr_t>(function->values.get()));
      key.push_back(static_cast<uintptr_t>(function->kind));
      key.push_back(function->variables.size());
      for (unsigned other : function->variables) // The eliminated variable comes behind all others.
        key.push_back(static_cast<uintptr_t>(llvm::find(result.variables, other) - result.variables.begin()));
    }
    for (unsigned other : result.variables)
      key.push_back(problem.sizes[other]);
    MinSum::Table &known = minima[std::move(key)];
    if (!known)
      known = std::make_shared<const std::vector<double>>(computeMinimum(variable, members, result.variables));
    result.values = known;
    return result;
  }

  /// The values of `minimize`, a function of the variables `around`.
  std::vector<double> computeMinimum(unsigned variable, const Functions &members,
                                     llvm::ArrayRef<unsigned> around) const {
    llvm::SmallVector<Arranged, 4> tables;
    for (const Function *function : members)
      tables.push_back(arrange(*function, variable, around));
    llvm::SmallVector<const double *, 4> rows; // The row of each table for the current values of the others.
    for (const Arranged &table : tables)
      rows.push_back(table.values.data());
    std::vector<unsigned> at(around.size(), 0);
    std::vector<double> sums(problem.sizes[variable]), values;
    values.reserve(static_cast<size_t>(sizeOf(around)));
    for (bool isMore = true; isMore;) {
      std::copy_n(rows.front(), sums.size(), sums.begin());
      for (const double *row : llvm::drop_begin(rows))
        for (size_t value = 0; value < sums.size(); ++value)
          sums[value] += row[value];
      values.push_back(leastOf(sums));
      // The next values of the others: the last variable first.
      isMore = false;
      for (size_t i = at.size(); i-- > 0 && !isMore;) {
        isMore = ++at[i] < problem.sizes[around[i]];
        for (auto [row, table] : llvm::zip_equal(rows, tables))
          isMore ? row += table.strides[i] : row -= table.strides[i] * (at[i] - 1);
        if (!isMore)
          at[i] = 0;
      }
    }
    return values;
  }

  /// The best value of a variable, given the values of all variables that were eliminated later.
  unsigned findBest(unsigned variable, llvm::ArrayRef<unsigned> values) const {
    std::vector<double> sums(problem.sizes[variable], 0);
    for (const Function *function : buckets[variable]) {
      size_t place = 0, stride = 0; // Of the variable's value 0, and between its values.
      for (unsigned other : function->variables) {
        place = place * problem.sizes[other] + (other == variable ? 0 : values[other]);
        stride = other == variable ? 1 : stride * problem.sizes[other];
      }
      const double factor = weightOf(*function), *entry = function->values->data() + place;
      for (size_t value = 0; value < sums.size(); ++value)
        sums[value] += factor * entry[value * stride];
    }
    return static_cast<unsigned>(std::min_element(sums.begin(), sums.end()) - sums.begin());
  }

  const MinSum &problem;
  const size_t maxEntries;
  const Terms terms;
  std::vector<Functions> ofVariable;
  std::vector<std::unique_ptr<Function>> made;
  std::vector<Functions> buckets; ///< The functions of each variable at its elimination.
  /// The results of computeMinimum, by the members' tables and kinds, the places of their variables in the result, and
  /// its sizes. Pointers to tables that live as long as this object, or as `problem`. Not iterated.
  std::map<std::vector<uintptr_t>, MinSum::Table> minima;
  double constant = 0;
  bool isExact = true;
};

MinSum::Solution MinSum::solve(size_t maxEntries, Terms terms) const {
  return Elimination(*this, maxEntries, terms).run();
}

} // namespace spmdc
