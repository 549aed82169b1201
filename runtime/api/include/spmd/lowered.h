//===- lowered.h - a program that is lowered and not run --------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace spmd {

class Function;
class FunctionImpl;

/// The cost of one call on each device, as `spmdc inspect` predicts it; JAX's `cost_analysis`. The body of a loop with
/// a known trip count counts once for each iteration, that of a `while` once, and of the branches of a conditional the
/// more expensive one counts. A figure that is not known is an error that says why and what to do: a loaded artifact
/// has wire_bytes() alone.
class CostAnalysis {
public:
  struct Figures {
    std::optional<double> flops, bytes_accessed, optimal_seconds;
    std::optional<int64_t> collectives;
    double wire_bytes = 0;
  };
  explicit CostAnalysis(Figures figures) : figures(figures) {}

  /// Returns the number of operations: two for each multiply-add of a contraction, one for each element of other
  /// operations.
  double flops() const;
  /// Returns the bytes that kernels and matrix products read and write in the device's memory.
  double bytes_accessed() const;
  /// Returns the bytes that the device sends, for a bandwidth-optimal algorithm, averaged if devices differ. For a
  /// loaded artifact with branches it is an upper bound: only the source tells how often each branch is taken.
  double wire_bytes() const { return figures.wire_bytes; }
  /// Returns the number of collectives in the text of the partitioned program; loops do not multiply it.
  int64_t collectives() const;
  /// Returns the seconds that the cost model predicts, without the time of transfers that overlap with computation.
  double optimal_seconds() const;

private:
  Figures figures;
};

/// The memory that one call uses on each device, in bytes, the padding of uneven shards included; named as in JAX's
/// CompiledMemoryStats.
struct CompiledMemoryStats {
  int64_t argument_size_in_bytes = 0; ///< The device's shards of the parameters.
  int64_t output_size_in_bytes = 0;   ///< The device's shards of the results.
  int64_t temp_size_in_bytes = 0;     ///< Intermediate values.
  int64_t constant_size_in_bytes = 0; ///< Devices of a process share them.
  int64_t peak_memory_in_bytes = 0;   ///< The sum: `spmdc inspect` and `budget memory` count it.
};

/// A program that was compiled as far as its plan, and not run: JAX's `jax.stages.Lowered`. It belongs to the Function
/// that created it, and is thread-safe as that is. Only compile() communicates.
class Lowered {
public:
  Lowered() = default;
  explicit Lowered(std::shared_ptr<FunctionImpl> impl) : impl(std::move(impl)) {}

  /// Returns the text of one stage, as `spmdc compile --emit=STAGE` prints it: ast, array, propagated, partitioned,
  /// kernels, plan, llvm, ptx (for CUDA targets) or asm (for CPU targets); or the program for JAX (`stablehlo`). A
  /// loaded artifact has `plan`. Any other stage is an error that lists the available ones.
  std::string as_text(const std::string &stage) const;

  /// JAX's `cost_analysis()`; for a loaded artifact, wire_bytes() alone.
  CostAnalysis cost_analysis() const;
  /// JAX's `memory_analysis()`; also for a loaded artifact.
  CompiledMemoryStats memory_analysis() const;

  /// Returns the function, compiled and ready to be called: its first call does not compile. Every process of the mesh
  /// calls it, as it calls the function. Throws an error if the program costs more than its budget, as a call does.
  Function compile() const;

private:
  std::shared_ptr<FunctionImpl> impl;
};

} // namespace spmd
