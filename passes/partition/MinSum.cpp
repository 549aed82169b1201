//===- MinSum.cpp - the least of a sum of functions -----------------------===//

#include "passes/partition/MinSum.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/ErrorHandling.h"

#include <cassert>
#include <limits>
#include <map>
#include <memory>

namespace spmdc {

unsigned MinSum::addVariable(unsigned size) {
  assert(size > 0 && "a variable has a value");
  sizes.push_back(size);
  return static_cast<unsigned>(sizes.size()) - 1;
}

void MinSum::add(llvm::ArrayRef<unsigned> variables, std::vector<double> values, Kind kind) {
  functions.push_back({llvm::SmallVector<unsigned, 4>(variables), std::move(values), kind});
}

double MinSum::valueOf(const Function &function, llvm::ArrayRef<unsigned> values) const {
  size_t place = 0;
  for (unsigned variable : function.variables)
    place = place * sizes[variable] + values[variable];
  return function.values[place];
}

/// How often a function counts; 0: not at all, whatever it says.
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
  Elimination(const MinSum &problem, size_t mostNumbers, Terms terms)
      : problem(problem), mostNumbers(mostNumbers), terms(terms) {
    ofVariable.resize(problem.sizes.size());
    buckets.resize(problem.sizes.size());
    for (const Function &function : problem.functions)
      if (weightOf(function) > 0)
        addFunction(&function);
  }

  Solution run() {
    size_t count = problem.sizes.size();
    std::vector<bool> isDone(count, false);
    std::vector<double> numbers(count);
    for (unsigned variable = 0; variable < count; ++variable)
      numbers[variable] = countNumbers(variable);
    std::vector<unsigned> order;
    while (order.size() < count) {
      unsigned next = 0;
      double least = std::numeric_limits<double>::infinity();
      for (unsigned variable = 0; variable < count; ++variable)
        if (!isDone[variable] && numbers[variable] < least) {
          least = numbers[variable];
          next = variable;
        }
      if (isDone[next]) // All tables would be beyond any number.
        next = static_cast<unsigned>(llvm::find(isDone, false) - isDone.begin());
      isDone[next] = true;
      order.push_back(next);
      llvm::SmallSetVector<unsigned, 8> changed = eliminate(next);
      for (unsigned variable : changed)
        numbers[variable] = countNumbers(variable);
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
      constant += weightOf(*function) * function->values.front();
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

  /// Of the sum of all functions of a variable.
  double countNumbers(unsigned variable) const { return sizeOf(getVariables(ofVariable[variable]).getArrayRef()); }

  /// Returns the variables whose functions are others now.
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

  /// Largest first, each to the first group that it does not make too large.
  std::vector<Functions> group(const Functions &own) const {
    std::multimap<size_t, const Function *, std::greater<>> bySize;
    for (const Function *function : own)
      bySize.emplace(function->values.size(), function);
    std::vector<Functions> groups;
    for (const Function *function : llvm::make_second_range(bySize)) {
      auto fits = [&](Functions members) {
        members.push_back(function);
        return sizeOf(getVariables(members).getArrayRef()) <= static_cast<double>(mostNumbers);
      };
      auto found = llvm::find_if(groups, fits);
      if (found == groups.end())
        groups.push_back({function});
      else
        found->push_back(function);
    }
    return groups;
  }

  /// The sum of the functions where the variable takes its best value, as a function of all others.
  Function minimize(unsigned variable, const Functions &members) const {
    llvm::SmallSetVector<unsigned, 8> around = getVariables(members);
    around.remove(variable);
    Function result{llvm::SmallVector<unsigned, 4>(around.begin(), around.end()), {}, Kind::Plain};
    // How far each step of a variable, this one last, goes in the table of each function.
    llvm::SmallVector<unsigned, 8> all(around.begin(), around.end());
    all.push_back(variable);
    std::vector<std::vector<size_t>> strides;
    for (const Function *function : members) {
      std::vector<size_t> &own = strides.emplace_back(all.size(), 0);
      size_t stride = 1;
      for (unsigned other : llvm::reverse(function->variables)) {
        own[static_cast<size_t>(llvm::find(all, other) - all.begin())] = stride;
        stride *= problem.sizes[other];
      }
    }
    std::vector<size_t> places(members.size(), 0);
    std::vector<unsigned> at(around.size(), 0);
    result.values.reserve(static_cast<size_t>(sizeOf(result.variables)));
    for (bool isMore = true; isMore;) {
      double best = std::numeric_limits<double>::infinity();
      for (unsigned value = 0; value < problem.sizes[variable]; ++value) {
        double sum = 0;
        for (size_t f = 0; f < members.size(); ++f)
          sum += weightOf(*members[f]) * members[f]->values[places[f] + value * strides[f].back()];
        best = std::min(best, sum);
      }
      result.values.push_back(best);
      // The next place: the last variable first.
      isMore = false;
      for (size_t i = around.size(); i-- > 0 && !isMore;) {
        isMore = ++at[i] < problem.sizes[all[i]];
        for (size_t f = 0; f < members.size(); ++f)
          isMore ? places[f] += strides[f][i] : places[f] -= strides[f][i] * (at[i] - 1);
        if (!isMore)
          at[i] = 0;
      }
    }
    return result;
  }

  /// For the values of all variables that were eliminated later.
  unsigned findBest(unsigned variable, std::vector<unsigned> &values) const {
    unsigned best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (unsigned value = 0; value < problem.sizes[variable]; ++value) {
      values[variable] = value;
      double sum = 0;
      for (const Function *function : buckets[variable])
        sum += weightOf(*function) * problem.valueOf(*function, values);
      if (sum < least) {
        least = sum;
        best = value;
      }
    }
    return best;
  }

  const MinSum &problem;
  const size_t mostNumbers;
  const Terms terms;
  std::vector<Functions> ofVariable;
  std::vector<std::unique_ptr<Function>> made;
  std::vector<Functions> buckets; ///< Of each variable that is eliminated, its functions then.
  double constant = 0;
  bool isExact = true;
};

MinSum::Solution MinSum::solve(size_t mostNumbers, Terms terms) const {
  return Elimination(*this, mostNumbers, terms).run();
}

} // namespace spmdc
