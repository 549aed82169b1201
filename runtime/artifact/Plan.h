//===- Plan.h - what one device executes ------------------------*- C++ -*-===//
//
// The plan is the contract between the compiler and the runtime: a list of steps over numbered buffers, the same on
// every device and independent of how devices are spread over processes. The compiler's last pass writes it, the
// artifact carries it, the executor runs it. Nothing here depends on MLIR.
//
// Kernel calling convention (CPU):
//     void kernel(int64_t begin, int64_t end, void *const *buffers, const int64_t *coordinates);
// runs iterations [begin, end) of its parallel range (`LaunchStep::extent` iterations in all; any partition of the
// range, in any order, on any thread, gives the same bits). `buffers` are the step's operands in order, inputs then
// outputs. `coordinates` are the device's mesh coordinates, one per axis in mesh order.
//
// Kernel calling convention (CUDA):
//     .entry kernel(.u64 buffer0, ..., .u64 bufferN, .u64 coordinates)
// one pointer per operand in order (inputs then outputs, aligned to 16 bytes or more), then the coordinates (int64_t,
// in device memory). The grid has KernelInfo::gridBlocks blocks (= LaunchStep::extent) of KernelInfo::blockThreads
// threads, one-dimensional; the blocks cover the full kernel, in any order, with the same bits; a grid of 0 blocks does
// nothing. Epilogues of matrix products are launched over all rows, after the product.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/sharding/DimMoves.h"
#include "runtime/support/DType.h"
#include "runtime/support/ElementFormat.h"
#include "runtime/support/OperandView.h"

#include <compare>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace spmd {

/// The expression of the program that a step implements.
struct SourceLocation {
  std::string file;
  int32_t line = 0;   ///< 1-based; 0 when unknown.
  int32_t column = 0; ///< 1-based, in characters.
  bool operator==(const SourceLocation &) const = default;
  /// `mlp.spmd:5:7`, or `unknown`.
  std::string str() const;
};

/// A parameter or a result of the program.
struct ValueInfo {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape; ///< Global.
  Sharding sharding;
  std::vector<int64_t> localShape; ///< Padded, the same on every device.
  /// The numbers that the array holds. The last dimension of complex ones, of 2 elements on every device, is the real
  /// and the imaginary part; `dtype` is the storage of narrow ones.
  ElementFormat format = ElementFormat::Plain;
  int64_t localBytes() const;
  bool operator==(const ValueInfo &) const = default;
};

/// A range of device memory.
struct BufferInfo {
  enum class Space : uint8_t { Argument, Result, Arena, Constant };
  Space space = Space::Arena;
  int32_t index = 0;  ///< Argument or result number; 0 otherwise.
  int64_t offset = 0; ///< Bytes into the arena or the constants.
  DType dtype = DType::F32;
  std::vector<int64_t> shape; ///< Local.
  int64_t bytes() const;
};

using BufferId = int32_t;

/// Runs a generated kernel over its parallel range.
struct LaunchStep {
  int32_t kernel = 0; ///< Index into Plan::kernels.
  std::vector<BufferId> operands;
  int64_t extent = 1;  ///< CPU: iterations of the parallel range. CUDA: blocks of the grid.
  int64_t grain = 1;   ///< Least number of iterations that is worth another thread.
  int32_t outputs = 1; ///< The number of outputs; they are the last operands.
};

/// An epilogue in the form in which a library computes it together with the product, in one pass, with one rounding at
/// the end: result = function(factor * product + arrayFactor * array + bias).
struct LibraryEpilogue {
  enum class Function : uint8_t {
    None, ///< There is no such form.
    Identity,
    Gelu,        ///< With tanh, as jax.nn.gelu(approximate=True).
    GeluGradient ///< factor * product * gelu'(array); there is no bias.
  };
  Function function = Function::None;
  double factor = 1, arrayFactor = 0; ///< Finite.
  int32_t array = -1;                 ///< Index into epilogueOperands: of the result's shape and type. -1: none.
  int32_t bias = -1;                  ///< Index into epilogueOperands: n elements of the result's type. -1: none.
  auto operator<=>(const LibraryEpilogue &) const = default;
};

/// A (batched) matrix product by a library: result[b] = op(lhs[b]) op(rhs[b]), row-major, [M,K] x [K,N].
struct MatmulStep {
  BufferId lhs = 0, rhs = 0, result = 0;
  int64_t batch = 1, m = 1, n = 1, k = 1;
  bool transposeLhs = false; ///< lhs is stored as [K, M].
  bool transposeRhs = false; ///< rhs is stored as [N, K].
  /// A kernel to run, in place of a separate step, on each block of finished rows while they are in cache; its extent
  /// is batch * m rows. -1: none.
  int32_t epilogueKernel = -1;
  std::vector<BufferId> epilogueOperands = {};
  /// CUDA: what the epilogue kernel computes, if the library may compute it in place of the kernel.
  LibraryEpilogue libraryEpilogue = {};
  /// CPU: where the operands [batch, M, K] and [batch, K, N] are in their arrays, if they are not the arrays
  /// themselves.
  OperandView lhsView = {}, rhsView = {};
  /// CUDA: the library may round factors of f32 to TF32 (10 bits of mantissa); sums stay in f32.
  bool allowTf32 = false;
};

enum class LibraryFunction : uint8_t {
  // A function for each ScatterKind, in the order of the kinds, and that along a dimension behind it.
  ScatterAdd,
  ScatterAddAlong,
  ScatterReplace,
  ScatterReplaceAlong,
  ScatterProd,
  ScatterProdAlong,
  ScatterMax,
  ScatterMaxAlong,
  ScatterMin,
  ScatterMinAlong,
  ScatterAnd,
  ScatterAndAlong,
  ScatterOr,
  ScatterOrAlong,
  UpdateSlice,
  Argsort,
  ArgsortDescending,
  Sort,
  SortDescending,
  Fft,
  InverseFft
};

/// How a scatter combines an element with an update; Replace: the last update of an element is its value.
enum class ScatterKind : uint8_t { Sum, Replace, Prod, Max, Min, And, Or };

constexpr bool isScatter(LibraryFunction function) { return function <= LibraryFunction::ScatterOrAlong; }
/// The kind of a scatter, and whether each of its updates has an index of its own.
constexpr ScatterKind getScatterKind(LibraryFunction function) {
  return static_cast<ScatterKind>(static_cast<uint8_t>(function) / 2);
}
constexpr bool isAlong(LibraryFunction function) { return static_cast<uint8_t>(function) % 2 == 1; }

/// Whether the function returns the elements in their order.
constexpr bool returnsSortedValues(LibraryFunction function) {
  return function == LibraryFunction::Sort || function == LibraryFunction::SortDescending;
}
/// Whether the function returns the elements in their order, or their positions.
constexpr bool isSort(LibraryFunction function) {
  return returnsSortedValues(function) || function == LibraryFunction::Argsort ||
         function == LibraryFunction::ArgsortDescending;
}
constexpr bool isDescending(LibraryFunction function) {
  return function == LibraryFunction::ArgsortDescending || function == LibraryFunction::SortDescending;
}

constexpr bool isFourier(LibraryFunction function) {
  return function == LibraryFunction::Fft || function == LibraryFunction::InverseFft;
}

/// A step that the runtime's own library performs, on arrays viewed as [outer, dimension, inner]. All functions but the
/// sorts and the Fourier transforms update their first input: the result is the same memory, or the library copies the
/// input to it first.
struct LibraryStep {
  LibraryFunction function = LibraryFunction::ScatterAdd;
  /// scatter_add and others: operand [o, n, i], indices (i32 or i64) [m], updates [o, m, i]; along: indices and updates
  /// [o, m, i]. update_slice: operand, update, and a start (i32 or i64) for each dimension. argsort, sort: operand [o,
  /// n, i]. fft, inverse_fft: operand [o, n, i, parts], where the last dimension has the real and the imaginary part of
  /// a number, or the number if it is real.
  std::vector<BufferId> inputs;
  BufferId result = 0;
  /// scatter_add and others: o, n, m, i. update_slice: the operand's shape, the update's. argsort, sort: o, n, i; on a
  /// CPU also o, n, i, begin, end, for a result [o, end - begin, i] of these places of the sorted lines. fft,
  /// inverse_fft: o, n, i, the parts of the operand and of the result (1 or 2, not 1 twice), and a divisor of all
  /// results. Where one side is real, the other one has the frequencies 0 to n / 2 alone.
  std::vector<int64_t> sizes;
};

/// The places of the sorted lines that a sort returns, from its sizes.
struct SortedRange {
  int64_t begin = 0, end = 0;
};
inline SortedRange getSortedRange(const std::vector<int64_t> &sizes) {
  return sizes.size() == 5 ? SortedRange{sizes[3], sizes[4]} : SortedRange{0, sizes[1]};
}

enum class CollectiveKind : uint8_t {
  AllReduce,
  AllGather,
  ReduceScatter,
  AllToAll,
  CollectivePermute,
  Exchange,
  CollectiveBroadcast
};
enum class ReductionKind : uint8_t { Sum, Prod, Max, Min, And, Or };

/// One collective. Shards follow nested ceilings (Sharding.h) over `axes` (major to minor): a gather concatenates the
/// shards and drops elements beyond the result's size; a scatter splits an array into shards, of which the last ones
/// may be short.
struct CollectiveDesc {
  CollectiveKind kind = CollectiveKind::AllReduce;
  ReductionKind reduction = ReductionKind::Sum;
  DType dtype = DType::F32;
  std::vector<AxisRef> axes;
  std::vector<int64_t> operandShape, resultShape; ///< Local.
  int32_t splitDim = -1;  ///< all_to_all: the dimension that each device splits; reduce_scatter: the scattered one.
  int32_t concatDim = -1; ///< all_to_all and all_gather: the dimension along which shards are concatenated.
  /// collective_permute: (source, target) positions in the group; a position that is no target receives zeros.
  std::vector<std::pair<int64_t, int64_t>> pairs;
  /// collective_broadcast: the position whose operand all receive. Plans do not store it: the executor prepares one
  /// call for each position, and a step selects a call by the value of its root.
  int64_t root = 0;
  /// exchange: the global shape and the two shardings; each byte is sent at most once, directly to the device that
  /// needs it.
  std::vector<int64_t> globalShape;
  Sharding source, target;
  /// With moves (one per dimension) the target is an array of `targetShape` whose elements are taken from the source;
  /// with `targetShape` alone it is the source reshaped.
  std::vector<int64_t> targetShape;
  std::vector<DimMove> moves;

  const std::vector<int64_t> &getTargetShape() const { return targetShape.empty() ? globalShape : targetShape; }
  bool isReshaped() const { return moves.empty() && !targetShape.empty(); }
};

/// Starts a collective; its result may be read only after the CollectiveDoneStep of the same id.
struct CollectiveStartStep {
  int32_t id = 0; ///< Unique in the plan; ids grow in the one total order of the collectives.
  CollectiveDesc desc;
  BufferId operand = 0, result = 0;
  /// collective_broadcast: buffer of the root (i32[]), read when the collective starts; it has the same value on all
  /// devices of the group. -1 for all other kinds.
  BufferId root = -1;
};

struct CollectiveDoneStep {
  int32_t id = 0;
};

/// Copies a buffer into another of the same size.
struct CopyStep {
  BufferId source = 0, target = 0;
};

struct Step;

/// Runs one of two branches. The predicate (bool[]) may differ between devices only if no branch has a collective.
struct IfStep {
  BufferId predicate = 0;
  std::vector<Step> thenSteps, elseSteps;
};

/// `condition` computes `predicate`; while it is true, `body` runs and the condition is computed again.
struct WhileStep {
  BufferId predicate = 0;
  std::vector<Step> condition, body;
};

/// Runs `body` for each number in [lower, upper). `counter` (i32[]) holds the number during an iteration; -1: no step
/// reads it.
struct ForStep {
  int64_t lower = 0, upper = 0; ///< i32 numbers.
  BufferId counter = -1;
  std::vector<Step> body;
};

/// Process 0 prints a value once, after the output of earlier steps.
struct PrintStep {
  std::vector<std::string> texts; ///< One more than there are values: text, value, text, value, ..., text.
  std::vector<BufferId> values;
  std::vector<ValueInfo> infos; ///< Global shape and sharding of each value.
};

struct Step {
  std::variant<LaunchStep, MatmulStep, CollectiveStartStep, CollectiveDoneStep, CopyStep, IfStep, WhileStep, PrintStep,
               ForStep, LibraryStep>
      op;
  SourceLocation location;
};

/// One generated kernel.
struct KernelInfo {
  std::string symbol; ///< Name in the shared object or the PTX module.
  /// CUDA only: `gridBlocks` blocks of `blockThreads` threads, with this much dynamic shared memory.
  int32_t blockThreads = 0;
  int32_t sharedBytes = 0;
  int64_t gridBlocks = 0;
  /// CUDA only: bytes of memory that is cleared before the launch; a pointer to it, if there is any, comes before that
  /// to the coordinates.
  int64_t stateBytes = 0;
};

/// The machine for which the kernels are compiled.
struct TargetInfo {
  std::string backend = "cpu";       ///< `cpu` or `cuda`.
  std::string cpu;                   ///< LLVM's name: `znver4`, `sapphirerapids`, `sm_90`.
  std::vector<std::string> features; ///< Instruction set extensions the code uses, LLVM's names: `avx512f`, ...
  bool operator==(const TargetInfo &) const = default;
  /// `cuda:sm_90`, as `--target` names it.
  std::string str() const { return backend + (cpu.empty() ? "" : ":" + cpu); }
};

struct Plan {
  std::string name; ///< The entry function.
  MeshShape mesh;
  std::vector<ValueInfo> params, results;
  std::vector<BufferInfo> buffers;
  std::vector<KernelInfo> kernels;
  std::vector<Step> steps;
  int64_t arenaBytes = 0;
  /// Result aliases[i] may overwrite parameter i; -1: no result may.
  std::vector<int32_t> aliases;
  TargetInfo target;
};

/// A program that is compiled for one target: what `run` loads. A file has one or several (ArtifactFile.h).
struct Artifact {
  Plan plan;
  std::string constants; ///< Bytes of the constant space.
  std::string code;      ///< CPU: a shared object (ELF). CUDA: PTX text.
  /// Lines of the source to which locations refer, for messages: (location as text, the line).
  std::vector<std::pair<std::string, std::string>> sourceLines;
  std::string compilerVersion;
};

} // namespace spmd
