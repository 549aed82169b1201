//===- Case.h - one thing to check ------------------------------*- C++ -*-===//
//
// A random program, and what is done to it before it is compiled. As text it goes through the front end and
// propagation, as a person's program does. With everything sharded, its array IR gets a few operations that the
// language has no name for, and a random closed sharding on every value (parts of axes too): what the partitioner must
// be able to take, however odd.
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
  bool hasIrOperations = true; ///< Everything: operations without a name in the language.
  std::set<size_t> replicated; ///< Everything: operations and arguments, by number, that are left whole.
};

Case generateCase(mlir::MLIRContext &context, const GeneratorOptions &options, Mode mode,
                  std::set<std::string> *made = nullptr);

/// A case ready to be compiled.
struct Subject {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< Array IR, or, with everything sharded, propagated IR.
  std::string fileName, text;               ///< For the compiler.
  std::vector<Tensor> arguments;
  std::vector<Accuracy> results; ///< One per result of the function.
};

void loadDialects(mlir::MLIRContext &context);

/// Fails with what the front end says, or where a type is another than the generator expects; then `error` tells.
mlir::FailureOr<Subject> makeSubject(mlir::MLIRContext &context, const Case &test, std::string &error);

/// The program with its derivatives taken, where it has any: what can be evaluated.
mlir::OwningOpRef<mlir::ModuleOp> differentiated(mlir::ModuleOp module);

/// Appends operations on results, and them to the results: what the language cannot say.
void addIrOperations(mlir::ModuleOp module, uint64_t seed, std::vector<Accuracy> &results);

} // namespace spmdc
