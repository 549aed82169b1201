//===- DecomposeReductions.cpp - reductions that run in parallel ----------===//
//
// The rows of a reduction run in parallel. With few rows, cores would be idle, and each vector lane would run a long
// chain of dependent operations. So the pass splits the longest reduced dimension into blocks whose size depends on the
// shape alone. The remainder of that division is reduced separately.
//
//===----------------------------------------------------------------------===//

#include "ir/array/LocalBuilder.h"
#include "ir/array/ScalarEvaluation.h"
#include "passes/kernel/BlockSizes.h"
#include "passes/kernel/Passes.h"
#include "passes/kernel/Shapes.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_DECOMPOSEREDUCTIONS
#include "passes/kernel/Passes.h.inc"

namespace {

/// Below this many elements a reduction is not split.
constexpr int64_t kMinElements = 1 << 16;
/// Elements of one block if rows are contiguous.
constexpr int64_t kBlockElements = 1 << 14;
/// A reduction of at least this many rows is not split: `kEnoughRows` if each row is contiguous, `kEnoughLanes` if rows
/// are adjacent in memory.
constexpr int64_t kEnoughRows = 32, kEnoughLanes = 1024;

/// On a GPU: the number of blocks to split into, eight for each of an H100's 132 multiprocessors; and the number of
/// blocks from which no split is needed, since rows that are blocks can be large.
constexpr int64_t kGpuBlocks = 1056, kEnoughGpuBlocks = 256;
/// Contiguous rows shorter than this are not split, so that an operation that reads the row again (a softmax) stays in
/// the same kernel.
constexpr int64_t kLongGpuRow = 1 << 16;
/// The fewest elements of a part of a contiguous row, and the fewest rows of a part of a column.
constexpr int64_t kMinGpuBlock = 8192, kMinGpuStrip = 64;

//===----------------------------------------------------------------------===//
// arg_reduce
//===----------------------------------------------------------------------===//

void decompose(ArgReduceOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  Value x = op.getOperand();
  auto type = cast<ArrayType>(x.getType());
  auto dim = static_cast<int64_t>(op.getDim());
  ReductionKind kind = op.getIsMax() ? ReductionKind::max : ReductionKind::min;
  Value extreme = createReduce(b, loc, x, kind, {dim});
  SmallVector<int64_t> kept;
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (d != dim)
      kept.push_back(d);
  Value everywhere = b.create<BroadcastInDimOp>(loc, type, extreme, kept);
  ArrayType flags = type.withElementType(b.getI1Type()), indices = type.withElementType(op.getType().getElementType());
  Value isExtreme = b.create<CompareOp>(loc, flags, x, everywhere, ComparisonDirection::eq);
  // The extreme of a row with a NaN is NaN, which equals nothing: in such a row the search is for the first NaN.
  if (isa<FloatType>(type.getElementType())) {
    Value isNan = b.create<CompareOp>(loc, flags, x, x, ComparisonDirection::ne);
    isExtreme = b.create<OrOp>(loc, isExtreme, isNan);
  }
  Value position = b.create<IotaOp>(loc, indices, b.getI64IntegerAttr(dim));
  Value none = b.create<ConstantOp>(loc, indices, getReductionIdentity(indices.getElementType(), ReductionKind::min));
  Value candidates = b.create<SelectOp>(loc, indices, isExtreme, position, none);
  op.replaceAllUsesWith(createReduce(b, loc, candidates, ReductionKind::min, {dim}));
  op.erase();
}

//===----------------------------------------------------------------------===//
// cumulative
//===----------------------------------------------------------------------===//

/// Loops run upwards: a scan from the end reads and writes in reverse.
void decompose(CumulativeOp op) {
  OpBuilder b(op);
  ArrayType type = op.getType();
  auto reverse = [&](Value value) -> Value {
    return b.create<ReverseOp>(op.getLoc(), type, value, ArrayRef<int64_t>{static_cast<int64_t>(op.getDim())});
  };
  Value result = b.create<CumulativeOp>(op.getLoc(), type, reverse(op.getOperand()), op.getKind(), op.getDim());
  op.replaceAllUsesWith(reverse(result));
  op.erase();
}

//===----------------------------------------------------------------------===//
// Dimensions of size 1
//===----------------------------------------------------------------------===//

/// Drops reduced dimensions of one element: they combine nothing, and no loop runs over them.
void dropUnitDims(ReduceOp op) {
  auto type = op.getOperand().getType();
  SmallVector<int64_t> shape, dims;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    bool isReduced = llvm::is_contained(op.getDims(), d);
    if (isReduced && type.getDimSize(d) == 1)
      continue;
    if (isReduced)
      dims.push_back(static_cast<int64_t>(shape.size()));
    shape.push_back(type.getDimSize(d));
  }
  if (static_cast<int64_t>(shape.size()) == type.getRank())
    return;
  OpBuilder b(op);
  Value result = b.create<ReshapeOp>(op.getLoc(), type.withShape(shape), op.getOperand());
  if (!dims.empty())
    result = createReduce(b, op.getLoc(), result, op.getKind(), dims);
  op.replaceAllUsesWith(result);
  op.erase();
}

//===----------------------------------------------------------------------===//
// Large reductions
//===----------------------------------------------------------------------===//

/// The sizes of a reduction: `rows` results of `reduced` elements each, of which the longest dimension is `dim`.
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
    bytes = std::max<int64_t>(1, op.getType().getElementType().getIntOrFloatBitWidth() / 8);
  }
  int64_t rows = 0, reduced = 0, dim = 0, size = 0, bytes = 0;
  bool isContiguous = false;
};

/// Returns the block size to split the longest dimension by on a CPU; 0: no split.
int64_t chooseBlock(const ReductionShape &shape) {
  if (shape.rows * shape.reduced < kMinElements)
    return 0;
  if (shape.isContiguous)
    return shape.rows >= kEnoughRows
               ? 0
               : fitBlock(shape.size, std::max<int64_t>(1, kBlockElements / (shape.reduced / shape.size)));
  if (shape.rows >= kEnoughLanes)
    return 0;
  return fitBlock(shape.size, std::max<int64_t>(64, shape.size / std::max<int64_t>(1, kEnoughLanes / shape.rows)));
}

/// The same on a GPU, with as many blocks as keep all multiprocessors busy.
int64_t chooseGpuBlock(const ReductionShape &shape) {
  if (shape.rows == 0 || shape.rows * shape.reduced <= kMinGpuElements)
    return 0;
  int64_t others = shape.reduced / shape.size;
  if (shape.isContiguous) {
    if (shape.rows >= kEnoughGpuRows || shape.reduced < kLongGpuRow)
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

/// Splits `x` along `dim` into blocks and reduces all `dims` in two steps.
Value reduceBlocks(OpBuilder &b, Location loc, Value x, ReductionKind kind, ArrayRef<int64_t> dims, int64_t dim,
                   int64_t block) {
  auto type = cast<ArrayType>(x.getType());
  SmallVector<int64_t> cut(type.getShape());
  cut[dim] /= block;
  cut.insert(cut.begin() + dim + 1, block);
  Value blocks = b.create<ReshapeOp>(loc, type.withShape(cut), x);
  SmallVector<int64_t> inBlocks;
  int64_t position = dim;
  for (int64_t d : dims) {
    inBlocks.push_back(d >= dim ? d + 1 : d);
    position -= d < dim;
  }
  Value partial = createReduce(b, loc, blocks, kind, inBlocks);
  return createReduce(b, loc, partial, kind, {position});
}

bool split(ReduceOp op, bool forGpu) {
  if (op.getDims().empty() || op.getOperand().getType().getNumElements() == 0)
    return false;
  ReductionShape shape(op);
  int64_t dim = shape.dim, block = forGpu ? chooseGpuBlock(shape) : chooseBlock(shape);
  if (!block)
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
  int64_t size = type.getDimSize(dim), whole = size / block * block;
  SmallVector<int64_t> starts(type.getRank(), 0), limits(type.getShape()), ones(type.getRank(), 1);
  Value result;
  if (whole == size) {
    result = reduceBlocks(b, loc, x, kind, op.getDims(), dim, block);
  } else {
    auto slice = [&](int64_t start, int64_t limit) -> Value {
      starts[dim] = start;
      limits[dim] = limit;
      SmallVector<int64_t> shape(type.getShape());
      shape[dim] = limit - start;
      return b.create<SliceOp>(loc, type.withShape(shape), x, starts, limits, ones);
    };
    Value blocks = reduceBlocks(b, loc, slice(0, whole), kind, op.getDims(), dim, block);
    Value tail = createReduce(b, loc, slice(whole, size), kind, op.getDims());
    result = createCombination(b, loc, kind, blocks, tail);
  }
  if (isHalf)
    result = b.create<ConvertOp>(loc, op.getType(), result);
  op.replaceAllUsesWith(result);
  op.erase();
  return true;
}

class DecomposeReductionsPass : public impl::DecomposeReductionsBase<DecomposeReductionsPass> {
public:
  using DecomposeReductionsBase::DecomposeReductionsBase;

private:
  void runOnOperation() override {
    SmallVector<ArgReduceOp> argReduces;
    getOperation().walk([&](ArgReduceOp op) { argReduces.push_back(op); });
    for (ArgReduceOp op : argReduces)
      decompose(op);
    SmallVector<CumulativeOp> fromEnd;
    getOperation().walk([&](CumulativeOp op) {
      if (op.getReversed())
        fromEnd.push_back(op);
    });
    for (CumulativeOp op : fromEnd)
      decompose(op);
    for (bool changed = forGpu; changed;) {
      changed = false;
      SmallVector<CumulativeOp> scans;
      getOperation().walk([&](CumulativeOp op) { scans.push_back(op); });
      for (CumulativeOp op : scans)
        changed |= splitScan(op);
    }
    SmallVector<ReduceOp> all;
    getOperation().walk([&](ReduceOp op) { all.push_back(op); });
    llvm::for_each(all, dropUnitDims);
    // The remainder of a split may be large enough to be split again.
    for (bool changed = true; changed;) {
      changed = false;
      SmallVector<ReduceOp> reduces;
      getOperation().walk([&](ReduceOp op) { reduces.push_back(op); });
      for (ReduceOp op : reduces)
        changed |= split(op, forGpu);
    }
  }
};

} // namespace
} // namespace spmdc
