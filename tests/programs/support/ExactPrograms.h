//===- ExactPrograms.h - programs of small integers -------------*- C++ -*-===//
//
// Sums of small integers are exact in every type, in any order: every stage, and the compiled program, gives the bits
// of the unpartitioned program.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/interfaces/Tensor.h"
#include "passes/cost/CostModel.h"
#include "tests/programs/generator/Random.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace spmdc {

/// The base class of tests with such programs.
class ExactPrograms {
protected:
  ExactPrograms();

  static mlir::func::FuncOp entryOf(mlir::ModuleOp module) { return *module.getOps<mlir::func::FuncOp>().begin(); }

  /// Returns the text as array IR; null, with a failure of the test, if it is invalid.
  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text);

  /// Random arguments for the text's entry function, and the results of the global evaluator; empty, with a failure of
  /// the test, if the evaluation fails.
  struct Sample {
    std::vector<Tensor> arguments;
    llvm::SmallVector<Tensor> results;
  };
  Sample makeSample(const std::string &text, Random &random);

  /// The partitioned text and its expected results. A null module, with a failure of the test, on error.
  struct Partitioned {
    Sample sample;
    mlir::OwningOpRef<mlir::ModuleOp> module;
  };
  Partitioned partition(const std::string &text, Random &random, const CostModel &model = CostModel());

  /// Checks a partitioned module at every stage from there on and, if `isCompiled`, as a compiled program.
  void checkStages(mlir::ModuleOp module, const Sample &sample, bool isCompiled);

  /// Returns the bytes that a device of a partitioned module sends, on average; loops count as often as they run, and
  /// both branches count.
  static double sentBytes(mlir::ModuleOp module);

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
};

} // namespace spmdc
