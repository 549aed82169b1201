//===- LowerLibraryCalls.cpp - operations of the runtime's library --------===//
//
// Sorting and adding at indices are not loops over independent elements, and a window is written without touching the
// other elements of its array. They become steps of the plan, on arrays seen as [outer, dimension, inner].
//
//===----------------------------------------------------------------------===//

#include "ir/plan/PlanOps.h"
#include "passes/kernel/Passes.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_LOWERLIBRARYCALLS
#include "passes/kernel/Passes.h.inc"

namespace {

int64_t productOf(ArrayRef<int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes)
    product *= size;
  return product;
}

void replace(Operation *op, StringRef function, ArrayRef<int64_t> sizes) {
  OpBuilder builder(op);
  auto call = builder.create<plan::LibraryOp>(op->getLoc(), op->getResultTypes()[0], function, op->getOperands(), sizes,
                                              /*buffers=*/ArrayAttr());
  op->replaceAllUsesWith(call);
  op->erase();
}

template <typename Op> void replaceScatter(Op op, StringRef function) {
  ArrayRef<int64_t> shape = op.getType().getShape();
  int64_t dim = op.getDim(), outer = productOf(shape.take_front(dim)), inner = productOf(shape.drop_front(dim + 1));
  int64_t indices = op.getIndices().getType().getNumElements();
  bool isAlong = isa<ScatterAddAlongOp>(op.getOperation());
  replace(op, function, {outer, shape[dim], isAlong ? op.getIndices().getType().getDimSize(dim) : indices, inner});
}

class LowerLibraryCallsPass : public impl::LowerLibraryCallsBase<LowerLibraryCallsPass> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops)
      llvm::TypeSwitch<Operation *>(op)
          .Case([](ScatterAddOp scatter) { replaceScatter(scatter, "scatter_add"); })
          .Case([](ScatterAddAlongOp scatter) { replaceScatter(scatter, "scatter_add_along"); })
          .Case([](DynamicUpdateSliceOp update) {
            SmallVector<int64_t> sizes(update.getType().getShape());
            llvm::append_range(sizes, update.getUpdate().getType().getShape());
            replace(update, "update_slice", sizes);
          })
          .Case([](ArgsortOp sort) {
            ArrayRef<int64_t> shape = sort.getType().getShape();
            int64_t dim = sort.getDim();
            replace(sort, sort.getDescending() ? "argsort_descending" : "argsort",
                    {productOf(shape.take_front(dim)), shape[dim], productOf(shape.drop_front(dim + 1))});
          });
  }
};

} // namespace
} // namespace spmdc
