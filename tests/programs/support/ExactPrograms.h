//===- ExactPrograms.h - programs of small integers -------------*- C++ -*-===//
//
// Sums of small integers are exact in every type, whatever the order: every station, and the compiled program, gives
// the bits of the unpartitioned program.
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

/// What tests of such programs are built on.
class ExactPrograms {
protected:
  ExactPrograms();

  static mlir::func::FuncOp entryOf(mlir::ModuleOp module) { return *module.getOps<mlir::func::FuncOp>().begin(); }

  /// The text as array IR; null, with a failure of the test, where there is none.
  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text);

  /// Random arguments for the text's entry, and what the global evaluator makes of them; nothing, with a failure of the
  /// test, where it makes nothing.
  struct Sample {
    std::vector<Tensor> arguments;
    llvm::SmallVector<Tensor> results;
  };
  Sample makeSample(const std::string &text, Random &random);

  /// The text partitioned, and what it is to give. A null module, with a failure of the test, where there is none.
  struct Partitioned {
    Sample sample;
    mlir::OwningOpRef<mlir::ModuleOp> module;
  };
  Partitioned partition(const std::string &text, Random &random, const CostModel &model = CostModel());

  /// A partitioned module, at every station from there on and, if `isCompiled`, as a compiled program.
  void checkStations(mlir::ModuleOp module, const Sample &sample, bool isCompiled);

  /// By one device of a partitioned module, on average; loops as often as they run, both arms of branches.
  static double sentBytes(mlir::ModuleOp module);

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
};

} // namespace spmdc
