//===- KernelSchedule.cpp - the loops of a kernel -------------------------===//

#include "passes/kernel/KernelSchedule.h"

#include "passes/kernel/ScheduleBuilder.h"
#include "passes/kernel/Shapes.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace spmdc {

/// Merges neighbouring dimensions where `isMerged`.
static SmallVector<int64_t> mergeDims(ArrayRef<int64_t> shape, ArrayRef<bool> isMerged) {
  SmallVector<int64_t> result;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d > 0 && isMerged[d])
      result.back() *= shape[d];
    else
      result.push_back(shape[d]);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// KernelSchedule
//===----------------------------------------------------------------------===//

KernelBody KernelBody::of(plan::KernelOp kernel) {
  KernelBody body;
  for (Operation &op : kernel.getBlock().without_terminator())
    body.ops.insert(&op);
  llvm::append_range(body.outputs, kernel.getBlock().getTerminator()->getOperands());
  return body;
}

ScheduleTraits ScheduleTraits::forGpu(const GpuLimits &limits) {
  // Shared memory for reductions: one value of 8 bytes for each of 32 warps, for up to eight reductions.
  constexpr int64_t kReductionBytes = 2048;
  // An H100 executes about 34 instructions while it reads 4 bytes from memory, which cost 4 units.
  constexpr double kComputeCost = 0.125;
  // A block of 1024 threads loads this many bytes in one round: 16 for each thread.
  constexpr int64_t kRoundBytes = 16384;
  // One of an H100's 132 multiprocessors alone gets about three times its share of the memory bandwidth: some 75 GB/s,
  // so a launch of 2 us is worth 150 KB.
  constexpr double kSlowdownAlone = 44, kWorkOfOneBlock = 150e3;
  return {.loadedBytes = limits.sharedBytes - kReductionBytes,
          .loadedUnit = kRoundBytes,
          .sharingBlocks = limits.clusterBlocks,
          .computeCost = kComputeCost,
          .slowdownAlone = kSlowdownAlone,
          .workOfOneBlock = kWorkOfOneBlock,
          .avoidsGathers = false};
}

int64_t KernelSchedule::Domain::getExtent() const { return productOf(shape); }

int64_t KernelSchedule::getExtent() const {
  if (lanes != Lanes::Tiles)
    return productOf(rowShape);
  int64_t extent = 1;
  for (size_t d = 0; d + 1 < rowShape.size(); ++d)
    extent *= static_cast<int64_t>(d) == tiledRow ? (rowShape[d] + getTileRows() - 1) / getTileRows() : rowShape[d];
  return extent;
}

int64_t KernelSchedule::getTileRows() const {
  // Strips of 64 rows read four lines of f32 in a row, and took two thirds of the time of strips of 16
  // (`benchmarks/RESULTS.md`). Small arrays have too few of them for many threads.
  constexpr int64_t kManyElements = 1 << 21;
  return productOf(rowShape) < kManyElements ? 16 : 64;
}

IndexExpr KernelSchedule::getRow() const { return indexing->space.linearize(rowVars, rowShape); }

bool KernelSchedule::writesOwnRow(unsigned output, Value outputValue) const {
  auto type = cast<ArrayType>(outputValue.getType());
  IndexSpace &space = indexing->space;
  int64_t rows = productOf(rowShape);
  if (rows == 0)
    return true;
  auto isOwn = [&](ArrayRef<IndexExpr> index) {
    return space.floorDiv(space.linearize(index, type.getShape()), type.getNumElements() / rows) == getRow();
  };
  return llvm::all_of(stages, [&](const Stage &stage) {
    return llvm::all_of(stage.stores, [&](const Store &s) { return s.output != output || isOwn(s.index); }) &&
           llvm::all_of(stage.scans, [&](const Scan &s) { return s.output != output || isOwn(s.operandIndex); });
  });
}

bool KernelSchedule::canOverwrite(Value input, unsigned output, Value outputValue) const {
  auto inputType = cast<ArrayType>(input.getType()), outputType = cast<ArrayType>(outputValue.getType());
  if (spmd::byteSize(inputType.getDType()) != spmd::byteSize(outputType.getDType()) ||
      inputType.getNumElements() != outputType.getNumElements())
    return false;
  IndexSpace &space = indexing->space;
  for (auto [number, stage] : llvm::enumerate(stages)) {
    std::optional<IndexExpr> written;
    for (const Store &store : stage.stores) {
      if (store.output != output)
        continue;
      if (written) // An iteration writes several elements.
        return false;
      written = space.linearize(store.index, outputType.getShape());
    }
    for (const Scan &scan : stage.scans)
      if (scan.output == output)
        written = space.linearize(scan.operandIndex, outputType.getShape());
    if (!written)
      continue;
    return llvm::all_of(loads, [&](const Load &load) {
      return load.value != input ||
             (load.stage <= number && space.linearize(load.index, inputType.getShape()) == *written);
    });
  }
  return false;
}

FailureOr<KernelSchedule> KernelSchedule::compute(const KernelBody &body, std::optional<int64_t> rows, bool isTrial,
                                                  const ScheduleTraits &traits) {
  // Empty outputs need no iteration.
  auto isEmpty = [](Value output) { return productOf(shapeOf(output)) == 0; };
  if (!body.outputs.empty() && llvm::all_of(body.outputs, isEmpty)) {
    KernelSchedule schedule;
    schedule.indexing = std::make_shared<KernelIndexing>();
    schedule.rowShape = {0};
    schedule.rowVars = {schedule.indexing->space.createVariable(0, 1)};
    return schedule;
  }
  ScheduleBuilder builder(body, traits);
  if (failed(builder.findRoots()) || failed(builder.chooseShape(rows)))
    return failure();
  SmallVector<int64_t> rowShape = withoutOnes(builder.getShape().rows);
  SmallVector<int64_t> inner = withoutOnes(builder.getShape().inner);
  ScheduleBuilder::Counts plain;
  FailureOr<KernelSchedule> schedule = builder.build(rowShape, inner, plain);
  if (failed(schedule) || isTrial)
    return schedule;
  // Dimensions that are contiguous to each other in all arrays are merged: each boundary is tried separately.
  SmallVector<bool> mergesRow(rowShape.size()), mergesInner(inner.size());
  auto isFree = [&](ArrayRef<int64_t> rowsTried, ArrayRef<int64_t> innerTried) {
    ScheduleBuilder::Counts counts;
    return succeeded(builder.build(rowsTried, innerTried, counts)) && counts.divisions <= plain.divisions;
  };
  for (size_t d = 1; d < rowShape.size(); ++d) {
    SmallVector<bool> flags(rowShape.size());
    flags[d] = true;
    mergesRow[d] = isFree(mergeDims(rowShape, flags), inner);
  }
  for (size_t d = 1; d < inner.size(); ++d) {
    SmallVector<bool> flags(inner.size());
    flags[d] = true;
    mergesInner[d] = isFree(rowShape, mergeDims(inner, flags));
  }
  rowShape = mergeDims(rowShape, mergesRow);
  inner = mergeDims(inner, mergesInner);
  ScheduleBuilder::Counts counts;
  // A last dimension of a few elements gives no vector; a division of the index is cheaper.
  if (schedule->lanes != Lanes::Inner)
    while (rowShape.size() > 1 && rowShape.back() < ScheduleBuilder::kMinLanes) {
      SmallVector<int64_t> merged(ArrayRef<int64_t>(rowShape).drop_back());
      merged.back() *= rowShape.back();
      if (traits.avoidsGathers && rowShape.back() >= ScheduleBuilder::kMinLanes / 2 &&
          succeeded(builder.build(merged, inner, counts)) && builder.gathersAll())
        break;
      rowShape = merged;
    }
  return builder.build(rowShape, inner, counts);
}

FailureOr<KernelSchedule> KernelSchedule::compute(plan::KernelOp kernel, const ScheduleTraits &traits) {
  std::optional<int64_t> rows;
  if (auto attr = kernel->getAttrOfType<IntegerAttr>(kRowsAttrName))
    rows = attr.getInt();
  FailureOr<KernelSchedule> schedule = compute(KernelBody::of(kernel), rows, /*isTrial=*/false, traits);
  if (failed(schedule))
    return kernel.emitError() << "kernel '" << kernel.getSymName() << "' has no common loops";
  return schedule;
}

std::string KernelSchedule::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto list = [&](ArrayRef<int64_t> shape) {
    os << "[";
    llvm::interleaveComma(shape, os);
    os << "]";
  };
  os << "rows ";
  list(rowShape);
  os << " lanes " << (lanes == Lanes::Inner ? "inner" : lanes == Lanes::Rows ? "rows" : "tiles");
  if (lanes == Lanes::Tiles)
    os << " over row " << tiledRow;
  for (const Stage &stage : stages) {
    os << "; domain ";
    list(domains[stage.domain].shape);
    for (const Reduction &reduction : stage.reductions) {
      ReduceOp op = reduction.op;
      os << " reduce " << stringifyReductionKind(op.getKind());
    }
    for (const Scan &scan : stage.scans) {
      CumulativeOp op = scan.op;
      os << " scan " << stringifyReductionKind(op.getKind());
    }
    for (const StageCache &stageCache : stage.stageCaches) {
      Operation *op = stageCache.value.getDefiningOp();
      os << " keep " << (op ? op->getName().stripDialect() : "input");
    }
    for (const Store &store : stage.stores)
      os << " store " << store.output;
  }
  return text;
}

} // namespace spmdc
