//===- ReshardSpace.cpp - the shardings a reshard may pass through, over atoms -===//

#include "passes/collective/ReshardSpace.h"

#include <algorithm>

using namespace mlir;

namespace spmdc {

ReshardSpace::ReshardSpace(const spmd::MeshShape &mesh, ArrayType source, ArrayType target)
    : mesh(mesh), from(source.getShardingOrOpen().toValue()), to(target.getShardingOrOpen().toValue()),
      atoms(mesh, {&from, &to}), shape(source.getShape().begin(), source.getShape().end()),
      elementBytes(static_cast<double>(spmd::byteSize(source.getDType()))) {}

/// Nested ceilings over a:(1)2 and a:(2)2 are those over `a` only where the pieces come out even: 5 elements are 2 2 1
/// 0 over `a`, but 2 1 2 0 over its halves.
bool ReshardSpace::isFaithful(size_t dim, ArrayRef<int> dimAtoms) const {
  int64_t pieces = 1;
  for (int atom : dimAtoms)
    pieces *= atoms.sizeOf(atom);
  if (dimAtoms.size() < 2 || shape[dim] % pieces == 0)
    return true;
  std::vector<spmd::AxisRef> axes = atoms.join(dimAtoms);
  if (axes.size() == dimAtoms.size())
    return true;
  std::vector<int64_t> atomSizes, axisSizes;
  for (int atom : dimAtoms)
    atomSizes.push_back(atoms.sizeOf(atom));
  for (const spmd::AxisRef &axis : axes)
    axisSizes.push_back(axis.sizeIn(mesh));
  auto positionsOf = [](int64_t piece, const std::vector<int64_t> &sizes) {
    std::vector<int64_t> positions(sizes.size());
    for (size_t i = sizes.size(); i-- > 0; piece /= sizes[i])
      positions[i] = piece % sizes[i];
    return positions;
  };
  for (int64_t piece = 0; piece < pieces; ++piece)
    if (spmd::shardRange(shape[dim], atomSizes, positionsOf(piece, atomSizes)) !=
        spmd::shardRange(shape[dim], axisSizes, positionsOf(piece, axisSizes)))
      return false;
  return true;
}

bool ReshardSpace::isFaithful(const ReshardState &state) const {
  for (size_t d = 0; d < state.dims.size(); ++d)
    if (!isFaithful(d, state.dims[d]))
      return false;
  return true;
}

AtomList ReshardSpace::toList(const std::vector<spmd::AxisRef> &axes) const {
  std::vector<int> list = atoms.split(axes);
  return AtomList(list.begin(), list.end());
}

ReshardState ReshardSpace::toState(const spmd::Sharding &sharding) const {
  ReshardState state;
  for (const auto &axes : sharding.dims)
    state.dims.push_back(toList(axes));
  state.unreduced = toList(sharding.unreduced);
  llvm::sort(state.unreduced);
  return state;
}

spmd::Sharding ReshardSpace::toSharding(const ReshardState &state) const {
  spmd::Sharding sharding;
  for (const auto &dim : state.dims)
    sharding.dims.push_back(atoms.join(dim));
  sharding.unreduced = atoms.join(state.unreduced);
  return sharding;
}

double ReshardSpace::localBytes(const ReshardState &state) const {
  double bytes = elementBytes;
  for (size_t d = 0; d < shape.size(); ++d) {
    int64_t size = shape[d];
    for (int atom : state.dims[d])
      size = llvm::divideCeilSigned(size, atoms.sizeOf(atom));
    bytes *= static_cast<double>(size);
  }
  return bytes;
}

double ReshardSpace::groupOf(ArrayRef<int> group) const {
  double size = 1;
  for (int atom : group)
    size *= static_cast<double>(atoms.sizeOf(atom));
  return size;
}

double ReshardSpace::exchangeBytes(const spmd::Sharding &source, const spmd::Sharding &target) const {
  return spmd::missingElements(mesh, {shape, source}, {shape, target}) * elementBytes;
}

bool ReshardSpace::isUsed(const ReshardState &state, int atom) const {
  auto has = [&](const AtomList &list) { return llvm::is_contained(list, atom); };
  return has(state.unreduced) || llvm::any_of(state.dims, has);
}

double ReshardSpace::missingBytes(const ReshardState &state, const ReshardState &goal) const {
  return mesh.deviceCount() <= kManyDevices ? exchangeBytes(toSharding(state), to)
                                            : std::max(0.0, leastBytes(state, goal));
}

double ReshardSpace::leastBytes(const ReshardState &state, const ReshardState &goal) const {
  double needed = elementBytes, held = elementBytes;
  for (size_t d = 0; d < shape.size(); ++d) {
    int64_t pieces = static_cast<int64_t>(groupOf(state.dims[d])), wanted = static_cast<int64_t>(groupOf(goal.dims[d]));
    if (shape[d] % pieces != 0 || shape[d] % wanted != 0)
      return -1;
    needed *= static_cast<double>(shape[d] / wanted);
    held *= static_cast<double>(shape[d] / std::max(pieces, wanted));
  }
  return (needed - held) * static_cast<double>(mesh.deviceCount());
}

AtomList ReshardSpace::involvedAtoms(const ReshardState &state, const ReshardState &goal) const {
  AtomList result;
  for (int atom = 0; atom < atoms.count(); ++atom) {
    // The dimension, and the sizes of the majors.
    auto placeIn = [&](const ReshardState &in) {
      std::pair<int64_t, SmallVector<int64_t, 4>> place(-1, {});
      for (size_t d = 0; d < in.dims.size(); ++d) {
        auto found = std::find(in.dims[d].begin(), in.dims[d].end(), atom);
        if (found == in.dims[d].end())
          continue;
        place.first = static_cast<int64_t>(d);
        for (auto major = in.dims[d].begin(); major != found; ++major)
          place.second.push_back(atoms.sizeOf(*major));
      }
      return place;
    };
    if (placeIn(state) != placeIn(goal))
      result.push_back(atom);
  }
  return result;
}

} // namespace spmdc
