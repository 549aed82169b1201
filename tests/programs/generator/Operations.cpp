//===- Operations.cpp - the operations of the generator -------------------===//

#include "tests/programs/generator/Operations.h"

namespace spmdc {

const std::vector<Operation> &allOperations() {
  static const std::vector<Operation> operations = [] {
    std::vector<Operation> all;
    for (auto &table : {elementwiseOperations(), arithmeticOperations(), selectionOperations(), reductionOperations(),
                        shapeOperations(), indexOperations(), contractionOperations(), creationOperations(),
                        preludeOperations(), controlOperations(), manualOperations(), windowOperations(),
                        optimiserOperations(), gradientOperations(), lookupOperations(), randomOperations()})
      all.insert(all.end(), table.begin(), table.end());
    return all;
  }();
  return operations;
}

void addOperation(ProgramBuilder &builder) {
  int64_t total = 0;
  for (const Operation &operation : allOperations())
    total += operation.weight;
  // Not every operation fits the existing values.
  for (int attempt = 0; attempt < 8; ++attempt) {
    int64_t choice = builder.random.integer(0, total - 1);
    for (const Operation &operation : allOperations()) {
      choice -= operation.weight;
      if (choice >= 0)
        continue;
      if (!operation.make(builder))
        break;
      builder.made.insert(operation.name);
      return;
    }
  }
}

} // namespace spmdc
