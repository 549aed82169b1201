//===- ValueBuffer.cpp - the buffer of a value ----------------------------===//

#include "passes/plan/ValueBuffer.h"

#include "passes/plan/Liveness.h"

using namespace mlir;

namespace spmdc {

plan::BufferAttr findBuffer(Value value) {
  value = Liveness::getRoot(value);
  Operation *step = value.getDefiningOp();
  unsigned index = 0;
  if (step) {
    index = cast<OpResult>(value).getResultNumber() + isa<plan::ForOp>(step);
  } else {
    step = value.getParentBlock()->getParentOp();
    index = cast<BlockArgument>(value).getArgNumber();
    if (!isa<plan::ForOp, plan::WhileOp>(step))
      return {};
  }
  if (auto done = dyn_cast<plan::DoneOp>(step))
    step = done.getToken().getDefiningOp();
  auto buffers = step->getAttrOfType<ArrayAttr>("buffers");
  return index < buffers.size() ? cast<plan::BufferAttr>(buffers[index]) : plan::BufferAttr();
}

} // namespace spmdc
