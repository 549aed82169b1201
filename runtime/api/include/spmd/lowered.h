//===- lowered.h - a program that is known and does not run -----*- C++ -*-===//
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace spmd {

class Function;
class FunctionImpl;

/// What one call costs each device, as `spmdc inspect` says it before the program runs; JAX's `cost_analysis`. Loops of
/// a known number of trips count as often, a `while` once, and of a branch the arm that costs more. A figure that is
/// not known is an error that says why and what to do: a loaded artifact has wire_bytes() alone.
class CostAnalysis {
public:
  struct Figures {
    std::optional<double> flops, bytes_accessed, optimal_seconds;
    std::optional<int64_t> collectives;
    double wire_bytes = 0;
  };
  explicit CostAnalysis(Figures figures) : figures(figures) {}

  /// Operations: two for each product and sum of a contraction, one for each element of others.
  double flops() const;
  /// Bytes that kernels and matrix products read and write in the device's memory.
  double bytes_accessed() const;
  /// Bytes that the device sends, for a bandwidth-optimal algorithm, averaged where devices differ. Of a loaded
  /// artifact a bound where it branches: a source tells how often which arm is taken.
  double wire_bytes() const { return figures.wire_bytes; }
  /// How many collectives the partitioned program has, each as often as it stands there.
  int64_t collectives() const;
  /// Seconds that the cost model predicts, transfers that run under computation taken off.
  double optimal_seconds() const;

private:
  Figures figures;
};

/// What one call holds in the memory of each device, in bytes, the padding of uneven shards included; named as in JAX's
/// CompiledMemoryStats.
struct CompiledMemoryStats {
  int64_t argument_size_in_bytes = 0; ///< Of the device's parts of the parameters.
  int64_t output_size_in_bytes = 0;   ///< Of those of the results.
  int64_t temp_size_in_bytes = 0;     ///< Of what is computed on the way.
  int64_t constant_size_in_bytes = 0; ///< Devices of a process share them.
  int64_t peak_memory_in_bytes = 0;   ///< All of it: what `spmdc inspect` and `budget memory` count.
};

/// A program that was taken through the compiler as far as its plan, and not run: JAX's `jax.stages.Lowered`. It
/// belongs to the Function that made it, and is safe from any thread as that is. No call here communicates, but for
/// compile().
class Lowered {
public:
  Lowered() = default;
  explicit Lowered(std::shared_ptr<FunctionImpl> impl) : impl(std::move(impl)) {}

  /// One stage as text, as `spmdc compile --emit=STAGE` prints it: ast, array, propagated, partitioned, kernels, plan,
  /// llvm, ptx (of CUDA targets) or asm (of CPU targets). A loaded artifact has `plan`. Any other is an error that
  /// lists those there are.
  std::string as_text(const std::string &stage) const;

  /// JAX's `cost_analysis()`; of a loaded artifact, its wire_bytes() alone.
  CostAnalysis cost_analysis() const;
  /// JAX's `memory_analysis()`; of a loaded artifact, too.
  CompiledMemoryStats memory_analysis() const;

  /// The function, compiled and ready to be called: its first call does not compile. Every process of the mesh calls
  /// it, as it calls the function. An error where the program costs more than its budget, as in a call.
  Function compile() const;

private:
  std::shared_ptr<FunctionImpl> impl;
};

} // namespace spmd
