//===- AxisProvenance.cpp - the provenance of shardings -------------------===//

#include "passes/propagate/AxisProvenance.h"

#include "ir/array/ArrayOps.h"
#include "ir/spmd/ValueNames.h"

#include <algorithm>
#include <map>

using namespace mlir;

namespace spmdc {
namespace {

const ValueFactors &getFactors(const ShardingRule &rule, unsigned tensor) {
  return tensor < rule.operands.size() ? rule.operands[tensor] : rule.results[tensor - rule.operands.size()];
}

std::string placeOf(Location loc) {
  std::optional<SourcePosition> position = getSourcePosition(loc);
  return position ? position->str() : "";
}

std::vector<std::string> callPathOf(Location loc) {
  std::vector<std::string> callPath;
  for (const auto &positions : getSourceCallStacks(loc))
    for (const SourcePosition &position : positions)
      callPath.push_back(position.str());
  return callPath;
}

std::string nameOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    if (auto func = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()))
      if (auto name = func.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttrName))
        return name.str();
  std::optional<StringRef> name = getValueName(value);
  return name ? name->str() : "";
}

bool contains(const std::vector<std::string> &axes, const std::string &axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

} // namespace

std::optional<PropagationLog::Origin> PropagationLog::trace(unsigned array, unsigned dim,
                                                            const std::string &axis) const {
  Origin origin;
  size_t until = extensions.size();
  while (true) {
    const std::vector<WrittenDim> &written = arrays[array].written;
    if (dim < written.size() && contains(written[dim].axes, axis)) {
      origin.array = array;
      origin.dim = dim;
      std::reverse(origin.steps.begin(), origin.steps.end());
      return origin;
    }
    // The first step that added the axis. Its source had the axis before that step.
    const std::vector<unsigned> &steps = arrays[array].extensions;
    auto step = std::find_if(steps.begin(), steps.end(), [&](unsigned index) {
      return extensions[index].dim == dim && contains(extensions[index].axes, axis);
    });
    if (step == steps.end() || *step >= until)
      return std::nullopt;
    until = *step;
    origin.steps.push_back(*step);
    array = extensions[*step].sourceArray;
    dim = extensions[*step].sourceDim;
  }
}

std::vector<std::string> ProvenanceRecorder::namesOf(ArrayRef<AxisPart> axes) const {
  std::vector<std::string> names;
  for (const AxisPart &part : axes)
    names.push_back(state.getMesh().getAttr(part).getName().str());
  return names;
}

void ProvenanceRecorder::extended(const PropagationState::OpEntry &op, unsigned tensor, unsigned dim,
                                  const ShardingProjection &before, const ShardingProjection &after,
                                  PropagationStrategy strategy) {
  if (next)
    next->extended(op, tensor, dim, before, after, strategy);
  auto opIndex = static_cast<unsigned>(&op - state.getOps().data());
  unsigned slot = op.slots[tensor];
  // A dimension of several factors may get its axes from several arrays: one extension for each.
  for (int64_t factor : getFactors(op.rule, tensor)[dim]) {
    ArrayRef<AxisPart> axes = after.getTensors()[tensor].getFactor(factor)->axes;
    if (axes == ArrayRef<AxisPart>(before.getTensors()[tensor].getFactor(factor)->axes))
      continue;
    if (strategy == PropagationStrategy::Displace) {
      auto [source, displacedFactor] = getDisplaced(before, axes);
      for (auto [sourceDim, factors] : llvm::enumerate(getFactors(op.rule, source)))
        if (llvm::is_contained(factors, displacedFactor))
          log->extensions.push_back({slot, dim, namesOf(axes), opIndex, op.slots[source], unsigned(sourceDim)});
      continue;
    }
    for (auto [source, projection] : llvm::enumerate(before.getTensors())) {
      const FactorSharding *sharding = projection.getFactor(factor);
      if (op.slots[source] == slot || !sharding || sharding->axes.empty() || !isPrefix(axes, sharding->axes))
        continue;
      for (auto [sourceDim, factors] : llvm::enumerate(getFactors(op.rule, source)))
        if (llvm::is_contained(factors, factor))
          log->extensions.push_back({slot, dim, namesOf(axes), opIndex, op.slots[source], unsigned(sourceDim)});
      break;
    }
  }
}

void ProvenanceRecorder::finish() {
  log->arrays.resize(state.getNumSlots());
  for (unsigned slot = 0; slot < state.getNumSlots(); ++slot) {
    ShardingAttr annotation = state.getAnnotation(slot);
    if (!annotation)
      continue;
    Location loc = state.getAnnotationLoc(slot);
    log->arrays[slot].annotationPlace = placeOf(getAnnotationRange(loc).value_or(loc));
    for (DimShardingAttr dim : annotation.getDims())
      log->arrays[slot].written.push_back({namesOf(state.getMesh().getParts(dim.getAxes())), dim.getIsClosed()});
  }
  for (const PropagationState::OpEntry &entry : state.getOps()) {
    PropagationLog::Op op{
        placeOf(entry.op->getLoc()), callPathOf(entry.op->getLoc()), entry.getName().str(), {}, {}, {}};
    if (auto collective = dyn_cast<CollectiveOpInterface>(entry.op))
      for (AxisRefAttr axis : collective.getGroupAxes().getAxes())
        op.groupAxes.push_back(axis.getName().str());
    unsigned numOperands = entry.rule.operands.size();
    for (auto [tensor, value] : llvm::enumerate(entry.values)) {
      unsigned slot = entry.slots[tensor];
      if (log->arrays[slot].name.empty())
        log->arrays[slot].name = nameOf(value);
      std::string role = tensor < numOperands ? (numOperands == 1 ? "the operand" : "operand " + std::to_string(tensor))
                                              : "the result";
      ArrayType type = cast<ArrayType>(value.getType());
      op.arrays.push_back(
          {slot, role, type.withSharding(state.getFinalSharding(value)).str(), placeOf(value.getLoc())});
      std::vector<std::vector<int64_t>> &factors = op.factors.emplace_back();
      for (const DimFactors &dim : getFactors(entry.rule, tensor))
        factors.emplace_back(dim.begin(), dim.end());
    }
    log->ops.push_back(std::move(op));
  }
  for (auto [index, extension] : llvm::enumerate(log->extensions))
    log->arrays[extension.array].extensions.push_back(static_cast<unsigned>(index));
  for (auto [index, op] : llvm::enumerate(log->ops))
    for (const PropagationLog::Operand &operand : op.arrays)
      if (std::vector<unsigned> &ops = log->arrays[operand.array].ops; ops.empty() || ops.back() != index)
        ops.push_back(static_cast<unsigned>(index));
  // A constraint also annotates its operand (PropagationState.h), which then has the constraint's name.
  std::map<std::string, std::string> nameOfAnnotation;
  for (const PropagationLog::Array &array : log->arrays)
    if (!array.annotationPlace.empty() && !array.name.empty())
      nameOfAnnotation.emplace(array.annotationPlace, array.name);
  for (PropagationLog::Array &array : log->arrays)
    if (auto name = nameOfAnnotation.find(array.annotationPlace); array.name.empty() && name != nameOfAnnotation.end())
      array.name = name->second;
}

} // namespace spmdc
