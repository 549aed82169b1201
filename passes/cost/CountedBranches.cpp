//===- CountedBranches.cpp - which branch of a conditional counts ---------===//

#include "passes/cost/CountedBranches.h"

#include "ir/array/FourierOp.h"

#include <tuple>

using namespace mlir;

namespace spmdc {

CountedBranches::CountedBranches(func::FuncOp func, MeshAttr mesh) : mesh(mesh) {
  for (Block &block : func.getBody())
    amountOf(block);
}

bool CountedBranches::counts(Operation *op) const {
  for (; op->getParentOp(); op = op->getParentOp())
    if (auto arm = chosen.find(op->getParentOp());
        arm != chosen.end() && op->getParentRegion()->getRegionNumber() != arm->second)
      return false;
  return true;
}

CountedBranches::Amount CountedBranches::amountOf(Block &block) {
  Amount all;
  for (Operation &op : block) {
    Amount one = amountOf(op);
    all.bytes += one.bytes;
    all.operations += one.operations;
  }
  return all;
}

CountedBranches::Amount CountedBranches::amountOf(Operation &op) {
  Amount all;
  if (auto collective = dyn_cast<CollectiveOpInterface>(op); collective && !isa<AllSliceOp>(op))
    all.bytes = collective.getWireBytes(mesh);
  all.operations = countFlops(&op);
  auto add = [&](const Amount &inside, double times) {
    all.bytes += times * inside.bytes;
    all.operations += times * inside.operations;
  };
  auto loop = dyn_cast<ForOp>(op);
  double trips = loop ? static_cast<double>(loop.getTripCount()) : 1;
  for (Region &region : op.getRegions())
    for (Block &block : region) {
      Amount inside = amountOf(block);
      std::optional<double> share = isa<IfOp>(op) ? runs.getShare(&block) : 1;
      if (share) {
        add(inside, trips * *share);
      } else if (unsigned arm = region.getRegionNumber();
                 arm == 0 || std::tie(inside.bytes, inside.operations) > std::tie(all.bytes, all.operations)) {
        all = inside;
        chosen[&op] = arm;
      }
    }
  return all;
}

double countFlops(Operation *op) {
  if (auto dot = dyn_cast<DotGeneralOp>(op)) {
    double contracted = 1;
    for (int64_t dim : dot.getLhsContract())
      contracted *= static_cast<double>(dot.getLhs().getType().getDimSize(dim));
    return 2 * contracted * static_cast<double>(dot.getType().getNumElements());
  }
  if (isa<ElementwiseOpInterface>(op))
    return static_cast<double>(cast<ArrayType>(op->getResult(0).getType()).getNumElements());
  if (isa<ReduceOp, ArgReduceOp, CumulativeOp>(op))
    return static_cast<double>(cast<ArrayType>(op->getOperand(0).getType()).getNumElements());
  if (auto fft = dyn_cast<FftOp>(op))
    return fft.countFlops();
  return 0;
}

} // namespace spmdc
