//===- DecomposeReductions.cpp - reductions that run in parallel ----------===//
//
// A reduction runs its rows in parallel; one with few rows would leave cores idle, and a long chain of dependent
// operations in a vector lane. Both are solved by cutting the longest reduced dimension into blocks whose size depends
// on the shape alone. What does not divide is a tail of its own.
//
//===----------------------------------------------------------------------===//

#include "ir/array/LocalBuilder.h"
#include "ir/array/ScalarEvaluation.h"
#include "passes/kernel/Passes.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_DECOMPOSEREDUCTIONS
#include "passes/kernel/Passes.h.inc"

namespace {

/// Below this many elements a reduction stays whole.
constexpr int64_t kMinElements = 1 << 16;
/// Elements of one block where rows are contiguous.
constexpr int64_t kBlockElements = 1 << 14;
/// Rows that suffice where each row is contiguous, and where rows lie side by side.
constexpr int64_t kEnoughRows = 32, kEnoughLanes = 1024;

/// On a GPU: below this many elements a second kernel costs more than it saves.
constexpr int64_t kMinGpuElements = 1 << 18;
/// Blocks that are wanted, eight for each of an H100's multiprocessors, and blocks that do, since they can be large.
constexpr int64_t kGpuBlocks = 1056, kEnoughGpuBlocks = 264;
/// Contiguous rows, each of which has a block: so many do, and shorter ones stay together, so that what reads them
/// again (a softmax) is one kernel.
constexpr int64_t kEnoughGpuRows = 264, kLongGpuRow = 1 << 16;
/// Fewest elements of a part of a contiguous row, and fewest rows of a part of a column.
constexpr int64_t kMinGpuBlock = 8192, kMinGpuStrip = 64;
/// Elements of a part of a scan along contiguous rows, and along columns; threads that do without parts.
constexpr int64_t kScanBlock = 4096, kColumnScanBlock = 64, kEnoughScanThreads = 1 << 15;

int64_t productOf(ArrayRef<int64_t> shape) {
  int64_t product = 1;
  for (int64_t size : shape)
    product *= size;
  return product;
}

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
  // The extreme of a row with a NaN is NaN, which equals nothing: there the NaNs themselves are what is sought.
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

/// Loops go upwards: what is combined from the end is read and written the other way round.
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

/// A reduced dimension of one element combines nothing: it is dropped, and no loop runs over it.
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

/// Reduced dimension `dim` cut into blocks; 0: not at all. A divisor close by saves the tail.
int64_t fitBlock(int64_t size, int64_t block) {
  if (block * 2 > size)
    return 0;
  for (int64_t divisor = block; divisor * 2 > block; --divisor)
    if (size % divisor == 0)
      return divisor;
  return block;
}

/// What a reduction combines: `rows` results of `reduced` elements each, of which the longest dimension is `dim`.
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

/// The block size to cut the longest dimension with on a CPU; 0: leave it.
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

/// The same on a GPU, so that as many blocks are at work as keep all multiprocessors busy.
int64_t chooseGpuBlock(const ReductionShape &shape) {
  if (shape.rows == 0 || shape.rows * shape.reduced < kMinGpuElements)
    return 0;
  int64_t others = shape.reduced / shape.size;
  if (shape.isContiguous) {
    if (shape.rows >= kEnoughGpuRows || shape.reduced < kLongGpuRow)
      return 0;
    int64_t parts = (kGpuBlocks + shape.rows - 1) / shape.rows;
    return fitBlock(shape.size, std::max(shape.size / parts, (kMinGpuBlock + others - 1) / others));
  }
  // A warp's lanes read 16 bytes each of neighbouring columns.
  int64_t columns = 32 * std::max<int64_t>(1, 16 / shape.bytes);
  int64_t blocks = (shape.rows + columns - 1) / columns;
  if (blocks >= kEnoughGpuBlocks)
    return 0;
  int64_t parts = (kGpuBlocks + blocks - 1) / blocks;
  return fitBlock(shape.size, std::max(shape.size / parts, (kMinGpuStrip + others - 1) / others));
}

/// Cuts `x` along `dim` into blocks and reduces all `dims` in two steps.
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
  // Partial results of half precision sums stay in f32.
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

//===----------------------------------------------------------------------===//
// Large scans
//===----------------------------------------------------------------------===//

/// The block size to cut the dimension of a scan with on a GPU; 0: leave it.
int64_t chooseScanBlock(CumulativeOp op) {
  ArrayRef<int64_t> shape = op.getType().getShape();
  int64_t dim = op.getDim(), size = shape[dim], elements = productOf(shape);
  if (elements < kMinGpuElements)
    return 0;
  int64_t rows = elements / size, last = static_cast<int64_t>(shape.size()) - 1;
  while (last > 0 && shape[last] == 1)
    --last;
  if (dim == last)
    return rows >= kEnoughGpuRows ? 0 : fitBlock(size, 2 * kScanBlock);
  if (rows >= kEnoughScanThreads)
    return 0;
  int64_t parts = (kEnoughScanThreads + rows - 1) / rows;
  return fitBlock(size, std::max(size / parts, kColumnScanBlock));
}

/// The totals of the blocks before each block: a scan of the blocks' totals, moved on by one.
Value scanBefore(OpBuilder &b, Location loc, Value totals, ReductionKind kind, int64_t dim) {
  auto type = cast<ArrayType>(totals.getType());
  SmallVector<int64_t> low(type.getRank(), 0), high(type.getRank(), 0), interior(type.getRank(), 0);
  low[dim] = 1;
  high[dim] = -1;
  Value scanned = b.create<CumulativeOp>(loc, type, totals, kind, static_cast<uint64_t>(dim));
  Value identity = b.create<ConstantOp>(loc, type.withShape({}), getReductionIdentity(type.getElementType(), kind));
  return b.create<PadOp>(loc, type, scanned, identity, low, high, interior);
}

/// Reduce, then scan: the first element of each block takes what comes before it (Merrill and Garland, "Single-pass
/// Parallel Prefix Scan with Decoupled Look-back", 2016, section 2.3). One value per block is read twice, and all else
/// stays in order, so the bits depend on the shape alone.
bool split(CumulativeOp op) {
  int64_t block = chooseScanBlock(op), dim = op.getDim();
  if (!block)
    return false;
  OpBuilder b(op);
  Location loc = op.getLoc();
  ReductionKind kind = op.getKind();
  // Sums of blocks and what they are added to stay in f32.
  bool isHalf =
      op.getType().getElementType().getIntOrFloatBitWidth() == 16 && isa<FloatType>(op.getType().getElementType());
  bool isWidened = isHalf && (kind == ReductionKind::sum || kind == ReductionKind::prod);
  ArrayType type = isWidened ? op.getType().withElementType(b.getF32Type()) : op.getType();
  int64_t rank = type.getRank(), size = type.getDimSize(dim), parts = (size + block - 1) / block;
  SmallVector<int64_t> shape(type.getShape()), low(rank, 0), high(rank, 0), interior(rank, 0);
  shape[dim] = parts * block;
  high[dim] = parts * block - size;
  ArrayType padded = type.withShape(shape);
  shape[dim] = parts;
  shape.insert(shape.begin() + dim + 1, block);
  ArrayType blocksType = type.withShape(shape);
  // Made for each reader anew: what two kernels read would be written to memory in f32.
  auto cut = [&]() -> Value {
    Value x = op.getOperand();
    if (isWidened)
      x = b.create<ConvertOp>(loc, type, x);
    // The last block is filled up, behind all that counts.
    if (padded != type) {
      Value identity = b.create<ConstantOp>(loc, type.withShape({}), getReductionIdentity(type.getElementType(), kind));
      x = b.create<PadOp>(loc, padded, x, identity, low, high, interior);
    }
    return b.create<ReshapeOp>(loc, blocksType, x);
  };
  Value totals = createReduce(b, loc, cut(), kind, {dim + 1}), blocks = cut();
  Value before = scanBefore(b, loc, totals, kind, dim);
  SmallVector<int64_t> kept;
  for (int64_t d = 0; d <= rank; ++d)
    if (d != dim + 1)
      kept.push_back(d);
  Value everywhere = b.create<BroadcastInDimOp>(loc, blocksType, before, kept);
  ArrayType positions = blocksType.withElementType(b.getI32Type()), flags = blocksType.withElementType(b.getI1Type());
  Value position = b.create<IotaOp>(loc, positions, b.getI64IntegerAttr(dim + 1));
  Value zero = b.create<ConstantOp>(loc, positions, Scalar::ofInt(0));
  Value isFirst = b.create<CompareOp>(loc, flags, position, zero, ComparisonDirection::eq);
  Value joined = createCombination(b, loc, kind, everywhere, blocks);
  Value begun = b.create<SelectOp>(loc, blocksType, isFirst, joined, blocks);
  Value result = b.create<CumulativeOp>(loc, blocksType, begun, kind, static_cast<uint64_t>(dim + 1));
  result = b.create<ReshapeOp>(loc, padded, result);
  if (padded != type) {
    SmallVector<int64_t> starts(rank, 0), ones(rank, 1);
    result = b.create<SliceOp>(loc, type, result, starts, type.getShape(), ones);
  }
  if (isWidened)
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
        changed |= split(op);
    }
    SmallVector<ReduceOp> all;
    getOperation().walk([&](ReduceOp op) { all.push_back(op); });
    llvm::for_each(all, dropUnitDims);
    // What a cut leaves may be large enough to be cut again.
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
