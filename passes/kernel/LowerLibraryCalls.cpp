//===- LowerLibraryCalls.cpp - operations of the runtime's library --------===//
//
// Sorting, adding at indices and Fourier transforms are not loops over independent elements, and a window is written
// without touching the other elements of its array. They become steps of the plan, on arrays seen as [outer, dimension,
// inner].
//
//===----------------------------------------------------------------------===//

#include "ir/array/FourierOp.h"
#include "ir/array/ScatterOp.h"
#include "ir/plan/PlanOps.h"
#include "passes/kernel/Passes.h"
#include "passes/kernel/Shapes.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_LOWERLIBRARYCALLS
#include "passes/kernel/Passes.h.inc"

namespace {

void replace(Operation *op, StringRef function, ArrayRef<int64_t> sizes) {
  OpBuilder builder(op);
  auto call = builder.create<plan::LibraryOp>(op->getLoc(), op->getResultTypes()[0], function, op->getOperands(), sizes,
                                              /*buffers=*/ArrayAttr());
  op->replaceAllUsesWith(call);
  op->erase();
}

template <typename Op> void replaceScatter(Op op, bool isAlong, const Twine &function) {
  ArrayRef<int64_t> shape = op.getType().getShape();
  int64_t dim = op.getDim(), outer = productOf(shape.take_front(dim)), inner = productOf(shape.drop_front(dim + 1));
  int64_t indices = op.getIndices().getType().getNumElements();
  replace(op, (function + (isAlong ? "_along" : "")).str(),
          {outer, shape[dim], isAlong ? op.getIndices().getType().getDimSize(dim) : indices, inner});
}

/// The only slice that reads the value, of a range of places along `dim`; null if anything else reads it.
SliceOp findOnlyRange(Value value, int64_t dim) {
  SliceOp slice = value.hasOneUse() ? dyn_cast<SliceOp>(*value.user_begin()) : SliceOp();
  if (!slice || slice.getStrides()[dim] != 1)
    return SliceOp();
  for (auto [d, size] : llvm::enumerate(shapeOf(value)))
    if (static_cast<int64_t>(d) != dim && slice.getType().getDimSize(d) != size)
      return SliceOp();
  return slice;
}

/// Whether `op` reads the elements of the sort's operand at these positions, which it computed for each line.
bool takesInOrder(Operation *op, ArgsortOp sort, Value positions) {
  auto isOf = [&](auto take) {
    return take.getOperand() == sort.getOperand() && take.getIndices() == positions && take.getDim() == sort.getDim();
  };
  // The dimensions of the indices of take replace one dimension, so they are the operand's if it has no other.
  if (auto take = dyn_cast<TakeOp>(op))
    return isOf(take) && sort.getType().getRank() == 1;
  auto take = dyn_cast<TakeAlongOp>(op);
  return take && isOf(take);
}

/// If the only user reads the operand in order, it needs no positions and no gather. The values are sorted where the
/// positions were: the user may be in a loop. With other users, a second sort would cost more than the gather. With
/// `ranges`, only the places are returned that are read: the first ones of top_k, the middle one of a median.
void replaceSort(ArgsortOp sort, bool ranges) {
  ArrayRef<int64_t> shape = sort.getType().getShape();
  int64_t dim = sort.getDim();
  SmallVector<int64_t> sizes = {productOf(shape.take_front(dim)), shape[dim], productOf(shape.drop_front(dim + 1))};
  SmallVector<Operation *> replaced = {sort};
  SliceOp range;
  auto follow = [&] {
    if (ranges && !range && (range = findOnlyRange(replaced.back()->getResult(0), dim)))
      replaced.push_back(range);
  };
  follow();
  Value positions = replaced.back()->getResult(0);
  Operation *take = positions.hasOneUse() ? *positions.user_begin() : nullptr;
  bool returnsValues = take && takesInOrder(take, sort, positions);
  if (returnsValues) {
    replaced.push_back(take);
    follow();
  }
  if (range)
    sizes.append({range.getStarts()[dim], range.getLimits()[dim]});
  StringRef function = returnsValues ? (sort.getDescending() ? "sort_descending" : "sort")
                                     : (sort.getDescending() ? "argsort_descending" : "argsort");
  Operation *last = replaced.back();
  OpBuilder builder(sort);
  last->replaceAllUsesWith(builder.create<plan::LibraryOp>(last->getLoc(), last->getResultTypes()[0], function,
                                                           sort.getOperand(), sizes, /*buffers=*/ArrayAttr()));
  for (Operation *op : llvm::reverse(replaced))
    op->erase();
}

class LowerLibraryCallsPass : public impl::LowerLibraryCallsBase<LowerLibraryCallsPass> {
public:
  using LowerLibraryCallsBase::LowerLibraryCallsBase;

private:
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<ScatterAddOp, ScatterAddAlongOp, ScatterOp, DynamicUpdateSliceOp, ArgsortOp, FftOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      llvm::TypeSwitch<Operation *>(op)
          .Case([](ScatterAddOp scatter) { replaceScatter(scatter, false, "scatter_add"); })
          .Case([](ScatterAddAlongOp scatter) { replaceScatter(scatter, true, "scatter_add"); })
          .Case([](ScatterOp scatter) {
            replaceScatter(scatter, scatter.getAlong(), "scatter_" + stringifyScatterKind(scatter.getKind()));
          })
          .Case([](DynamicUpdateSliceOp update) {
            SmallVector<int64_t> sizes(update.getType().getShape());
            llvm::append_range(sizes, update.getUpdate().getType().getShape());
            replace(update, "update_slice", sizes);
          })
          .Case([](FftOp fft) {
            ArrayRef<int64_t> shape = fft.getType().getShape().drop_back();
            auto dim = static_cast<int64_t>(fft.getDim());
            replace(fft, fft.getInverse() ? "inverse_fft" : "fft",
                    {productOf(shape.take_front(dim)), static_cast<int64_t>(fft.getLength()),
                     productOf(shape.drop_front(dim + 1)), fft.getOperandParts(), fft.getResultParts(),
                     static_cast<int64_t>(fft.getDivisor())});
          })
          .Case([&](ArgsortOp sort) { replaceSort(sort, ranges); });
  }
};

} // namespace
} // namespace spmdc
