//===- ProgramReport.h - the report of a partitioned program ----*- C++ -*-===//
//
// The facts that `spmdc inspect` reports: the shardings of parameters, results and named values, every collective with
// its source line and predicted time, and the FLOP of one device. They are read from the propagated and the partitioned
// module, which stay unchanged.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/cost/CollectiveMatmulCost.h"
#include "runtime/sharding/Sharding.h"
#include "runtime/support/ElementFormat.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace spmdc {

struct ValueReport {
  std::string name;
  std::string location; ///< `mlp.spmd:5:7`; empty if unknown.
  spmd::DType dtype = spmd::DType::F32;
  std::vector<int64_t> shape, localShape; ///< The global shape, and the padded local shape.
  spmd::Sharding sharding;
  /// The numbers that the array of this dtype holds. The dimension of the parts of complex ones is left out.
  spmd::ElementFormat format = spmd::ElementFormat::Plain;
  /// `f32`, `c64`, or `f8E4M3FN`.
  std::string elementName() const { return spmd::elementName(dtype, format); }
};

struct CollectiveReport {
  std::string op;                ///< `all_reduce`, `all_gather`, ...
  std::vector<std::string> axes; ///< `a`, or `a:(2)4`.
  std::string reduction;         ///< `sum`, `max`, ...; empty for a collective that does not reduce.
  spmd::DType dtype = spmd::DType::F32;
  std::vector<int64_t> operandShape, resultShape; ///< Local shapes.
  int64_t groupSize = 1, groups = 1;
  double wireBytesPerDevice = 0; ///< For a bandwidth-optimal algorithm, averaged over the devices; of one execution.
  int64_t tripCount = 1;         ///< Number of executions (RunCounts.h).
  int64_t steps = 1;             ///< How often the devices of a group wait for one another.
  double predictedSeconds = 0;   ///< Of one execution.
  RingDirections ring = RingDirections::None; ///< The directions of the ring, if it becomes part of a
                                              ///< collective matmul (spmdc-collective-matmuls).
  double hiddenSeconds = 0;                   ///< The part of `predictedSeconds` that then overlaps with the product.
  /// False in the branch of a conditional that does not count (CountedBranches.h).
  bool isCounted = true;
  /// The source positions of the `while` loops around it, innermost first; `tripCount` counts one iteration of each.
  std::vector<std::string> whileLoops;
  std::string location, why;
  bool isBackward = false;         ///< Whether it belongs to the derivative of the expression at `location`.
  std::vector<std::string> places; ///< The source positions of all operations that it serves, `location` first.
  /// For each of `places`, that position and the calls that lead to it, innermost first.
  std::vector<std::vector<std::string>> callPaths;

  double totalWireBytes() const { return wireBytesPerDevice * static_cast<double>(tripCount); }
  double totalSeconds() const { return predictedSeconds * static_cast<double>(tripCount); }
  double countedSeconds() const { return isCounted ? totalSeconds() : 0; }
};

/// A `while`, whose number of iterations is unknown. All sums of a report count one iteration; each further one adds
/// these amounts. An example: a loop that sends 48 KiB in each iteration and runs 1000 times sends 999 * 48 KiB more
/// than the report's sum.
struct WhileReport {
  std::string location; ///< Empty if unknown.
  int64_t copies = 1;   ///< The loops at this position, which add up: one for each call of their function.
  double flopsPerDevice = 0, wireBytesPerDevice = 0, communicationSeconds = 0;
};

struct FunctionReport {
  std::string name;
  std::vector<ValueReport> params, results, values;
  std::vector<CollectiveReport> collectives;
  std::vector<WhileReport> whileLoops; ///< By position, in the order of the program; an outer loop before those in it.
  double flopsPerDevice = 0;           ///< Of a conditional one branch counts, here and in all sums below.
  int64_t argumentBytesPerDevice = 0, resultBytesPerDevice = 0;
  double wireBytesPerDevice = 0;   ///< Of all collectives, loop iterations included.
  double communicationSeconds = 0; ///< Predicted for all collectives, each alone, loop iterations included.
  double combiningSaves = 0;       ///< Of communicationSeconds, what spmdc-combine-collectives saves.
  size_t combinedAway = 0;         ///< The calls that this saves: of n collectives that become one, n - 1.
  double ringSaves = 0;            ///< Of communicationSeconds, what overlaps with collective matmuls.
};

struct ProgramReport {
  spmd::MeshShape mesh;
  std::vector<FunctionReport> functions;
};

/// Builds the report of all functions. `ringed` is the partitioned program after spmdc-collective-matmuls, `combined`
/// the same after spmdc-combine-collectives.
ProgramReport reportProgram(mlir::ModuleOp propagated, mlir::ModuleOp partitioned, mlir::ModuleOp ringed,
                            mlir::ModuleOp combined, const CostModel &model);

} // namespace spmdc
