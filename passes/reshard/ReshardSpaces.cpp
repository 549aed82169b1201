//===- ReshardSpaces.cpp - spaces that many reshards share ----------------===//

#include "passes/reshard/ReshardSpaces.h"

namespace spmdc {

const ReshardSpace &ReshardSpaces::get(ArrayType type) {
  std::unique_ptr<ReshardSpace> &space = spaces[type.withoutSharding()];
  if (!space)
    space = std::make_unique<ReshardSpace>(mesh, type, Atoms(mesh, {}));
  return *space;
}

const ReshardState *ReshardSpaces::getState(ShardingAttr sharding) {
  auto [entry, isNew] = states.try_emplace(sharding);
  if (!isNew)
    return entry->second.get();
  const spmd::Sharding value = sharding.toValue();
  auto areFullAxes = [](const std::vector<spmd::AxisRef> &axes) {
    return llvm::all_of(axes, [](const spmd::AxisRef &axis) { return axis.isFullAxis(); });
  };
  if (areFullAxes(value.unreduced) && llvm::all_of(value.dims, areFullAxes))
    entry->second = std::make_unique<const ReshardState>(ReshardState::of(Atoms(mesh, {}), value));
  return entry->second.get();
}

} // namespace spmdc
