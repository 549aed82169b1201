//===- DimMoves.cpp - arrays that are made of the elements of others ------===//

#include "runtime/support/DimMoves.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace spmd {
namespace {

int64_t floorDivide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
int64_t ceilDivide(int64_t a, int64_t b) { return -floorDivide(-a, b); }
int64_t moduloOf(int64_t a, int64_t b) { return a - floorDivide(a, b) * b; }

/// The i for which shift + i * stride can be divided, modulo the divisor, which shares none with the stride.
int64_t firstMultiple(int64_t shift, int64_t stride, int64_t divisor) {
  // The inverse of the stride, by Euclid's algorithm.
  int64_t rest = divisor, next = moduloOf(stride, divisor), factor = 0, nextFactor = 1;
  while (next != 0) {
    int64_t quotient = rest / next;
    rest = std::exchange(next, rest - quotient * next);
    factor = std::exchange(nextFactor, factor - quotient * nextFactor);
  }
  auto product = static_cast<__int128>(moduloOf(-shift, divisor)) * moduloOf(factor, divisor);
  return static_cast<int64_t>(product % divisor);
}

const std::vector<AxisRef> &axesOf(const ShardedShape &array, size_t dim) {
  static const std::vector<AxisRef> none;
  return dim < array.sharding.dims.size() ? array.sharding.dims[dim] : none;
}

/// The numbers of the mesh's axes that cut a dimension of either array.
std::vector<size_t> axesOfDim(const MeshShape &mesh, const ShardedShape &source, const ShardedShape &target,
                              size_t dim) {
  std::vector<size_t> numbers;
  for (size_t i = 0; i < mesh.axes.size(); ++i) {
    auto isIt = [&](const AxisRef &axis) { return axis.name == mesh.axes[i].name; };
    const std::vector<AxisRef> &from = axesOf(source, dim), &to = axesOf(target, dim);
    if (std::any_of(from.begin(), from.end(), isIt) || std::any_of(to.begin(), to.end(), isIt))
      numbers.push_back(i);
  }
  return numbers;
}

/// Calls visit for each place along these axes, with 0 as the coordinate of the others.
template <typename Visit> void forEachPlace(const MeshShape &mesh, const std::vector<size_t> &axes, Visit &&visit) {
  std::vector<int64_t> coordinates(mesh.axes.size());
  while (true) {
    visit(coordinates);
    size_t next = axes.size();
    while (next > 0 && ++coordinates[axes[next - 1]] == mesh.axes[axes[next - 1]].size)
      coordinates[axes[--next]] = 0;
    if (next == 0)
      return;
  }
}

DimMove moveOf(const std::vector<DimMove> &moves, const ShardedShape &source, size_t dim) {
  return moves.empty() ? DimMove{0, 1, 0, source.shape[dim]} : moves[dim];
}

/// Numbers of elements, added up over the places along axes: what the devices there need of dimensions, and hold of
/// that.
struct Counts {
  double needed = 0, held = 0;
};

/// Of dimensions that share axes, where in each one side's pieces are pieces of the other's, without a look at each
/// place: of one dimension pieces add up to the whole, of several they must be of one size.
std::optional<Counts> countNested(const MeshShape &mesh, const ShardedShape &source, const ShardedShape &target,
                                  const std::vector<DimMove> &moves, const std::vector<size_t> &dims) {
  auto piecesOf = [&](const std::vector<AxisRef> &axes) {
    std::vector<int64_t> sizes = sizesOf(mesh, axes);
    return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
  };
  double elements = 1, pieces = 1, most = 1;
  std::vector<bool> isCounted(mesh.axes.size());
  for (size_t d : dims) {
    const std::vector<AxisRef> &from = axesOf(source, d), &to = axesOf(target, d);
    auto common = static_cast<std::ptrdiff_t>(std::min(from.size(), to.size()));
    int64_t wanted = piecesOf(to), finest = std::max(wanted, piecesOf(from)), size = source.shape[d];
    if (target.shape[d] != size || (!moves.empty() && moves[d] != DimMove{0, 1, 0, size}) ||
        !std::equal(from.begin(), from.begin() + common, to.begin()) || (dims.size() > 1 && size % finest != 0))
      return std::nullopt;
    elements *= static_cast<double>(size);
    pieces *= static_cast<double>(wanted);
    most *= static_cast<double>(finest);
    for (size_t axis : axesOfDim(mesh, source, target, d))
      isCounted[axis] = true;
  }
  for (size_t i = 0; i < mesh.axes.size(); ++i)
    if (isCounted[i])
      elements *= static_cast<double>(mesh.axes[i].size);
  return Counts{elements / pieces, elements / most};
}

/// One dimension of an array, for the piece that each place in the mesh owns of it.
class CutDim {
public:
  CutDim(const MeshShape &mesh, int64_t size, const std::vector<AxisRef> &axes)
      : size(size), sizes(sizesOf(mesh, axes)), positions(axes.size()) {
    for (size_t i = 0; i < axes.size(); ++i)
      if (int index = mesh.indexOf(axes[i].name); index >= 0)
        digits.push_back({i, static_cast<size_t>(index), mesh.axes[index].size / (axes[i].preSize * sizes[i])});
  }

  const std::vector<int64_t> &getSizes() const { return sizes; }

  ShardRange at(const std::vector<int64_t> &coordinates) {
    for (const Digit &digit : digits)
      positions[digit.position] = coordinates[digit.axis] / digit.minor % sizes[digit.position];
    return shardRange(size, sizes, positions);
  }

private:
  struct Digit {
    size_t position; ///< Among the axes that cut the dimension,
    size_t axis;     ///< and of which of the mesh it is a part,
    int64_t minor;   ///< of which so many pieces are minor to it.
  };
  int64_t size;
  std::vector<int64_t> sizes, positions;
  std::vector<Digit> digits;
};

/// Of dimensions that share axes, by a look at each place along all of them.
Counts countPlaces(const MeshShape &mesh, const ShardedShape &source, const ShardedShape &target,
                   const std::vector<DimMove> &moves, const std::vector<size_t> &dims) {
  // Of each dimension by itself first, along its own axes (the last fastest).
  struct OfDim {
    std::vector<Counts> places;
    std::vector<size_t> strides; ///< How far a step along each axis of the mesh leads in `places`.
  };
  std::vector<OfDim> counts;
  std::vector<size_t> allAxes;
  for (size_t d : dims) {
    std::vector<size_t> axes = axesOfDim(mesh, source, target, d);
    OfDim dim{{}, std::vector<size_t>(mesh.axes.size())};
    const DimMove windows = moveOf(moves, source, d);
    CutDim blocks(mesh, source.shape[d] / windows.block, axesOf(source, d));
    CutDim wanted(mesh, target.shape[d], axesOf(target, d));
    forEachPlace(mesh, axes, [&](const std::vector<int64_t> &coordinates) {
      ShardRange ofBlocks = blocks.at(coordinates), needs = wanted.at(coordinates);
      ShardRange has{ofBlocks.start * windows.block, ofBlocks.size * windows.block};
      Counts &here = dim.places.emplace_back();
      auto count = [&](const DimMove &move) {
        here.needed += static_cast<double>(movedRange(move, {0, source.shape[d]}, needs).size);
        here.held += static_cast<double>(movedRange(move, has, needs).size);
      };
      DimMove move = windows.inWindowOf(needs.start, wanted.getSizes());
      if (!move.wraps)
        return count(move);
      for (const DimMove &turn : unwrapped(move, source.shape[d], needs))
        count(turn);
    });
    size_t stride = 1;
    for (size_t i = axes.size(); i-- > 0; stride *= static_cast<size_t>(mesh.axes[axes[i]].size)) {
      dim.strides[axes[i]] = stride;
      if (std::find(allAxes.begin(), allAxes.end(), axes[i]) == allAxes.end())
        allAxes.push_back(axes[i]);
    }
    counts.push_back(std::move(dim));
  }
  Counts sum;
  forEachPlace(mesh, allAxes, [&](const std::vector<int64_t> &coordinates) {
    Counts here{1, 1};
    for (const OfDim &dim : counts) {
      size_t at = 0;
      for (size_t axis : allAxes)
        at += dim.strides[axis] * static_cast<size_t>(coordinates[axis]);
      here.needed *= dim.places[at].needed;
      here.held *= dim.places[at].held;
    }
    sum.needed += here.needed;
    sum.held += here.held;
  });
  return sum;
}

/// All dimensions, in groups of those that share axes, on either side, with others of their group.
std::vector<std::vector<size_t>> dimsThatShareAxes(const MeshShape &mesh, const ShardedShape &source,
                                                   const ShardedShape &target) {
  size_t rank = source.shape.size();
  std::vector<size_t> groupOfDim(rank);
  std::iota(groupOfDim.begin(), groupOfDim.end(), 0);
  std::vector<std::vector<size_t>> axes;
  for (size_t d = 0; d < rank; ++d) {
    axes.push_back(axesOfDim(mesh, source, target, d));
    for (size_t e = 0; e < d; ++e) {
      bool share = std::find_first_of(axes[d].begin(), axes[d].end(), axes[e].begin(), axes[e].end()) != axes[d].end();
      size_t old = groupOfDim[e];
      if (share)
        std::replace(groupOfDim.begin(), groupOfDim.end(), old, groupOfDim[d]);
    }
  }
  std::vector<std::vector<size_t>> groups;
  for (size_t group = 0; group < rank; ++group) {
    std::vector<size_t> dims;
    for (size_t d = 0; d < rank; ++d)
      if (groupOfDim[d] == group)
        dims.push_back(d);
    if (!dims.empty())
      groups.push_back(dims);
  }
  return groups;
}

} // namespace

DimMove DimMove::inWindowOf(int64_t i, const std::vector<int64_t> &axisSizes) const {
  if (length == 0)
    return *this;
  int64_t window = i / length, left = window;
  std::vector<int64_t> coordinates(axisSizes.size());
  for (size_t k = axisSizes.size(); k-- > 0; left /= axisSizes[k])
    coordinates[k] = left % axisSizes[k];
  ShardRange piece = shardRange(base, axisSizes, coordinates);
  int64_t missing = localDimSize(base, axisSizes) - piece.size;
  int64_t places = piece.size == 0 ? 0 : std::max<int64_t>(0, length - missing * step / stride);
  DimMove move = *this;
  move.shift = shift + piece.start * step - window * length * stride;
  move.length = move.step = move.base = 0;
  move.end = std::max(move.begin, std::min(end, window * length + places));
  return move;
}

std::vector<DimMove> unwrapped(const DimMove &move, int64_t size, const ShardRange &target) {
  if (!move.wraps)
    return {move};
  int64_t begin = std::max(move.begin, target.start), end = std::min(move.end, target.start + target.size);
  std::vector<DimMove> moves;
  if (begin >= end || size == 0)
    return moves;
  int64_t last = floorDivide(move.shift + (end - 1) * move.stride, size);
  for (int64_t turn = floorDivide(move.shift + begin * move.stride, size); turn <= last; ++turn) {
    moves.push_back(move);
    moves.back().shift -= turn * size;
    moves.back().wraps = false;
  }
  return moves;
}

MovedRange movedRange(const DimMove &move, const ShardRange &source, const ShardRange &target) {
  // shift + i * stride between the first and the last element of the source, dilated.
  int64_t near = source.start * move.dilation - move.shift;
  int64_t far = (source.start + source.size - 1) * move.dilation - move.shift;
  if (move.stride < 0)
    std::swap(near, far);
  int64_t begin = std::max({ceilDivide(near, move.stride), move.begin, target.start});
  int64_t end = std::min({floorDivide(far, move.stride) + 1, move.end, target.start + target.size});
  if (move.dilation > 1)
    begin += moduloOf(firstMultiple(move.shift, move.stride, move.dilation) - begin, move.dilation);
  int64_t count = source.size > 0 && begin < end ? (end - begin - 1) / move.dilation + 1 : 0;
  return {begin, count, move.dilation};
}

ShardRange ownedSource(const MeshShape &mesh, const ShardedShape &source, const std::vector<DimMove> &moves, size_t dim,
                       const std::vector<int64_t> &coordinates) {
  int64_t block = moveOf(moves, source, dim).block;
  ShardRange blocks = ownedRange(mesh, source.shape[dim] / block, axesOf(source, dim), coordinates);
  return {blocks.start * block, blocks.size * block};
}

std::vector<int64_t> localSourceShape(const MeshShape &mesh, const ShardedShape &source,
                                      const std::vector<DimMove> &moves) {
  std::vector<int64_t> shape;
  for (size_t d = 0; d < source.shape.size(); ++d) {
    int64_t block = moveOf(moves, source, d).block;
    shape.push_back(block * localDimSize(source.shape[d] / block, sizesOf(mesh, axesOf(source, d))));
  }
  return shape;
}

double missingElements(const MeshShape &mesh, const ShardedShape &source, const ShardedShape &target,
                       const std::vector<DimMove> &moves) {
  // Dimensions that share no axis are independent: sums over devices of products are products of sums. Each group of
  // dimensions that do share axes is counted over the places along these.
  double needed = 1, held = 1;
  std::vector<bool> isCounted(mesh.axes.size());
  for (const std::vector<size_t> &dims : dimsThatShareAxes(mesh, source, target)) {
    std::optional<Counts> counts = countNested(mesh, source, target, moves, dims);
    if (!counts)
      counts = countPlaces(mesh, source, target, moves, dims);
    needed *= counts->needed;
    held *= counts->held;
    for (size_t d : dims)
      for (size_t axis : axesOfDim(mesh, source, target, d))
        isCounted[axis] = true;
  }
  double replicas = 1;
  for (size_t i = 0; i < mesh.axes.size(); ++i)
    if (!isCounted[i])
      replicas *= static_cast<double>(mesh.axes[i].size);
  return replicas * (needed - held);
}

std::optional<std::vector<LocalStart>> getLocalStarts(const MeshShape &mesh, const ShardedShape &source,
                                                      const ShardedShape &target, const std::vector<DimMove> &moves) {
  std::vector<LocalStart> starts;
  for (size_t d = 0; d < source.shape.size(); ++d) {
    DimMove windows = moveOf(moves, source, d);
    std::vector<int64_t> sizes = sizesOf(mesh, axesOf(target, d));
    if (windows.stride < 1 || windows.wraps)
      return std::nullopt;
    std::optional<LocalStart> start;
    bool isThere = true;
    MovedRange all = movedRange(windows, {0, source.shape[d]}, {0, target.shape[d]});
    forEachPlace(mesh, axesOfDim(mesh, source, target, d), [&](const std::vector<int64_t> &coordinates) {
      ShardRange has = ownedSource(mesh, source, moves, d, coordinates);
      ShardRange needs = ownedRange(mesh, target.shape[d], axesOf(target, d), coordinates);
      DimMove move = windows.inWindowOf(needs.start, sizes);
      MovedRange moved = movedRange(move, {0, source.shape[d]}, needs);
      // Between elements that are apart are places that must not be taken for one.
      bool isWithin = std::max(all.start, needs.start) < std::min(all.end(), needs.start + needs.size);
      bool hasGap = windows.dilation > 1 && (windows.length > 0 || isWithin);
      if (moved.size == 0 && !hasGap)
        return;
      int64_t own = move.shift + needs.start * move.stride - has.start * move.dilation;
      isThere = isThere && movedRange(move, has, needs) == moved;
      if (!start)
        start = {own, own};
      start->least = std::min(start->least, own);
      start->greatest = std::max(start->greatest, own);
    });
    // The end of a short window would be taken for elements, where it is a gap between others.
    bool hasGaps = windows.dilation > 1 && windows.length > 0;
    if (!isThere || (hasGaps && start && !start->isSame()))
      return std::nullopt;
    starts.push_back(start.value_or(LocalStart()));
  }
  return starts;
}

} // namespace spmd
