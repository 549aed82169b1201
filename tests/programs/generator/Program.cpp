//===- Program.cpp - a random program as data -----------------------------===//

#include "tests/programs/generator/Program.h"

#include "llvm/ADT/STLExtras.h"

#include <cctype>
#include <set>

namespace spmdc {

std::vector<int> variablesIn(const std::string &expression) {
  std::vector<int> used;
  for (size_t at = expression.find('$'); at != std::string::npos; at = expression.find('$', at + 1))
    used.push_back(std::stoi(expression.substr(at + 1)));
  return used;
}

std::string Program::nameOf(int variable) const {
  for (auto [i, parameter] : llvm::enumerate(parameters))
    if (parameter.variable == variable)
      return "x" + std::to_string(i);
  return "v" + std::to_string(variable);
}

void Program::removeStatement(size_t index) {
  statements.erase(statements.begin() + static_cast<std::ptrdiff_t>(index));
  for (Helper &helper : helpers) {
    helper.begin -= helper.begin > index;
    helper.end -= helper.end > index;
  }
  llvm::erase_if(helpers, [](const Helper &helper) { return helper.begin == helper.end; });
}

void Program::removeUnused() {
  std::set<int> needed;
  for (const ProgramResult &result : results)
    needed.insert(result.variable);
  for (size_t i = statements.size(); i-- > 0;) {
    if (llvm::none_of(statements[i].results, [&](int variable) { return needed.count(variable); })) {
      removeStatement(i);
      continue;
    }
    for (int variable : variablesIn(statements[i].expression))
      needed.insert(variable);
  }
  llvm::erase_if(parameters, [&](const ProgramParameter &parameter) { return !needed.count(parameter.variable); });
}

} // namespace spmdc
