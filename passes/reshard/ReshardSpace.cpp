//===- ReshardSpace.cpp - the shardings of one array, over atoms ----------===//

#include "passes/reshard/ReshardSpace.h"

#include <algorithm>

using namespace mlir;

namespace spmdc {
namespace {

/// The coordinates of a shard, the first one major.
std::vector<int64_t> positionsOf(int64_t shard, const std::vector<int64_t> &sizes) {
  std::vector<int64_t> positions(sizes.size());
  for (size_t i = sizes.size(); i-- > 0; shard /= sizes[i])
    positions[i] = shard % sizes[i];
  return positions;
}

} // namespace

ReshardSpace::ReshardSpace(const spmd::MeshShape &mesh, ArrayType type, Atoms atoms)
    : mesh(mesh), deviceCount(mesh.deviceCount()), atoms(std::move(atoms)), hasFullAxesOnly(this->atoms.areFullAxes()),
      shape(type.getShape().begin(), type.getShape().end()),
      elementBytes(static_cast<double>(spmd::byteSize(type.getDType()))) {}

const std::vector<spmd::ShardRange> &ReshardSpace::getShards(size_t dim, ArrayRef<Atom> dimAtoms) const {
  auto [entry, isNew] = shards.try_emplace({dim, AtomList(dimAtoms)});
  std::vector<spmd::ShardRange> &ranges = entry->second;
  if (!isNew)
    return ranges;
  std::vector<int64_t> sizes;
  for (Atom atom : dimAtoms)
    sizes.push_back(atoms.sizeOf(atom));
  auto count = static_cast<int64_t>(groupOf(dimAtoms));
  for (int64_t shard = 0; shard < count; ++shard)
    ranges.push_back(spmd::shardRange(shape[dim], sizes, positionsOf(shard, sizes)));
  return ranges;
}

/// Nested ceilings over a:(1)2 and a:(2)2 always agree with those over `a` only if the shards are even: 5 elements are
/// 2 2 1 0 over `a`, but 2 1 2 0 over its halves.
bool ReshardSpace::isFaithful(size_t dim, ArrayRef<Atom> dimAtoms) const {
  auto count = static_cast<int64_t>(groupOf(dimAtoms));
  if (dimAtoms.size() < 2 || shape[dim] % count == 0)
    return true;
  auto [known, isNew] = faithful.try_emplace({dim, AtomList(dimAtoms)}, true);
  if (isNew)
    known->second = comesOutAlike(dim, dimAtoms);
  return known->second;
}

bool ReshardSpace::comesOutAlike(size_t dim, ArrayRef<Atom> dimAtoms) const {
  std::vector<spmd::AxisRef> axes = atoms.merge(dimAtoms);
  if (axes.size() == dimAtoms.size())
    return true;
  std::vector<int64_t> atomSizes, axisSizes;
  for (Atom atom : dimAtoms)
    atomSizes.push_back(atoms.sizeOf(atom));
  for (const spmd::AxisRef &axis : axes)
    axisSizes.push_back(axis.sizeIn(mesh));
  auto count = static_cast<int64_t>(groupOf(dimAtoms));
  for (int64_t shard = 0; shard < count; ++shard)
    if (spmd::shardRange(shape[dim], atomSizes, positionsOf(shard, atomSizes)) !=
        spmd::shardRange(shape[dim], axisSizes, positionsOf(shard, axisSizes)))
      return false;
  return true;
}

bool ReshardSpace::isFaithful(const ReshardState &state) const {
  for (size_t d = 0; d < shape.size() && !hasFullAxesOnly; ++d)
    if (!isFaithful(d, state.getDim(d)))
      return false;
  return true;
}

spmd::Sharding ReshardSpace::toSharding(const ReshardState &state) const {
  spmd::Sharding sharding;
  for (size_t d = 0; d < shape.size(); ++d)
    sharding.dims.push_back(atoms.merge(state.getDim(d)));
  sharding.unreduced = atoms.merge(state.getUnreduced());
  return sharding;
}

ReshardSpace::DimSize ReshardSpace::shardFurther(DimSize size, ArrayRef<Atom> dimAtoms) const {
  for (Atom atom : dimAtoms) {
    size.largest = llvm::divideCeilSigned(size.largest, atoms.sizeOf(atom));
    size.shards *= atoms.sizeOf(atom);
  }
  return size;
}

ReshardSpace::Sizes ReshardSpace::sizesOf(const ReshardState &state) const {
  Sizes sizes;
  for (size_t d = 0; d < shape.size(); ++d)
    sizes.push_back(sizeOf(d, state.getDim(d)));
  return sizes;
}

double ReshardSpace::localBytes(const Sizes &sizes) const {
  double bytes = elementBytes;
  for (const DimSize &dim : sizes)
    bytes *= static_cast<double>(dim.largest);
  return bytes;
}

double ReshardSpace::localBytes(const spmd::Sharding &sharding) const {
  double bytes = elementBytes;
  for (int64_t size : spmd::localShape(mesh, shape, sharding))
    bytes *= static_cast<double>(size);
  return bytes;
}

std::vector<spmd::AxisRef> ReshardSpace::without(const std::vector<spmd::AxisRef> &axes,
                                                 const std::vector<spmd::AxisRef> &others) const {
  auto remove = [](auto list, const auto &from) {
    llvm::erase_if(list, [&](const auto &item) { return llvm::is_contained(from, item); });
    return list;
  };
  return atoms.exist() ? atoms.merge(remove(atoms.split(axes), atoms.split(others))) : remove(axes, others);
}

double ReshardSpace::groupOf(ArrayRef<Atom> group) const {
  double size = 1;
  for (Atom atom : group)
    size *= static_cast<double>(atoms.sizeOf(atom));
  return size;
}

double ReshardSpace::exchangeBytes(const spmd::Sharding &source, const spmd::Sharding &target) const {
  return spmd::missingElements(mesh, {shape, source}, {shape, target}) * elementBytes;
}

double ReshardSpace::exchangeBytes(const ReshardState &state, const ReshardState &goal) const {
  return deviceCount > kManyDevices ? exchangeBytes(toSharding(state), toSharding(goal)) : missingBytes(state, goal);
}

/// A dimension with all dimensions that share atoms with it, directly or not, in either state.
struct ReshardSpace::SharedDims {
  struct Dim {
    const std::vector<spmd::ShardRange> *have, *want;
    SmallVector<size_t, 4> haveAtoms, wantAtoms; ///< Indices into `atoms`.
  };
  llvm::SmallBitVector dims;
  AtomList atoms;

  SharedDims(const ReshardSpace &space, const ReshardState &state, const ReshardState &goal, size_t first)
      : dims(state.getRank()) {
    add(space, state, goal, first);
  }

  /// The numbers of wanted elements, and of those that are held, summed over all coordinates along the atoms.
  std::pair<double, double> count() const {
    double wanted = 0, held = 0;
    SmallVector<size_t, 8> place(atoms.size());
    while (true) {
      int64_t ofWanted = 1, ofHeld = 1;
      for (const Dim &dim : members) {
        spmd::ShardRange have = shardAt(*dim.have, dim.haveAtoms, place),
                         want = shardAt(*dim.want, dim.wantAtoms, place);
        ofWanted *= want.size;
        int64_t end = std::min(have.start + have.size, want.start + want.size);
        ofHeld *= std::max<int64_t>(0, end - std::max(have.start, want.start));
      }
      wanted += static_cast<double>(ofWanted);
      held += static_cast<double>(ofHeld);
      size_t digit = 0;
      while (digit < place.size() && ++place[digit] == sizes[digit])
        place[digit++] = 0;
      if (digit == place.size())
        return {wanted, held};
    }
  }

private:
  void add(const ReshardSpace &space, const ReshardState &state, const ReshardState &goal, size_t d) {
    dims.set(d);
    auto placesOf = [&](ArrayRef<Atom> list) {
      SmallVector<size_t, 4> result;
      for (Atom atom : list) {
        auto found = std::find(atoms.begin(), atoms.end(), atom);
        result.push_back(found - atoms.begin());
        if (found != atoms.end())
          continue;
        atoms.push_back(atom);
        sizes.push_back(space.atoms.sizeOf(atom));
      }
      return result;
    };
    ArrayRef<Atom> have = state.getDim(d), want = goal.getDim(d);
    members.push_back({&space.getShards(d, have), &space.getShards(d, want), placesOf(have), placesOf(want)});
    auto sharesAtoms = [&](ArrayRef<Atom> list) {
      return llvm::any_of(list, [&](int atom) { return llvm::is_contained(atoms, atom); });
    };
    for (size_t other = 0; other < dims.size(); ++other)
      if (!dims.test(other) && (sharesAtoms(state.getDim(other)) || sharesAtoms(goal.getDim(other))))
        add(space, state, goal, other);
  }

  spmd::ShardRange shardAt(const std::vector<spmd::ShardRange> &shards, const SmallVector<size_t, 4> &digits,
                           const SmallVector<size_t, 8> &place) const {
    size_t shard = 0;
    for (size_t digit : digits)
      shard = shard * sizes[digit] + place[digit];
    return shards[shard];
  }

  SmallVector<size_t, 8> sizes;
  SmallVector<Dim, 4> members;
};

/// Whether one of two lists of atoms is a prefix of the other.
static bool isPrefixOfOther(ArrayRef<Atom> x, ArrayRef<Atom> y) {
  return std::equal(x.begin(), x.begin() + std::min(x.size(), y.size()), y.begin());
}

double ReshardSpace::missingBytes(const ReshardState &state, const ReshardState &goal) const {
  double least = lowerBoundBytes(state, goal);
  if (deviceCount > kManyDevices)
    return std::max(0.0, least);
  // With even shards of which one contains the other, each device holds as much of its target shard as it can.
  auto isNested = [&](size_t d) { return isPrefixOfOther(state.getDim(d), goal.getDim(d)); };
  if (least >= 0 && llvm::all_of(llvm::seq<size_t>(0, shape.size()), isNested))
    return least;
  // Dimensions without a common atom are independent: the sum over devices of products is the product of sums. Each set
  // of dimensions that share atoms is counted over the coordinates along these.
  double wanted = elementBytes, held = elementBytes, places = 1;
  llvm::SmallBitVector done(shape.size());
  for (size_t first = 0; first < shape.size(); ++first) {
    if (done.test(first))
      continue;
    SharedDims shared(*this, state, goal, first);
    done |= shared.dims;
    auto [ofWanted, ofHeld] = shared.count();
    wanted *= ofWanted;
    held *= ofHeld;
    places *= groupOf(shared.atoms);
  }
  return (wanted - held) * (static_cast<double>(deviceCount) / places);
}

double ReshardSpace::lowerBoundBytes(const Sizes &sizes, const Sizes &ofGoal) const {
  double needed = elementBytes, held = elementBytes;
  for (size_t d = 0; d < shape.size(); ++d) {
    auto isEven = [&](const DimSize &size) { return size.largest * size.shards == shape[d]; };
    if (!isEven(sizes[d]) || !isEven(ofGoal[d]))
      return -1;
    needed *= static_cast<double>(ofGoal[d].largest);
    held *= static_cast<double>(std::min(sizes[d].largest, ofGoal[d].largest));
  }
  return (needed - held) * static_cast<double>(deviceCount);
}

double ReshardSpace::lowerBoundReducedBytes(const ReshardState &state, const ReshardState &goal) const {
  double bytes = elementBytes, group = 1;
  for (int64_t size : shape)
    bytes *= static_cast<double>(size);
  for (Atom atom : state.getUnreduced())
    if (!llvm::is_contained(goal.getUnreduced(), atom))
      group *= static_cast<double>(atoms.sizeOf(atom));
  return (group - 1) * bytes;
}

AtomList ReshardSpace::involvedAtoms(const ReshardState &state, const ReshardState &goal) const {
  AtomList result;
  for (Atom atom = 0; atom < atoms.count(); ++atom) {
    // The dimension of the atom, and the sizes of the atoms that are major to it.
    auto placeIn = [&](const ReshardState &in) {
      std::pair<int64_t, SmallVector<int64_t, 4>> place(-1, {});
      for (size_t d = 0; d < shape.size(); ++d) {
        ArrayRef<Atom> dim = in.getDim(d);
        const Atom *found = llvm::find(dim, atom);
        if (found == dim.end())
          continue;
        place.first = static_cast<int64_t>(d);
        for (const Atom *major = dim.begin(); major != found; ++major)
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
