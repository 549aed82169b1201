//===- DecomposeScans.cpp - scans that run in parallel --------------------===//

#include "ir/array/LocalBuilder.h"
#include "ir/array/ScalarEvaluation.h"
#include "passes/kernel/BlockSizes.h"
#include "passes/kernel/Shapes.h"

using namespace mlir;

namespace spmdc {
namespace {

/// Elements of a block of a contiguous row (or half as many), and the fewest elements of a block of a column.
constexpr int64_t kScanBlock = 8192, kColumnScanBlock = 64;
/// A scan of at least this many columns is not split: each column is one thread, which loads 32 elements ahead: 8 MiB
/// of f32, more than arrive within a latency of memory. With more blocks, the scan of their totals, which has few
/// threads, takes longer.
constexpr int64_t kEnoughScanThreads = 1 << 16;

/// Returns the block size to split the dimension of a scan by on a GPU; 0: no split.
int64_t chooseScanBlock(CumulativeOp op) {
  ArrayRef<int64_t> shape = op.getType().getShape();
  int64_t dim = op.getDim(), size = shape[dim], elements = productOf(shape);
  if (elements <= kMinGpuElements)
    return 0;
  int64_t rows = elements / size, last = static_cast<int64_t>(shape.size()) - 1;
  while (last > 0 && shape[last] == 1)
    --last;
  if (dim == last)
    return rows >= kEnoughGpuRows ? 0 : fitBlock(size, kScanBlock);
  if (rows >= kEnoughScanThreads)
    return 0;
  int64_t parts = (kEnoughScanThreads + rows - 1) / rows;
  return fitBlock(size, std::max(size / parts, kColumnScanBlock));
}

/// Returns the combination of all blocks before each block: an exclusive scan of the blocks' totals.
Value scanBefore(OpBuilder &b, Location loc, Value totals, ReductionKind kind, int64_t dim) {
  auto type = cast<ArrayType>(totals.getType());
  SmallVector<int64_t> low(type.getRank(), 0), high(type.getRank(), 0), interior(type.getRank(), 0);
  low[dim] = 1;
  high[dim] = -1;
  Value scanned = b.create<CumulativeOp>(loc, type, totals, kind, static_cast<uint64_t>(dim));
  Value identity = b.create<ConstantOp>(loc, type.withShape({}), getReductionIdentity(type.getElementType(), kind));
  return b.create<PadOp>(loc, type, scanned, identity, low, high, interior);
}

} // namespace

bool splitScan(CumulativeOp op) {
  int64_t block = chooseScanBlock(op), dim = op.getDim();
  if (!block)
    return false;
  OpBuilder b(op);
  Location loc = op.getLoc();
  ReductionKind kind = op.getKind();
  // The totals of blocks, and the sums of a block and the total before it, stay in f32.
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
  // Each reader gets its own copy: a value that two kernels read would be written to memory in f32.
  auto cut = [&]() -> Value {
    Value x = op.getOperand();
    if (isWidened)
      x = b.create<ConvertOp>(loc, type, x);
    // The last block is padded after its last element.
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

} // namespace spmdc
