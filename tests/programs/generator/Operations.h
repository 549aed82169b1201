//===- Operations.h - the operations of the generator -----------*- C++ -*-===//
//
// To add an operation to the random programs, add one entry in the table of its kind (the *Operations.cpp of this
// folder). An entry chooses its operands, appends the statement, and gives the result's type and accuracy (Accuracy.h).
// CoverageTest.cpp fails for every operation of the language, and for every operation of the dialects, that no random
// program has.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/programs/generator/ProgramBuilder.h"

#include <functional>

namespace spmdc {

struct Operation {
  std::string name;
  int weight = 1; ///< How often, relative to the others.
  /// Returns false if it does not fit the existing values; statements that it has appended stay.
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

/// Returns all operations.
const std::vector<Operation> &allOperations();

/// Appends one of them, chosen by weight.
void addOperation(ProgramBuilder &builder);

} // namespace spmdc
