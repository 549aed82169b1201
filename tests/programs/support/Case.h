//===- Case.h - one program to check ----------------------------*- C++ -*-===//
//
// A random program, and how it is prepared for the compiler. As text it goes through the front end and propagation, as
// a user's program does. With everything sharded, its array IR gets a few operations that the language has no name for,
// and a random closed sharding on every value (parts of axes too): the partitioner must handle any combination.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/interfaces/Tensor.h"
#include "tests/programs/generator/Generate.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <set>
#include <string>
#include <vector>

namespace spmdc {

enum class Mode { Text, Everything };

struct Case {
  Program program;
  Mode mode = Mode::Text;
  uint64_t seed = 0;
  bool hasIrOperations = true; ///< With everything sharded: adds operations without a name in the language.
  /// With everything sharded: operations and arguments, by number, that are left replicated.
  std::set<size_t> replicated;
};

Case generateCase(mlir::MLIRContext &context, const GeneratorOptions &options, Mode mode,
                  std::set<std::string> *made = nullptr);

/// A case that is ready to be compiled.
struct Subject {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< Array IR, or, with everything sharded, propagated IR.
  std::string fileName, text;               ///< For the compiler.
  std::vector<Tensor> arguments;
  std::vector<Accuracy> results; ///< One per result of the function.
};

void loadDialects(mlir::MLIRContext &context);

/// Fails if the front end reports an error, or a type differs from the generator's; `error` is then set.
mlir::FailureOr<Subject> makeSubject(mlir::MLIRContext &context, const Case &test, std::string &error);

/// Returns the program with all derivatives replaced by their computation, so that it can be evaluated.
mlir::OwningOpRef<mlir::ModuleOp> differentiated(mlir::ModuleOp module);

/// Appends operations that the language has no name for, and adds their results to the function's results.
void addIrOperations(mlir::ModuleOp module, uint64_t seed, std::vector<Accuracy> &results);

} // namespace spmdc
