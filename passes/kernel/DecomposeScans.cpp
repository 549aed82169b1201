//===- DecomposeScans.cpp - scans that run in parallel --------------------===//

#include "ir/array/LocalBuilder.h"
#include "ir/array/ScalarEvaluation.h"
#include "passes/kernel/BlockSizes.h"
#include "passes/kernel/ScratchEmitter.h"
#include "passes/kernel/Shapes.h"

using namespace mlir;

namespace spmdc {
namespace {

/// The most elements of a block of a continued scan: 16 for each of 256 threads, which keep them in registers until the
/// total of the blocks before is known.
constexpr int64_t kContinuedBlock = 4096;
/// A line of at least this many elements is a continued scan even if the array has few: one block would take 0.5 MB of
/// f32 at the rate of a multiprocessor (3.3 TB/s of an H100 / 132), 20 us; 16 blocks that wait for each other take a
/// few latencies of memory.
constexpr int64_t kLongScan = 1 << 16;
/// Elements of a block of another contiguous row (or half as many), and the fewest elements of a block of a column.
constexpr int64_t kScanBlock = 8192, kColumnScanBlock = 64;
/// A scan of at least this many columns is not split: each column is one thread, which loads 32 elements ahead: 8 MiB
/// of f32, more than arrive within a latency of memory. With more blocks, the scan of their totals, which has few
/// threads, takes longer.
constexpr int64_t kEnoughScanThreads = 1 << 16;

/// The blocks of a scan on a GPU.
struct ScanBlocks {
  int64_t size = 0; ///< 0: no split.
  /// The blocks are one kernel, in which each one waits for the totals of those before (passes/gpu/ContinuedScans.cpp).
  bool isContinued = false;
};

ScanBlocks chooseScanBlocks(CumulativeOp op) {
  ArrayRef<int64_t> shape = op.getType().getShape();
  int64_t dim = op.getDim(), size = shape[dim], elements = productOf(shape), last = op.getType().getRank() - 1;
  while (last > 0 && shape[last] == 1)
    --last;
  bool isContinued = dim == last && accumulatorTypeOf(op).getIntOrFloatBitWidth() <= kMaxContinuedBits;
  if (elements <= kMinGpuElements && !(isContinued && size >= kLongScan))
    return {};
  int64_t rows = elements / size;
  if (dim == last) {
    if (rows >= kEnoughGpuRows)
      return {};
    return {fitBlock(size, isContinued ? kContinuedBlock : kScanBlock), isContinued};
  }
  if (rows >= kEnoughScanThreads)
    return {};
  int64_t parts = (kEnoughScanThreads + rows - 1) / rows;
  return {fitBlock(size, std::max(size / parts, kColumnScanBlock)), false};
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

/// The operand of a scan in blocks along one dimension.
class BlockedScan {
public:
  BlockedScan(CumulativeOp op, int64_t block, ArrayType type)
      : op(op), b(op), loc(op.getLoc()), dim(op.getDim()), type(type), padded(type) {
    int64_t size = type.getDimSize(dim), parts = (size + block - 1) / block;
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = parts * block;
    padded = type.withShape(shape);
    shape[dim] = parts;
    shape.insert(shape.begin() + dim + 1, block);
    blocks = type.withShape(shape);
  }

  /// The operand in blocks. Each reader gets its own copy: a value that two kernels read would be written to memory,
  /// converted.
  Value cut() {
    Value x = op.getOperand();
    if (type != op.getType())
      x = b.create<ConvertOp>(loc, type, x);
    // The last block is padded after its last element.
    if (padded != type) {
      SmallVector<int64_t> low(type.getRank(), 0), high = low, interior = low;
      high[dim] = padded.getDimSize(dim) - type.getDimSize(dim);
      Value identity =
          b.create<ConstantOp>(loc, type.withShape({}), getReductionIdentity(type.getElementType(), op.getKind()));
      x = b.create<PadOp>(loc, padded, x, identity, low, high, interior);
    }
    return b.create<ReshapeOp>(loc, blocks, x);
  }

  /// Scans each block, `begun` or not, and replaces the scan.
  void replaceBy(Value begun, bool isContinued) {
    Value result = b.create<CumulativeOp>(loc, blocks, begun, op.getKind(), static_cast<uint64_t>(dim + 1),
                                          /*reversed=*/false, isContinued);
    result = b.create<ReshapeOp>(loc, padded, result);
    if (padded != type) {
      SmallVector<int64_t> starts(type.getRank(), 0), ones(type.getRank(), 1);
      result = b.create<SliceOp>(loc, type, result, starts, type.getShape(), ones);
    }
    if (type != op.getType())
      result = b.create<ConvertOp>(loc, op.getType(), result);
    op.replaceAllUsesWith(result);
    op.erase();
  }

  CumulativeOp op;
  OpBuilder b;
  Location loc;
  int64_t dim;
  ArrayType type, padded, blocks;
};

} // namespace

bool splitScan(CumulativeOp op) {
  auto [block, isContinued] = chooseScanBlocks(op);
  if (!block)
    return false;
  ReductionKind kind = op.getKind();
  if (isContinued) {
    BlockedScan scan(op, block, op.getType());
    scan.replaceBy(scan.cut(), isContinued);
    return true;
  }
  // The totals of blocks, and the sums of a block and the total before it, stay in f32.
  bool isHalf =
      op.getType().getElementType().getIntOrFloatBitWidth() == 16 && isa<FloatType>(op.getType().getElementType());
  bool isWidened = isHalf && (kind == ReductionKind::sum || kind == ReductionKind::prod);
  OpBuilder b(op);
  Location loc = op.getLoc();
  BlockedScan scan(op, block, isWidened ? op.getType().withElementType(b.getF32Type()) : op.getType());
  int64_t dim = scan.dim;
  Value totals = createReduce(b, loc, scan.cut(), kind, {dim + 1}), blocks = scan.cut();
  Value before = scanBefore(b, loc, totals, kind, dim);
  SmallVector<int64_t> kept;
  for (int64_t d = 0; d <= scan.type.getRank(); ++d)
    if (d != dim + 1)
      kept.push_back(d);
  Value everywhere = b.create<BroadcastInDimOp>(loc, scan.blocks, before, kept);
  ArrayType positions = scan.blocks.withElementType(b.getI32Type());
  ArrayType flags = scan.blocks.withElementType(b.getI1Type());
  Value position = b.create<IotaOp>(loc, positions, b.getI64IntegerAttr(dim + 1));
  Value zero = b.create<ConstantOp>(loc, positions, Scalar::ofInt(0));
  Value isFirst = b.create<CompareOp>(loc, flags, position, zero, ComparisonDirection::eq);
  Value joined = createCombination(b, loc, kind, everywhere, blocks);
  scan.replaceBy(b.create<SelectOp>(loc, scan.blocks, isFirst, joined, blocks), isContinued);
  return true;
}

} // namespace spmdc
