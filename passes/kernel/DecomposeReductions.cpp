//===- DecomposeReductions.cpp - reductions that run in parallel ----------===//
//
// An arg_reduce becomes a reduction and a search, a scan from the end a scan from the beginning. Reductions of large
// arrays to few elements, and on a GPU scans, are split into blocks (SplitReductions.cpp, DecomposeScans.cpp).
//
//===----------------------------------------------------------------------===//

#include "ir/array/LocalBuilder.h"
#include "ir/array/ScalarEvaluation.h"
#include "passes/kernel/BlockSizes.h"
#include "passes/kernel/FreeOperations.h"
#include "passes/kernel/Passes.h"
#include "passes/kernel/Shapes.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_DECOMPOSEREDUCTIONS
#include "passes/kernel/Passes.h.inc"

namespace {

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

/// Loops run upwards, along one dimension: a scan from the end reads and writes in reverse, and a continued one scans
/// both dimensions as one.
void decompose(CumulativeOp op) {
  OpBuilder b(op);
  ArrayType type = op.getContinued() ? op.getJoinedType() : op.getType();
  uint64_t dim = op.getContinued() ? op.getDim() - 1 : op.getDim();
  auto reshape = [&](ArrayType to, Value value) -> Value {
    return op.getContinued() ? b.create<ReshapeOp>(op.getLoc(), to, value).getResult() : value;
  };
  auto reverse = [&](Value value) -> Value {
    if (!op.getReversed())
      return value;
    return b.create<ReverseOp>(op.getLoc(), type, value, ArrayRef<int64_t>{static_cast<int64_t>(dim)});
  };
  Value x = reverse(reshape(type, op.getOperand()));
  Value result = reverse(b.create<CumulativeOp>(op.getLoc(), type, x, op.getKind(), dim));
  op.replaceAllUsesWith(reshape(op.getType(), result));
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

class DecomposeReductionsPass : public impl::DecomposeReductionsBase<DecomposeReductionsPass> {
public:
  using DecomposeReductionsBase::DecomposeReductionsBase;

private:
  void runOnOperation() override {
    for (ArgReduceOp op : collectOps<ArgReduceOp>(getOperation()))
      decompose(op);
    for (CumulativeOp op : collectOps<CumulativeOp>(getOperation()))
      if (op.getReversed() || op.getContinued())
        decompose(op);
    std::optional<GpuLimits> gpu;
    if (forGpu)
      gpu = {gpuSharedBytes, gpuClusterBlocks};
    for (bool changed = forGpu; changed;) {
      changed = false;
      for (CumulativeOp op : collectOps<CumulativeOp>(getOperation()))
        changed |= !op.getContinued() && splitScan(op);
    }
    llvm::for_each(collectOps<ReduceOp>(getOperation()), dropUnitDims);
    // The remainder of a split may be large enough to be split again.
    for (bool changed = true; changed;) {
      changed = false;
      for (ReduceOp op : collectOps<ReduceOp>(getOperation()))
        changed |= splitReduction(op, gpu);
    }
  }
};

} // namespace
} // namespace spmdc
