//===- Fourier.cpp - discrete Fourier transforms on a CPU -----------------===//

#include "runtime/device/cpu/Fourier.h"

#include "runtime/device/cpu/CpuIsa.h"
#include "runtime/device/cpu/FourierTables.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

namespace spmd {
namespace {

enum class FourierKind { Complex, FromReal, ToReal };

/// The transform of each line, and the passes if it is short. Elements are those of memory.
template <typename T> struct FourierShort {
  FourierKind kind = FourierKind::Complex;
  bool isInverse = false; ///< The parts of all numbers are swapped before and after a transform that is not inverse.
  T scale = 1;
  int64_t operandElements = 0, resultElements = 0; ///< Of a line.
  FourierLine<T> line;
  std::vector<int64_t> places; ///< Those of `line`, and for the last frequency of an even number of reals.
  std::vector<T> factors;      ///< Of pairs of frequencies; empty if no side is real or the length is odd.
};

/// The functions of one instruction set.
template <typename T> struct FourierKernels {
  int64_t lanes;
  void (*rows)(const FourierShort<T> &, const T *, T *, int64_t, int64_t, void *);
  void (*columns)(const FourierShort<T> &, const T *, T *, int64_t, int64_t, void *);
  void (*matrixColumns)(const FourierMatrix<T> &, const T *, bool, int64_t, void *, void *);
  void (*matrixRows)(const FourierMatrix<T> &, int64_t, bool, T, void *, T *);
  void (*pairs)(bool, const T *, T *, int64_t, const T *, int64_t);
};

#define SPMD_LOOPS "runtime/device/cpu/FourierKernels.inc"
#include "runtime/device/cpu/CpuVariants.inc"

/// Memory for one thread, aligned for vectors.
class Scratch {
public:
  template <typename T> T *get(size_t elements) {
    size_t bytes = (elements * sizeof(T) + 63) / 64 * 64;
    if (bytes > size) {
      memory.reset(static_cast<char *>(std::aligned_alloc(64, bytes)));
      if (!memory)
        throw std::bad_alloc();
      size = bytes;
    }
    return reinterpret_cast<T *>(memory.get());
  }

private:
  struct Free {
    void operator()(char *pointer) const { std::free(pointer); }
  };
  std::unique_ptr<char, Free> memory;
  size_t size = 0;
};

/// Copies the numbers of `lines` adjacent lines, which are `inner` numbers from one place to the next, to contiguous
/// lines, which are `pitch` elements apart; or back.
template <int parts, bool isBack, typename Beside, typename T>
void copyLines(Beside *beside, int64_t inner, int64_t size, int64_t lines, T *line, int64_t pitch) {
  for (int64_t j = 0; j < size; ++j)
    for (int64_t i = 0; i < lines; ++i) {
      Beside *one = beside + (j * inner + i) * parts;
      T *other = line + i * pitch + j * parts;
      if constexpr (isBack)
        std::memcpy(one, other, parts * sizeof(T));
      else
        std::memcpy(other, one, parts * sizeof(T));
    }
}
template <bool isBack, typename Beside, typename T>
void copyLines(int64_t parts, Beside *beside, int64_t inner, int64_t size, int64_t lines, T *line, int64_t pitch) {
  if (parts == 1)
    copyLines<1, isBack>(beside, inner, size, lines, line, pitch);
  else
    copyLines<2, isBack>(beside, inner, size, lines, line, pitch);
}

/// The work of a block that is worth another thread, in passes over a number: some 5 us.
constexpr int64_t kGrainNumbers = 4096;

template <typename T> class FourierOf final : public Fourier {
public:
  explicit FourierOf(const LibraryCall &call)
      : outer(call.sizes[0]), length(call.sizes[1]), inner(call.sizes[2]), kernels(SPMD_VARIANT(fourierKernels<T>)()) {
    int64_t from = call.sizes[3], to = call.sizes[4];
    plan.kind = from == 1 ? FourierKind::FromReal : to == 1 ? FourierKind::ToReal : FourierKind::Complex;
    plan.isInverse = call.function == LibraryFunction::InverseFft;
    plan.scale = T(1) / static_cast<T>(call.sizes[5]);
    plan.operandElements = from * (to == 1 ? length / 2 + 1 : length);
    plan.resultElements = to * (from == 1 ? length / 2 + 1 : length);
    bool hasPairs = plan.kind != FourierKind::Complex && length % 2 == 0;
    size = hasPairs ? length / 2 : length;
    if (hasPairs)
      plan.factors = pairTable<T>(length);
    if (size > kMaxShortLine) {
      matrix = FourierMatrix<T>(size, kernels.lanes);
      return;
    }
    plan.line = FourierLine<T>(size);
    plan.places = plan.line.places;
    plan.places.push_back(size);
  }

  void run(ParallelFor &parallelFor, const void *operand, void *result) override {
    const T *from = static_cast<const T *>(operand);
    T *to = static_cast<T *>(result);
    scratch.resize(static_cast<size_t>(parallelFor.getThreadCount()));
    if (inner == 1)
      return isShort() ? runRows(parallelFor, from, to) : runLongLines(parallelFor, from, to);
    if (isShort() && plan.kind == FourierKind::Complex)
      return runColumns(parallelFor, from, to);
    runGathered(parallelFor, from, to);
  }

private:
  struct ThreadScratch {
    Scratch numbers, middle, operand, result;
  };

  bool isShort() const { return size <= kMaxShortLine; }
  int64_t blocksOf(int64_t count) const { return (count + kernels.lanes - 1) / kernels.lanes; }
  T *numbersOf(ThreadScratch &own) const {
    int64_t count = isShort() ? plan.line.size + 1 : matrix.column.size;
    return own.numbers.template get<T>(static_cast<size_t>(2 * count * kernels.lanes));
  }
  T *middleOf(Scratch &own) const {
    return own.get<T>(static_cast<size_t>(2 * blocksOf(matrix.column.size) * matrix.row.size * kernels.lanes));
  }

  void runRows(ParallelFor &parallelFor, const T *operand, T *result) {
    int64_t grain = std::max<int64_t>(1, kGrainNumbers / (size * kernels.lanes));
    parallelFor.run(blocksOf(outer), grain, [&](int64_t begin, int64_t end, int thread) {
      for (int64_t block = begin; block < end; ++block)
        kernels.rows(plan, operand, result, block * kernels.lanes, outer, numbersOf(scratch[thread]));
    });
  }

  void runColumns(ParallelFor &parallelFor, const T *operand, T *result) {
    int64_t blocks = blocksOf(inner), grain = std::max<int64_t>(1, kGrainNumbers / (size * kernels.lanes));
    parallelFor.run(outer * blocks, grain, [&](int64_t begin, int64_t end, int thread) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t offset = i / blocks * 2 * length * inner;
        kernels.columns(plan, operand + offset, result + offset, inner, i % blocks * kernels.lanes,
                        numbersOf(scratch[thread]));
      }
    });
  }

  /// One line after the other where there are fewer than threads; then these share each line.
  void runLongLines(ParallelFor &parallelFor, const T *operand, T *result) {
    if (outer >= parallelFor.getThreadCount()) {
      parallelFor.run(outer, 1, [&](int64_t begin, int64_t end, int thread) {
        for (int64_t line = begin; line < end; ++line)
          runLongLine(scratch[thread], operand + line * plan.operandElements, result + line * plan.resultElements);
      });
      return;
    }
    for (int64_t line = 0; line < outer; ++line) {
      const T *from = operand + line * plan.operandElements;
      T *to = result + line * plan.resultElements;
      visitLongLine(scratch[0], from, to, [&](int64_t count, const auto &visit) {
        parallelFor.run(count, 1, [&](int64_t begin, int64_t end, int thread) {
          for (int64_t i = begin; i < end; ++i)
            visit(i, scratch[thread]);
        });
      });
    }
  }

  void runLongLine(ThreadScratch &own, const T *operand, T *result) {
    visitLongLine(own, operand, result, [&](int64_t count, const auto &visit) {
      for (int64_t i = 0; i < count; ++i)
        visit(i, own);
    });
  }

  /// The loops over the parts of a line: `loop(count, visit)` calls visit(i, scratch memory of the thread).
  template <typename Loop> void visitLongLine(ThreadScratch &own, const T *operand, T *result, const Loop &loop) {
    bool isOdd = length % 2 != 0, isReal = plan.kind != FourierKind::Complex;
    const T *from = operand;
    T *to = result;
    if (plan.kind == FourierKind::ToReal || (isReal && isOdd)) {
      T *line = own.operand.template get<T>(static_cast<size_t>(2 * size));
      from = line;
      if (!isOdd)
        visitPairs(operand, line, loop);
      else
        completeLine(operand, line);
    }
    if (isReal && isOdd)
      to = own.result.template get<T>(static_cast<size_t>(2 * size));
    T *middle = middleOf(own.middle);
    loop(blocksOf(matrix.row.size), [&](int64_t block, ThreadScratch &thread) {
      kernels.matrixColumns(matrix, from, plan.isInverse, block, numbersOf(thread), middle);
    });
    loop(blocksOf(matrix.column.size), [&](int64_t block, ThreadScratch &) {
      kernels.matrixRows(matrix, block, plan.isInverse, plan.scale, middle, to);
    });
    if (plan.kind == FourierKind::FromReal && !isOdd)
      visitPairs(to, to, loop);
    if (isReal && isOdd)
      for (int64_t i = 0; i < plan.resultElements; ++i)
        result[i] = to[plan.kind == FourierKind::ToReal ? 2 * i : i];
  }

  template <typename Loop> void visitPairs(const T *from, T *to, const Loop &loop) {
    // A block is a few instructions.
    constexpr int64_t kBlocks = 64;
    int64_t blocks = blocksOf(size / 2) + (size < 2 ? 1 : 0);
    loop((blocks + kBlocks - 1) / kBlocks, [&](int64_t group, ThreadScratch &) {
      for (int64_t block = group * kBlocks; block < std::min((group + 1) * kBlocks, blocks); ++block)
        kernels.pairs(plan.kind == FourierKind::ToReal, from, to, size, plan.factors.data(), block);
    });
  }

  /// All complex numbers of a real line of odd length, or of its frequencies.
  void completeLine(const T *operand, T *line) const {
    for (int64_t i = 0; i < length; ++i) {
      bool isConjugate = plan.kind == FourierKind::ToReal && 2 * i > length;
      int64_t at = isConjugate ? length - i : i;
      if (plan.kind == FourierKind::FromReal) {
        line[2 * i] = operand[i];
        line[2 * i + 1] = 0;
      } else {
        line[2 * i] = operand[2 * at];
        line[2 * i + 1] = i == 0 ? 0 : isConjugate ? -operand[2 * at + 1] : operand[2 * at + 1];
      }
    }
  }

  /// Lines whose numbers are apart, if they are long or real: they are copied, as many at once as a vector has lanes,
  /// which are most of a line of the cache.
  void runGathered(ParallelFor &parallelFor, const T *operand, T *result) {
    int64_t blocks = blocksOf(inner);
    int64_t fromParts = plan.kind == FourierKind::FromReal ? 1 : 2, toParts = plan.kind == FourierKind::ToReal ? 1 : 2;
    int64_t fromSize = plan.operandElements / fromParts, toSize = plan.resultElements / toParts;
    parallelFor.run(outer * blocks, 1, [&](int64_t begin, int64_t end, int thread) {
      ThreadScratch &own = scratch[thread];
      Scratch operands, results;
      T *from = operands.get<T>(static_cast<size_t>(kernels.lanes * plan.operandElements));
      T *to = results.get<T>(static_cast<size_t>(kernels.lanes * plan.resultElements));
      for (int64_t i = begin; i < end; ++i) {
        int64_t first = i % blocks * kernels.lanes, used = std::min(kernels.lanes, inner - first), line = i / blocks;
        copyLines</*isBack=*/false>(fromParts, operand + (line * fromSize * inner + first) * fromParts, inner, fromSize,
                                    used, from, plan.operandElements);
        if (isShort())
          kernels.rows(plan, from, to, 0, used, numbersOf(own));
        else
          for (int64_t lane = 0; lane < used; ++lane)
            runLongLine(own, from + lane * plan.operandElements, to + lane * plan.resultElements);
        copyLines</*isBack=*/true>(toParts, result + (line * toSize * inner + first) * toParts, inner, toSize, used, to,
                                   plan.resultElements);
      }
    });
  }

  const int64_t outer, length, inner;
  int64_t size = 0; ///< The complex numbers of a line.
  const FourierKernels<T> kernels;
  FourierShort<T> plan;
  FourierMatrix<T> matrix; ///< Of a long line.
  std::vector<ThreadScratch> scratch;
};

} // namespace

std::unique_ptr<Fourier> Fourier::create(const LibraryCall &call) {
  if (call.dtype == DType::F64)
    return std::make_unique<FourierOf<double>>(call);
  return std::make_unique<FourierOf<float>>(call);
}

} // namespace spmd
