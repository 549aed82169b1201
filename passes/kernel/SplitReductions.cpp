//===- SplitReductions.cpp - large reductions in parallel -----------------===//
//
// The rows of a reduction run in parallel. With few rows, cores would be idle, and each vector lane would run a long
// chain of dependent operations. So a large reduction becomes two: one of blocks, and one of their results. The size of
// a block depends on the shape alone. The remainder of that division is reduced separately.
//
//===----------------------------------------------------------------------===//

#include "ir/array/LocalBuilder.h"
#include "passes/kernel/BlockSizes.h"
#include "passes/kernel/KernelSchedule.h"
#include "passes/kernel/Shapes.h"

#include <optional>

using namespace mlir;

namespace spmdc {
namespace {

/// Below this many elements a reduction is not split.
constexpr int64_t kMinElements = 1 << 16;
/// Elements of one block if rows are contiguous.
constexpr int64_t kBlockElements = 1 << 14;
/// A reduction of at least this many rows is not split: `kEnoughRows` if each row is contiguous, `kEnoughLanes` if rows
/// are adjacent in memory.
constexpr int64_t kEnoughRows = 32, kEnoughLanes = 1024;
/// The fewest rows of a part of a column: the results of all parts are then a small part of the elements.
constexpr int64_t kMinStrip = 64;
/// Columns of rows this long are split into so many parts if they have enough rows: a thread then reads rows one behind
/// the other. Else it would read a part of each, which memory delivers at half its rate or less.
constexpr int64_t kStreams = 32, kLongRowBytes = 1024, kStreamedRows = 512;
/// Rows shorter than this are read as if a number of them were one row.
constexpr int64_t kShortRowBytes = 128;

/// On a GPU: the number of blocks to split into, eight for each of an H100's 132 multiprocessors; and the number of
/// blocks from which no split is needed, since rows that are blocks can be large.
constexpr int64_t kGpuBlocks = 1056, kEnoughGpuBlocks = 256;
/// Contiguous rows shorter than this are not split, so that an operation that reads the row again (a softmax) stays in
/// the same kernel.
constexpr int64_t kLongGpuRow = 1 << 16;
/// The fewest elements of a part of a contiguous row, and the fewest rows of a part of a column.
constexpr int64_t kMinGpuBlock = 8192, kMinGpuStrip = 64;

/// The sizes of a reduction: `rows` results of `reduced` elements each, of which the longest dimension is `dim`. The
/// operand's elements for `run` results are adjacent.
struct ReductionShape {
  explicit ReductionShape(ReduceOp op) {
    ArrayRef<int64_t> shape = op.getOperand().getType().getShape();
    rows = op.getType().getNumElements();
    reduced = rows ? productOf(shape) / rows : 0;
    dim = op.getDims()[0];
    for (int64_t d : op.getDims())
      if (shape[d] > shape[dim])
        dim = d;
    size = shape[dim];
    int64_t last = static_cast<int64_t>(shape.size()) - 1;
    while (last > 0 && shape[last] == 1)
      --last;
    isContiguous = llvm::is_contained(op.getDims(), last);
    run = productOf(shape.drop_front(*llvm::max_element(op.getDims()) + 1));
    bytes = std::max<int64_t>(1, op.getType().getElementType().getIntOrFloatBitWidth() / 8);
  }
  int64_t rows = 0, reduced = 0, dim = 0, size = 0, run = 0, bytes = 0;
  bool isContiguous = false;
};

/// Two reductions in place of one. Example: for f32[2048, 4096] to a scalar, `dim` is 0, `block` is 4, `inner` is {1}
/// and `outer` is empty: the first step reduces [512, 4, 4096] to [512].
struct Split {
  SmallVector<int64_t> inner; ///< Dimensions that the first step reduces.
  int64_t dim = -1;           ///< A dimension of which the first step reduces blocks; -1: none.
  int64_t block = 0;          ///< Elements of `dim` in a block.
  SmallVector<int64_t> outer; ///< Dimensions that the second step reduces.
  /// The elements of a block are as far apart as there are blocks: neighbours are in different blocks.
  bool isInterleaved = false;
};

/// Splits one dimension into blocks; the first step reduces all others.
Split splitOneDim(ReduceOp op, int64_t dim, int64_t block) {
  Split split;
  split.dim = dim;
  split.block = block;
  for (int64_t d : op.getDims())
    if (d != dim)
      split.inner.push_back(d);
  return split;
}

/// Chooses blocks of contiguous elements: the innermost dimensions that fill one block, and a part of the next. A block
/// of the longest dimension alone would be a strided one if that dimension is not the last of those reduced:
/// f32[2048, 4096] in blocks [2048, 8] took eleven times longer (`benchmarks/RESULTS.md`).
std::optional<Split> splitContiguous(ReduceOp op, const ReductionShape &shape) {
  ArrayRef<int64_t> sizes = op.getOperand().getType().getShape();
  SmallVector<int64_t> dims(op.getDims());
  llvm::sort(dims);
  Split split;
  int64_t innerElements = 1;
  while (!dims.empty()) {
    int64_t dim = dims.pop_back_val(), wanted = std::max<int64_t>(1, kBlockElements / innerElements);
    int64_t block = fitBlock(sizes[dim], wanted);
    if (!block) {
      split.inner.push_back(dim);
      innerElements *= sizes[dim];
      continue;
    }
    int64_t rowsOutside = shape.rows;
    for (int64_t d : dims)
      rowsOutside *= sizes[d];
    split.outer = dims;
    if (block == 1) {
      split.outer.push_back(dim);
    } else if (rowsOutside >= kEnoughRows) {
      split.inner.push_back(dim);
    } else {
      split.dim = dim;
      split.block = block;
    }
    return split;
  }
  return std::nullopt;
}

std::optional<Split> splitForCpu(ReduceOp op, const ReductionShape &shape) {
  if (shape.rows * shape.reduced < kMinElements)
    return std::nullopt;
  if (shape.isContiguous)
    return shape.rows >= kEnoughRows ? std::nullopt : splitContiguous(op, shape);
  int64_t parts = std::max<int64_t>(1, kEnoughLanes / shape.rows);
  if (shape.run * shape.bytes >= kLongRowBytes && shape.size >= kStreamedRows)
    parts = std::max(parts, kStreams * shape.run / shape.rows);
  if (parts == 1)
    return std::nullopt;
  int64_t block = fitBlock(shape.size, std::max(kMinStrip, shape.size / parts));
  if (!block)
    return std::nullopt;
  Split split = splitOneDim(op, shape.dim, block);
  split.isInterleaved = shape.run * shape.bytes < kShortRowBytes;
  return split;
}

/// True if elements of the reduced rows depend on their results, as in a softmax.
bool returnsToRows(ReduceOp op) {
  int64_t rows = op.getType().getNumElements(), elements = op.getOperand().getType().getNumElements();
  llvm::DenseSet<Value> seen;
  SmallVector<Value> pending{op.getResult()};
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    for (Operation *user : value.getUsers())
      for (Value result : user->getResults()) {
        auto type = dyn_cast<ArrayType>(result.getType());
        if (isa<BroadcastInDimOp>(user) && type.getNumElements() == elements)
          return true;
        if (type && type.getNumElements() == rows && seen.insert(result).second)
          pending.push_back(result);
      }
  }
  return false;
}

/// True if clusters of blocks keep the rows (passes/gpu/ChooseRowGroups.cpp) and are enough to occupy the machine. Then
/// one kernel reads the rows once, where split reductions and what follows them read them three times.
bool isForClusters(ReduceOp op, const ReductionShape &shape, const GpuLimits &gpu) {
  ScheduleTraits traits = ScheduleTraits::forGpu(gpu);
  int64_t bytes = shape.reduced * spmd::byteSize(op.getOperand().getType().getDType());
  int64_t unit = traits.loadedUnit * gpu.clusterBlocks;
  return gpu.clusterBlocks > 1 && shape.rows * gpu.clusterBlocks >= kEnoughGpuRows &&
         (bytes + unit - 1) / unit * unit <= traits.loadedBytes * gpu.clusterBlocks && returnsToRows(op);
}

/// Returns the block size to split the longest dimension by on a GPU, with as many blocks as keep all multiprocessors
/// busy; 0: no split.
int64_t chooseGpuBlock(ReduceOp op, const ReductionShape &shape, const GpuLimits &gpu) {
  if (shape.rows == 0 || shape.rows * shape.reduced <= kMinGpuElements)
    return 0;
  int64_t others = shape.reduced / shape.size;
  if (shape.isContiguous) {
    if (shape.rows >= kEnoughGpuRows || shape.reduced < kLongGpuRow || isForClusters(op, shape, gpu))
      return 0;
    int64_t parts = (kGpuBlocks + shape.rows - 1) / shape.rows;
    return fitBlock(shape.size, std::max(shape.size / parts, (kMinGpuBlock + others - 1) / others));
  }
  // Each lane of a warp reads 16 bytes of adjacent columns.
  int64_t columns = 32 * std::max<int64_t>(1, 16 / shape.bytes);
  int64_t blocks = (shape.rows + columns - 1) / columns;
  if (blocks >= kEnoughGpuBlocks)
    return 0;
  int64_t parts = (kGpuBlocks + blocks - 1) / blocks;
  return fitBlock(shape.size, std::max(shape.size / parts, (kMinGpuStrip + others - 1) / others));
}

std::optional<Split> splitForGpu(ReduceOp op, const ReductionShape &shape, const GpuLimits &gpu) {
  int64_t block = chooseGpuBlock(op, shape, gpu);
  return block ? std::optional(splitOneDim(op, shape.dim, block)) : std::nullopt;
}

/// Reduces `x` in two steps; `split.block` divides the size of `split.dim`.
Value reduceInTwoSteps(OpBuilder &b, Location loc, Value x, ReductionKind kind, const Split &split) {
  auto type = cast<ArrayType>(x.getType());
  SmallVector<int64_t> first(split.inner), second(split.outer);
  if (split.dim >= 0) {
    SmallVector<int64_t> blocked(type.getShape());
    blocked[split.dim] /= split.block;
    blocked.insert(blocked.begin() + split.dim + !split.isInterleaved, split.block);
    x = b.create<ReshapeOp>(loc, type.withShape(blocked), x);
    for (int64_t &d : first)
      d += d > split.dim;
    first.push_back(split.dim + !split.isInterleaved);
    second.push_back(split.dim);
  }
  llvm::sort(first);
  llvm::sort(second);
  // The dimensions that the first step removes are those of `inner`, and the one of a block behind `dim`.
  for (int64_t &d : second)
    d -= llvm::count_if(split.inner, [&](int64_t removed) { return removed < d; });
  return createReduce(b, loc, createReduce(b, loc, x, kind, first), kind, second);
}

} // namespace

bool splitReduction(ReduceOp op, const std::optional<GpuLimits> &gpu) {
  if (op.getDims().empty() || op.getOperand().getType().getNumElements() == 0)
    return false;
  ReductionShape shape(op);
  std::optional<Split> split = gpu ? splitForGpu(op, shape, *gpu) : splitForCpu(op, shape);
  if (!split)
    return false;
  OpBuilder b(op);
  Location loc = op.getLoc();
  Value x = op.getOperand();
  ReductionKind kind = op.getKind();
  // Partial sums of half precision types stay in f32.
  bool isHalf = op.getType().getElementType().getIntOrFloatBitWidth() == 16 &&
                (kind == ReductionKind::sum || kind == ReductionKind::prod);
  if (isHalf)
    x = b.create<ConvertOp>(loc, op.getOperand().getType().withElementType(b.getF32Type()), x);
  auto type = cast<ArrayType>(x.getType());
  int64_t dim = split->dim, size = dim < 0 ? 0 : type.getDimSize(dim),
          whole = dim < 0 ? 0 : size / split->block * split->block;
  Value result;
  if (whole == size) {
    result = reduceInTwoSteps(b, loc, x, kind, *split);
  } else {
    SmallVector<int64_t> starts(type.getRank(), 0), limits(type.getShape()), ones(type.getRank(), 1);
    auto slice = [&](int64_t start, int64_t limit) -> Value {
      starts[dim] = start;
      limits[dim] = limit;
      SmallVector<int64_t> part(type.getShape());
      part[dim] = limit - start;
      return b.create<SliceOp>(loc, type.withShape(part), x, starts, limits, ones);
    };
    Value blocks = reduceInTwoSteps(b, loc, slice(0, whole), kind, *split);
    Value tail = createReduce(b, loc, slice(whole, size), kind, op.getDims());
    result = createCombination(b, loc, kind, blocks, tail);
  }
  if (isHalf)
    result = b.create<ConvertOp>(loc, op.getType(), result);
  op.replaceAllUsesWith(result);
  op.erase();
  return true;
}

} // namespace spmdc
