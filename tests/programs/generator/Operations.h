//===- Operations.h - what the generator can make ---------------*- C++ -*-===//
//
// To add an operation to the random programs: one entry in the table of its kind (the *Operations.cpp of this folder).
// An entry chooses its operands, appends the statement, and says what is known of the result: its type, and its error
// (Accuracy.h). Two tests ask for it: CoverageTest.cpp fails for every operation of the language, and for every
// operation of the dialects, that no random program has.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/programs/generator/ProgramBuilder.h"

#include <functional>

namespace spmdc {

struct Operation {
  std::string name;
  int weight = 1; ///< How often, relative to the others.
  /// False where it does not go with the values that there are; statements that it has made stay.
  std::function<bool(ProgramBuilder &)> make;
};

std::vector<Operation> elementwiseOperations();
std::vector<Operation> arithmeticOperations();
std::vector<Operation> selectionOperations();
std::vector<Operation> reductionOperations();
std::vector<Operation> shapeOperations();
std::vector<Operation> indexOperations();
std::vector<Operation> contractionOperations();
std::vector<Operation> creationOperations();
std::vector<Operation> preludeOperations();
std::vector<Operation> controlOperations();
std::vector<Operation> manualOperations();
std::vector<Operation> windowOperations();
std::vector<Operation> optimiserOperations();
std::vector<Operation> gradientOperations();
std::vector<Operation> lookupOperations();
std::vector<Operation> randomOperations();

/// All of them.
const std::vector<Operation> &allOperations();

/// Makes one of them, chosen by weight.
void addOperation(ProgramBuilder &builder);

} // namespace spmdc
