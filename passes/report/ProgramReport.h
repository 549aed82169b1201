//===- ProgramReport.h - what the partitioner did ---------------*- C++ -*-===//
//
// The facts behind `spmdc inspect`: shardings of parameters, results and named values, every collective with its
// source line and price, and what a device computes. Read off the propagated and the partitioned module; changes
// neither.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/cost/CollectiveMatmulCost.h"
#include "runtime/sharding/Sharding.h"
#include "runtime/support/DType.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace spmdc {

struct ValueReport {
  std::string name;
  std::string location; ///< `mlp.spmd:5:7`, empty where unknown.
  spmd::DType dtype = spmd::DType::F32;
  std::vector<int64_t> shape, localShape; ///< Global, and the padded local one.
  spmd::Sharding sharding;
};

struct CollectiveReport {
  std::string op;                ///< `all_reduce`, `all_gather`, ...
  std::vector<std::string> axes; ///< `a`, or `a:(2)4`.
  std::string reduction;         ///< `sum`, `max`, ...; empty where nothing is reduced.
  spmd::DType dtype = spmd::DType::F32;
  std::vector<int64_t> operandShape, resultShape; ///< Local.
  int64_t groupSize = 1, groups = 1;
  double wireBytesPerDevice = 0; ///< For a bandwidth-optimal algorithm, averaged over the devices; of one trip.
  int64_t tripCount = 1;
  int64_t steps = 1;           ///< How often the devices of a group wait for one another.
  double predictedSeconds = 0; ///< Of one trip.
  CollectiveMatmulKind ring =
      CollectiveMatmulKind::None; ///< Its pieces go around a ring, under its product (spmdc-collective-matmuls).
  double hiddenSeconds = 0;       ///< Of `predictedSeconds`, what runs under the product then.
  /// Not in an arm of a branch of which the other arm counts (CountedBranches.h).
  bool isCounted = true;
  std::string location, why;
  std::vector<std::string> places; ///< Of all whose work it does, `location` first.
  /// For each of them the place and the calls that led there, innermost first.
  std::vector<std::vector<std::string>> ways;

  double totalWireBytes() const { return wireBytesPerDevice * static_cast<double>(tripCount); }
  double totalSeconds() const { return predictedSeconds * static_cast<double>(tripCount); }
  double countedSeconds() const { return isCounted ? totalSeconds() : 0; }
};

struct FunctionReport {
  std::string name;
  std::vector<ValueReport> params, results, values;
  std::vector<CollectiveReport> collectives;
  double flopsPerDevice = 0; ///< Of a branch one arm counts, as in all of the following.
  int64_t argumentBytesPerDevice = 0, resultBytesPerDevice = 0;
  double wireBytesPerDevice = 0;   ///< Of all collectives, trips included.
  double communicationSeconds = 0; ///< Predicted, of all collectives, trips included, each by itself.
  double combiningSaves = 0;       ///< Seconds of that, where several are one call (spmdc-combine-collectives).
  double ringSaves = 0;            ///< Seconds of that, where rings run under their products.
};

struct ProgramReport {
  spmd::MeshShape mesh;
  std::vector<FunctionReport> functions;
};

/// `ringed` is the partitioned program after spmdc-collective-matmuls, `combined` that after spmdc-combine-collectives.
ProgramReport reportProgram(mlir::ModuleOp propagated, mlir::ModuleOp partitioned, mlir::ModuleOp ringed,
                            mlir::ModuleOp combined, const CostModel &model);

} // namespace spmdc
