//===- ComputeTime.cpp - the time that devices compute --------------------===//

#include "passes/strategy/ComputeTime.h"

#include "passes/reductions/LinearRegion.h"
#include "passes/sharding/Rematerialization.h"
#include "passes/strategy/AvailableShardings.h"
#include "passes/strategy/LowMemory.h"

using namespace mlir;

namespace spmdc {

bool savesMemory(Operation *op) { return op->getParentOfType<ModuleOp>()->hasAttr(kLowMemoryAttrName); }

double getRunsPerReshard(Operation *op, unsigned index, ArrayType now, ArrayType wanted, const spmd::MeshShape &mesh) {
  double iterations = getRunsPerReshard(op->getOperand(index), op);
  bool isPart = index == 0 && readsPartOfFirstOperand(op);
  if (!isPart || wanted.getLocalBytes(mesh) <= now.getLocalBytes(mesh))
    return iterations;
  return savesMemory(op) ? 1 : std::max(1.0, iterations / kWorthHolding);
}

ComputeTime::ComputeTime(const spmd::MeshShape &mesh, const CostModel &model, ShardingRuleOpInterface op,
                         const ShardingRule &rule)
    : mesh(mesh), model(model), op(op), rule(rule), result(typeOf(op->getResult(0))) {
  for (Value operand : op->getOperands())
    isCheap.push_back(isRematerializable(operand));
}

double ComputeTime::atLeast(const FactorAxes &axes) const {
  if (isa<DotGeneralOp>(op.getOperation()))
    return dotSeconds(axes);
  if (isa<ArgsortOp>(op.getOperation()) || op.getUpdateOperandNumber())
    return 0;
  std::vector<double> shards;
  for (const AxisRefs &list : axes)
    shards.push_back(static_cast<double>(sizeOf(mesh, list)));
  auto bytesOf = [&](ArrayType type, const ValueFactors &factors) {
    auto bytes = static_cast<double>(type.getBytes());
    for (const DimFactors &dim : factors)
      for (unsigned factor : dim)
        bytes /= shards[factor];
    return bytes;
  };
  double written = bytesOf(result, rule.results[0]), bytes = written;
  for (size_t i = 0; i < rule.operands.size(); ++i)
    if (!isCheap[i])
      bytes += i == 0 && op.readsPartOfFirstOperand() ? written : bytesOf(typeOf(op->getOperand(i)), rule.operands[i]);
  return bytes / model.memoryPerSecond;
}

double ComputeTime::dotSeconds(const FactorAxes &axes) const {
  double work = 2;
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    int64_t size = rule.factors[f].size;
    for (const spmd::AxisRef &axis : axes[f])
      size = llvm::divideCeilSigned(size, axis.sizeIn(mesh));
    work *= static_cast<double>(size);
  }
  return work / model.flopsPerSecond;
}

double ComputeTime::of(const Strategy &option) const {
  if (isa<DotGeneralOp>(op.getOperation()))
    return dotSeconds(option.axes);
  if (auto sort = dyn_cast<ArgsortOp>(op.getOperation())) {
    auto elements =
        static_cast<double>(option.result.getLocal(MeshAttr::fromValue(op->getContext(), "", mesh)).getNumElements());
    return model.sortSeconds(elements, static_cast<double>(result.getDimSize(sort.getDim())));
  }
  // An update in place reads and writes only the elements of the update.
  if (std::optional<unsigned> update = op.getUpdateOperandNumber())
    return 2 * static_cast<double>(option.operands[*update].getLocalBytes(mesh)) / model.memoryPerSecond;
  auto written = static_cast<double>(option.result.getLocalBytes(mesh)), bytes = written;
  for (auto [index, type] : llvm::enumerate(option.operands)) {
    // An operation that reads a range of its first operand reads as many elements as it writes, also if rows repeat.
    bool isTaken = index == 0 && op.readsPartOfFirstOperand();
    bytes += isCheap[index] ? 0 : isTaken ? written : static_cast<double>(type.getLocalBytes(mesh));
  }
  return bytes / model.memoryPerSecond;
}

} // namespace spmdc
