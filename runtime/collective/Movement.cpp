//===- Movement.cpp - bytes that a collective moves to a device -----------===//

#include "runtime/collective/Movement.h"
#include "runtime/collective/BoxBuilder.h"
#include "runtime/collective/CollectiveIdentity.h"
#include "runtime/collective/ReshapedBoxes.h"
#include "runtime/support/Error.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace spmd {
namespace {

using Shape = std::vector<int64_t>;

constexpr size_t maxRank = 16;

std::string shapeText(const Shape &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

int64_t product(const Shape &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

/// Returns the byte strides of a row-major shape.
Shape stridesOf(const Shape &shape, int64_t elementBytes) {
  Shape strides(shape.size());
  int64_t stride = elementBytes;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= shape[d];
  }
  return strides;
}

/// Returns the box of `extent` elements from `sourceStart` to `targetStart`. The elements are `sourceSteps` apart in
/// the source and `targetSteps` in the target; empty steps mean contiguous elements.
Box makeBox(int64_t peer, int64_t elementBytes, const Shape &sourceShape, const Shape &sourceStart,
            const Shape &targetShape, const Shape &targetStart, const Shape &extent, const Shape &sourceSteps = {},
            const Shape &targetSteps = {}) {
  Shape sourceStrides = stridesOf(sourceShape, elementBytes), targetStrides = stridesOf(targetShape, elementBytes);
  int64_t sourceOffset = 0, targetOffset = 0;
  BoxLoops loops;
  for (size_t d = 0; d < extent.size(); ++d) {
    sourceOffset += sourceStart[d] * sourceStrides[d];
    targetOffset += targetStart[d] * targetStrides[d];
    loops.add(extent[d], sourceStrides[d] * (sourceSteps.empty() ? 1 : sourceSteps[d]),
              targetStrides[d] * (targetSteps.empty() ? 1 : targetSteps[d]));
  }
  return spmd::makeBox(peer, elementBytes, sourceOffset, targetOffset, loops);
}

/// Adds all elements of `shape` that are not in [begin, end), or that `steps` (1 if empty) skips, to the zeros.
void addComplement(Movement &movement, int64_t elementBytes, const Shape &shape, const Shape &begin, const Shape &end,
                   const Shape &steps = {}) {
  for (size_t d = 0; d < shape.size(); ++d) {
    Shape start(shape.size(), 0), extent(shape), apart(shape.size(), 1);
    auto take = [&](size_t dim, int64_t from, int64_t to, int64_t step) {
      start[dim] = from;
      extent[dim] = from < to ? (to - from - 1) / step + 1 : 0;
      apart[dim] = step;
    };
    auto addZeros = [&](int64_t from, int64_t to, int64_t step) {
      take(d, from, to, step);
      if (product(extent) > 0)
        movement.zeros.push_back(makeBox(0, elementBytes, shape, start, shape, start, extent, apart, apart));
    };
    auto stepOf = [&](size_t dim) { return steps.empty() ? 1 : steps[dim]; };
    for (size_t i = 0; i < d; ++i)
      take(i, begin[i], end[i], stepOf(i));
    addZeros(0, begin[d], 1);
    addZeros(end[d], shape[d], 1);
    for (int64_t gap = 1; gap < std::min(stepOf(d), end[d] - begin[d]); ++gap)
      addZeros(begin[d] + gap, end[d], stepOf(d));
  }
}

/// Adds all elements of `shape` outside the box [0, valid) to the zeros.
void addComplement(Movement &movement, int64_t elementBytes, const Shape &shape, const Shape &valid) {
  addComplement(movement, elementBytes, shape, Shape(shape.size(), 0), valid);
}

class Builder {
public:
  Builder(const MeshShape &mesh, const CollectiveDesc &desc, int64_t position,
          const std::function<bool(int64_t)> &isWanted)
      : mesh(mesh), desc(desc), position(position), isWanted(isWanted), elementBytes(byteSize(desc.dtype)) {}

  Movement build() {
    if (desc.operandShape.size() > maxRank || desc.resultShape.size() > maxRank)
      fail("collectives of arrays with more than 16 dimensions are not supported");
    for (const AxisRef &axis : desc.axes)
      if (mesh.indexOf(axis.name) < 0)
        fail("the mesh has no axis '" + axis.name + "'");
    if (desc.kind == CollectiveKind::Exchange && desc.axes.empty())
      for (int64_t p = 0; p < mesh.deviceCount(); ++p)
        movement.group.push_back(p);
    else
      movement.group = groupOf(mesh, desc.axes, position);
    for (const AxisRef &axis : desc.axes)
      sizes.push_back(axis.sizeIn(mesh));
    movement.self = std::find(movement.group.begin(), movement.group.end(), position) - movement.group.begin();
    movement.operandBytes = product(desc.operandShape) * elementBytes;
    movement.resultBytes = product(desc.resultShape) * elementBytes;
    switch (desc.kind) {
    case CollectiveKind::AllReduce:
      buildAllReduce();
      break;
    case CollectiveKind::AllGather:
      buildAllGather();
      break;
    case CollectiveKind::ReduceScatter:
      buildReduceScatter();
      break;
    case CollectiveKind::AllToAll:
      buildAllToAll();
      break;
    case CollectiveKind::CollectivePermute:
      buildPermute();
      break;
    case CollectiveKind::CollectiveBroadcast:
      buildBroadcast();
      break;
    case CollectiveKind::Exchange:
      buildExchange();
      break;
    }
    return std::move(movement);
  }

private:
  [[noreturn]] void fail(const std::string &why) const { throw Error(describeCollective(desc) + ": " + why); }

  /// Returns the shard of a dimension of n elements that a position of the group owns.
  ShardRange ownedShard(int64_t n, int64_t member) const {
    Shape coordinates(sizes.size());
    for (size_t i = sizes.size(); i-- > 0;) {
      coordinates[i] = member % sizes[i];
      member /= sizes[i];
    }
    return shardRange(n, sizes, coordinates);
  }
  int64_t groupSize() const { return static_cast<int64_t>(movement.group.size()); }

  /// Returns `shape` with the size of dimension d replaced.
  static Shape with(Shape shape, int64_t d, int64_t size) {
    shape[d] = size;
    return shape;
  }
  void checkDim(int64_t d, const char *what) const {
    if (d < 0 || d >= static_cast<int64_t>(desc.operandShape.size()) ||
        desc.operandShape.size() != desc.resultShape.size())
      fail(std::string("the ") + what + " dimension " + std::to_string(d) + " does not exist");
  }
  void expectShape(const Shape &actual, const Shape &expected, const char *what) const {
    if (actual != expected)
      fail(std::string("the ") + what + " has shape " + shapeText(actual) + " but must have " + shapeText(expected));
  }
  Shape unit(int64_t d, int64_t start) const { return with(Shape(desc.resultShape.size(), 0), d, start); }

  void add(int64_t peer, const Shape &sourceStart, const Shape &targetStart, const Shape &extent,
           const Shape &sourceSteps = {}, const Shape &targetSteps = {}) {
    if (product(extent) > 0 && (!isWanted || peer < 0 || isWanted(peer)))
      movement.boxes.push_back(makeBox(peer, elementBytes, desc.operandShape, sourceStart, desc.resultShape,
                                       targetStart, extent, sourceSteps, targetSteps));
  }

  void buildAllReduce() {
    expectShape(desc.resultShape, desc.operandShape, "result");
    Shape zero(desc.operandShape.size(), 0);
    add(-1, zero, zero, desc.operandShape);
  }

  void buildAllGather() {
    int64_t d = desc.concatDim;
    checkDim(d, "concatenated");
    int64_t n = desc.resultShape[d];
    expectShape(desc.operandShape, with(desc.resultShape, d, localDimSize(n, sizes)), "operand");
    for (int64_t peer = 0; peer < groupSize(); ++peer) {
      ShardRange range = ownedShard(n, peer);
      add(peer, unit(d, 0), unit(d, range.start), with(desc.resultShape, d, range.size));
    }
  }

  void buildReduceScatter() {
    int64_t d = desc.splitDim;
    checkDim(d, "scattered");
    int64_t n = desc.operandShape[d];
    expectShape(desc.resultShape, with(desc.operandShape, d, localDimSize(n, sizes)), "result");
    ShardRange range = ownedShard(n, movement.self);
    Shape extent = with(desc.resultShape, d, range.size);
    add(-1, unit(d, range.start), unit(d, 0), extent);
    addComplement(movement, elementBytes, desc.resultShape, extent);
  }

  void buildAllToAll() {
    int64_t split = desc.splitDim, concat = desc.concatDim;
    checkDim(split, "split");
    checkDim(concat, "concatenated");
    int64_t splitSize = desc.operandShape[split], paddedShard = localDimSize(splitSize, sizes);
    ShardRange mine = ownedShard(splitSize, movement.self);
    if (split == concat) {
      // Each member's shard has the same padded size here; the shards are consecutive.
      expectShape(desc.resultShape, with(desc.operandShape, split, paddedShard * groupSize()), "result");
      for (int64_t peer = 0; peer < groupSize(); ++peer)
        add(peer, unit(split, mine.start), unit(split, peer * paddedShard), with(desc.resultShape, split, mine.size));
      if (mine.size < paddedShard)
        for (int64_t peer = 0; peer < groupSize(); ++peer) {
          Shape start = unit(split, peer * paddedShard + mine.size);
          Shape extent = with(desc.resultShape, split, paddedShard - mine.size);
          if (product(extent) > 0)
            movement.zeros.push_back(
                makeBox(0, elementBytes, desc.resultShape, start, desc.resultShape, start, extent));
        }
      return;
    }
    int64_t concatSize = desc.resultShape[concat];
    expectShape(desc.resultShape, with(with(desc.operandShape, split, paddedShard), concat, concatSize), "result");
    expectShape(desc.operandShape, with(desc.operandShape, concat, localDimSize(concatSize, sizes)), "operand");
    for (int64_t peer = 0; peer < groupSize(); ++peer) {
      ShardRange range = ownedShard(concatSize, peer);
      add(peer, unit(split, mine.start), unit(concat, range.start),
          with(with(desc.resultShape, split, mine.size), concat, range.size));
    }
    addComplement(movement, elementBytes, desc.resultShape, with(desc.resultShape, split, mine.size));
  }

  void buildPermute() {
    expectShape(desc.resultShape, desc.operandShape, "result");
    Shape zero(desc.operandShape.size(), 0);
    bool isTarget = false;
    std::vector<bool> sends(groupSize()), receives(groupSize());
    for (auto [source, target] : desc.pairs) {
      if (source < 0 || target < 0 || source >= groupSize() || target >= groupSize())
        fail("the pair (" + std::to_string(source) + ", " + std::to_string(target) + ") is outside the group of " +
             std::to_string(groupSize()));
      if (sends[source] || receives[target])
        fail("position " + std::to_string(sends[source] ? source : target) + (sends[source] ? " sends" : " receives") +
             " twice");
      sends[source] = receives[target] = true;
      if (target == movement.self) {
        isTarget = true;
        add(source, zero, zero, desc.operandShape);
      }
    }
    if (!isTarget)
      addComplement(movement, elementBytes, desc.resultShape, zero);
    // A scalar has no dimension for addComplement.
    if (!isTarget && desc.resultShape.empty())
      movement.zeros.push_back(makeBox(0, elementBytes, {}, {}, {}, {}, {}));
  }

  void buildBroadcast() {
    expectShape(desc.resultShape, desc.operandShape, "result");
    if (desc.root < 0 || desc.root >= groupSize())
      fail("the root " + std::to_string(desc.root) + " is outside the group of " + std::to_string(groupSize()));
    Shape zero(desc.operandShape.size(), 0);
    add(desc.root, zero, zero, desc.operandShape);
  }

  static Shape startsOf(const std::vector<ShardRange> &ranges) {
    Shape starts;
    for (ShardRange range : ranges)
      starts.push_back(range.start);
    return starts;
  }

  void buildExchange() {
    ShardedShape source{desc.globalShape, desc.source};
    expectShape(desc.operandShape, localSourceShape(mesh, source, desc.moves), "operand");
    expectShape(desc.resultShape, localShape(mesh, desc.getTargetShape(), desc.target), "result");
    if (!(desc.source.unreduced == desc.target.unreduced))
      fail("an exchange does not sum; reduce the partial sums first");
    if (desc.isReshaped())
      return buildReshape();
    size_t rank = desc.globalShape.size();
    std::vector<ShardRange> wanted = ownedRanges(mesh, desc.getTargetShape(), desc.target, position);
    std::vector<DimMove> moves = desc.moves;
    for (size_t d = moves.size(); d < rank; ++d)
      moves.push_back({0, 1, 0, desc.globalShape[d]});
    // The box of source elements, in indices of this device's shard; the rest of the shard is zero.
    Shape begins(rank), ends(rank), sourceSteps(rank), targetSteps(rank);
    std::vector<std::vector<DimMove>> turns(rank);
    for (size_t d = 0; d < rank; ++d) {
      DimMove move = moves[d].inWindowOf(wanted[d].start,
                                         d < desc.target.dims.size() ? sizesOf(mesh, desc.target.dims[d]) : Shape());
      turns[d] = unwrapped(move, desc.globalShape[d], wanted[d]);
      for (const DimMove &turn : turns[d]) {
        MovedRange moved = movedRange(turn, {0, desc.globalShape[d]}, wanted[d]);
        if (moved.size == 0)
          continue;
        if (ends[d] == 0)
          begins[d] = moved.start - wanted[d].start;
        ends[d] = moved.end() - wanted[d].start;
      }
      // Neighbours in the target are `stride` apart in the dilated source.
      sourceSteps[d] = moves[d].stride;
      targetSteps[d] = moves[d].dilation;
    }
    int64_t covered = 0, needed = 1;
    for (size_t d = 0; d < rank; ++d)
      needed *= (ends[d] - begins[d] + targetSteps[d] - 1) / targetSteps[d];
    forEachHolder([&](int64_t holder, const Ranges &ranges) {
      Shape sourceStart(rank), targetStart(rank), extent(rank);
      auto addBoxes = [&](auto &&next, size_t d) -> void {
        if (d == rank) {
          covered += product(extent);
          add(holder, sourceStart, targetStart, extent, sourceSteps, targetSteps);
          return;
        }
        for (const DimMove &turn : turns[d]) {
          MovedRange moved = movedRange(turn, {ranges[d].first, ranges[d].second}, wanted[d]);
          if (moved.size == 0)
            continue;
          sourceStart[d] = (turn.shift + moved.start * turn.stride) / turn.dilation - ranges[d].first;
          targetStart[d] = moved.start - wanted[d].start;
          extent[d] = moved.size;
          next(next, d + 1);
        }
      };
      addBoxes(addBoxes, 0);
    });
    checkCovered(covered, needed);
    addComplement(movement, elementBytes, desc.resultShape, begins, ends, targetSteps);
  }

  void buildReshape() {
    if (desc.globalShape.size() + desc.targetShape.size() > maxRank)
      fail("reshapes with more than 16 dimensions in source and target together are not supported");
    int64_t covered = 0;
    forEachHolder([&](int64_t holder, const Ranges &) {
      for (Box &box : listReshapedBoxes(mesh, desc, movement.group[holder], position)) {
        covered += box.runCount() * box.runBytes / elementBytes;
        box.source = holder;
        if (!isWanted || isWanted(holder))
          movement.boxes.push_back(std::move(box));
      }
    });
    Shape sizes;
    for (ShardRange range : ownedRanges(mesh, desc.targetShape, desc.target, position))
      sizes.push_back(range.size);
    checkCovered(covered, product(sizes));
    addComplement(movement, elementBytes, desc.resultShape, sizes);
  }

  void checkCovered(int64_t covered, int64_t needed) const {
    if (covered != needed)
      fail("some elements of " + desc.target.str() + " have no owner in the group");
  }

  using Ranges = std::vector<std::pair<int64_t, int64_t>>;

  /// Calls visit for each shard of an exchange's source: with the member of the group from which it is taken, and its
  /// ranges.
  template <typename Visit> void forEachHolder(Visit &&visit) const {
    ShardedShape source{desc.globalShape, desc.source};
    // Partial sums are not replicas: only devices with the same coordinates along the unreduced axes hold the same
    // addend.
    auto partOf = [&](int64_t device) {
      Shape part, coordinates = mesh.coordinates(device);
      for (const AxisRef &axis : desc.source.unreduced)
        part.push_back(axis.coordinateIn(mesh, coordinates));
      return part;
    };
    std::map<Ranges, std::vector<int64_t>> holders;
    for (int64_t peer = 0; peer < groupSize(); ++peer) {
      if (partOf(movement.group[peer]) != partOf(position))
        continue;
      Ranges key;
      Shape coordinates = mesh.coordinates(movement.group[peer]);
      for (size_t d = 0; d < desc.globalShape.size(); ++d) {
        ShardRange range = ownedSource(mesh, source, desc.moves, d, coordinates);
        key.push_back({range.start, range.size});
      }
      holders[key].push_back(peer);
    }
    for (auto &[ranges, peers] : holders) {
      bool isMine = std::find(peers.begin(), peers.end(), movement.self) != peers.end();
      // A device that is itself a holder reads its own memory; the others spread over the replicas.
      visit(isMine ? movement.self : peers[movement.self % peers.size()], ranges);
    }
  }

  const MeshShape &mesh;
  const CollectiveDesc &desc;
  const int64_t position;
  const std::function<bool(int64_t)> &isWanted;
  const int64_t elementBytes;
  Shape sizes;
  Movement movement;
};

template <typename Word> void copyWords(const Box &box, const char *source, char *target, int64_t begin, int64_t end) {
  forEachRun(box, begin, end, [&](int64_t from, int64_t to) {
    Word word;
    std::memcpy(&word, source + from, sizeof word);
    std::memcpy(target + to, &word, sizeof word);
  });
}

} // namespace

int64_t Box::runCount() const { return product(counts); }

Movement computeMovement(const MeshShape &mesh, const CollectiveDesc &desc, int64_t position,
                         const std::function<bool(int64_t member)> &wanted) {
  return Builder(mesh, desc, position, wanted).build();
}

void copyBox(const Box &box, const char *source, char *target, int64_t begin, int64_t end) {
  switch (box.runBytes) {
  case 1:
    return copyWords<uint8_t>(box, source, target, begin, end);
  case 2:
    return copyWords<uint16_t>(box, source, target, begin, end);
  case 4:
    return copyWords<uint32_t>(box, source, target, begin, end);
  case 8:
    return copyWords<uint64_t>(box, source, target, begin, end);
  default:
    forEachRun(box, begin, end,
               [&](int64_t from, int64_t to) { std::memcpy(target + to, source + from, box.runBytes); });
  }
}

void zeroBox(const Box &box, char *target) {
  forEachRun(box, 0, box.runCount(), [&](int64_t, int64_t to) { std::memset(target + to, 0, box.runBytes); });
}

} // namespace spmd
