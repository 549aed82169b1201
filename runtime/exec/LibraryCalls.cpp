//===- LibraryCalls.cpp - library steps with their types ------------------===//

#include "runtime/exec/LibraryCalls.h"

#include "runtime/support/Error.h"

namespace spmd {

LibraryCall toLibraryCall(const LibraryStep &step, const Plan &plan) {
  auto typeOf = [&](BufferId id) { return plan.buffers[static_cast<size_t>(id)].dtype; };
  LibraryCall call{step.function, typeOf(step.inputs[0]), step.sizes, {}};
  if (step.function == LibraryFunction::UpdateSlice)
    for (size_t i = 2; i < step.inputs.size(); ++i)
      call.indexTypes.push_back(typeOf(step.inputs[i]));
  else if (!returnsSortedValues(step.function)) // A sort has one input, and its result holds positions.
    call.indexTypes.push_back(typeOf(step.inputs.size() == 1 ? step.result : step.inputs[1]));
  return call;
}

MatmulShape toMatmulShape(const MatmulStep &step, const Plan &plan) {
  auto typeOf = [&](BufferId id) { return plan.buffers[static_cast<size_t>(id)].dtype; };
  MatmulShape shape{step.batch,
                    step.m,
                    step.n,
                    step.k,
                    step.transposeLhs,
                    step.transposeRhs,
                    typeOf(step.lhs),
                    typeOf(step.result),
                    step.lhsView,
                    step.rhsView,
                    step.allowTf32,
                    step.lhs == step.rhs && step.transposeLhs != step.transposeRhs};
  if (typeOf(step.rhs) != shape.operand)
    throw Error("the plan multiplies " + std::string(dtypeName(shape.operand)) + " with " +
                std::string(dtypeName(typeOf(step.rhs))));
  return shape;
}

} // namespace spmd
