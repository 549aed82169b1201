//===- ChooseMapping.cpp - maps loops to blocks and threads ---------------===//

#include "passes/gpu/ContinuedScans.h"
#include "passes/gpu/MappingChooser.h"

using namespace mlir;

namespace spmdc {
namespace {

constexpr int64_t kFlatThreads = 256, kRowThreads = 128;
/// A vector width must leave at least this many threads, to hide the latency of memory.
constexpr int64_t kMinThreads = 16384;
/// ThreadPerRow: the fewest elements of a row for one thread. A block has as many lanes as a warp, so that a warp's
/// accesses are adjacent.
constexpr int64_t kMinStripElements = 4;
/// ThreadPerRow: the most accumulators of a thread.
constexpr int64_t kMaxAccumulators = 16;
/// ThreadPerRow: the most elements that a thread loads ahead where each has a scan of its own: it cannot be shared by
/// strips, so there are fewer threads. With 8 elements ahead, 32,768 threads of an H200 took one latency of memory for
/// each 8 elements, 118 us for 128 of them.
constexpr int64_t kMaxScanAhead = 32;
/// The most loads of a kernel that go through squares.
constexpr int64_t kMaxTiles = 4;
/// The most shared memory that the tiles of a kernel take.
constexpr int64_t kMaxTileBytes = 40 * 1024;
/// Bytes of one read or write of a thread in a square.
constexpr int64_t kTileAccessBytes = 4;

} // namespace

GpuMapping MappingChooser::choose() {
  using Lanes = KernelSchedule::Lanes;
  bool hasLoops = llvm::any_of(schedule.stages, [&](const KernelSchedule::Stage &stage) {
    return !stage.reductions.empty() || !stage.scans.empty() || !schedule.domains[stage.domain].shape.empty();
  });
  if (schedule.lanes == Lanes::Inner || ContinuedScans::isIn(schedule))
    chooseGroups();
  else if (schedule.lanes == Lanes::Tiles && chooseTiles())
    ;
  else if (hasLoops)
    chooseThreads();
  else
    chooseFlat();
  return std::move(mapping);
}

bool MappingChooser::dependsOnRow(ArrayRef<IndexExpr> index) const {
  if (schedule.rowVars.empty())
    return true;
  return llvm::any_of(schedule.rowVars, [&](const IndexExpr &row) {
    return !row.isConstant() && llvm::any_of(index, [&](const IndexExpr &expr) {
      return schedule.indexing->space.dependsOn(expr, row.terms[0].first);
    });
  });
}

int64_t MappingChooser::chooseVector(const IndexExpr &variable, int64_t size) const {
  if (variable.isConstant() || isHeavyBody)
    return 1;
  unsigned atom = variable.terms[0].first;
  IndexSpace &space = schedule.indexing->space;
  int64_t widest = 0;
  auto see = [&](Value value, ArrayRef<IndexExpr> index) {
    IndexExpr position = space.linearize(index, cast<ArrayType>(value.getType()).getShape());
    if (space.dependsOn(position, atom) && position.coefficientOf(atom) == 1)
      widest = std::max(widest, byteSizeOf(value));
  };
  bool hasLoops = llvm::any_of(schedule.domains, [](const auto &domain) { return domain.getExtent() > 1; });
  for (const KernelSchedule::Load &load : schedule.loads)
    if (dependsOnRow(load.index))
      see(load.value, load.index);
  // Stores that run once for each row take little time compared to the loops.
  for (const KernelSchedule::Stage &stage : schedule.stages)
    for (const KernelSchedule::Store &store : stage.stores)
      if (!hasLoops || schedule.domains[stage.domain].getExtent() > 1)
        see(body.outputs[store.output], store.index);
  if (!widest)
    return 1;
  int64_t vector = std::min(weight >= kHalfHeavy ? kMaxVector / 2 : kMaxVector, kVectorBytes / widest);
  while (size % vector)
    vector /= 2;
  return vector;
}

void MappingChooser::chooseFlat() {
  mapping.kind = GpuMapping::Kind::Flat;
  int64_t extent = rowExtent();
  if (!schedule.rowShape.empty())
    mapping.vector = chooseVector(schedule.rowVars.back(), schedule.rowShape.back());
  while (mapping.vector > 1 && extent / mapping.vector < kMinThreads)
    mapping.vector /= 2;
  mapping.blockThreads = kFlatThreads;
  mapping.gridBlocks = ceilDiv(extent / mapping.vector, kFlatThreads);
}

bool MappingChooser::readsRowsSideBySide() const {
  if (schedule.rowVars.empty() || schedule.rowVars.back().isConstant())
    return false;
  unsigned atom = schedule.rowVars.back().terms[0].first;
  return llvm::any_of(schedule.loads, [&](const KernelSchedule::Load &load) {
    ArrayRef<int64_t> shape = cast<ArrayType>(load.value.getType()).getShape();
    return schedule.indexing->space.linearize(load.index, shape).coefficientOf(atom) == 1;
  });
}

void MappingChooser::chooseThreads() {
  mapping.kind = GpuMapping::Kind::ThreadPerRow;
  int64_t extent = rowExtent(), longest = 1, accumulators = 1, accumulatorBytes = 0;
  bool hasScans = false;
  for (const KernelSchedule::Stage &stage : schedule.stages) {
    longest = std::max(longest, schedule.domains[stage.domain].getExtent());
    accumulators = std::max<int64_t>(accumulators, stage.reductions.size() + stage.scans.size());
    hasScans |= !stage.scans.empty();
    for (KernelSchedule::Reduction reduction : stage.reductions)
      accumulatorBytes += std::max<int64_t>(4, byteSizeOf(reduction.op.getResult()));
  }
  if (readsRowsSideBySide())
    mapping.vector = chooseVector(schedule.rowVars.back(), schedule.rowShape.back());
  int64_t perStrip = hasScans ? longest : std::min(longest, kMinStripElements);
  auto threadsOf = [&] { return extent / mapping.vector * (longest / perStrip); };
  while (mapping.vector > 1 && (threadsOf() < kWantedThreads || mapping.vector * accumulators > kMaxAccumulators))
    mapping.vector /= 2;
  int64_t groups = extent / mapping.vector;
  int64_t lanes = std::clamp<int64_t>(llvm::PowerOf2Ceil(groups), 1, kWarpThreads);
  int64_t most = std::min(kMaxThreads / lanes, static_cast<int64_t>(llvm::bit_floor<uint64_t>(longest / perStrip)));
  if (groups < kWantedThreads)
    mapping.strips = std::min<int64_t>(most, llvm::PowerOf2Ceil(ceilDiv(kWantedThreads, std::max<int64_t>(groups, 1))));
  while (mapping.strips > 1 && accumulatorBytes * mapping.vector * mapping.strips * lanes > kMaxSharedCache)
    mapping.strips /= 2;
  // A small block does not pay for its launch.
  lanes = std::max(lanes, std::min<int64_t>(kRowThreads / mapping.strips, llvm::PowerOf2Ceil(groups)));
  mapping.blockThreads = std::max(lanes * mapping.strips, std::min(kRowThreads, kWarpThreads));
  if (mapping.strips == 1)
    mapping.blockThreads = kRowThreads;
  mapping.gridBlocks = ceilDiv(groups, mapping.blockThreads / mapping.strips);
  // A guarded load is not loaded ahead: a block of a scan reads the sum before it once.
  int64_t loads = llvm::count_if(schedule.loads, [&](auto &load) { return !hasScans || !load.isGuarded; });
  int64_t ahead = hasScans ? kMaxScanAhead : kMaxAhead;
  if (!isHeavyBody && isSimpleBody)
    mapping.batch = std::max<int64_t>(1, ahead / (mapping.vector * std::max<int64_t>(1, loads)));
}

bool MappingChooser::chooseTiles() {
  size_t tiled = schedule.tiledRow, rank = schedule.rowShape.size();
  unsigned lane = schedule.rowVars.back().terms[0].first, across = schedule.rowVars[tiled].terms[0].first;
  IndexSpace &space = schedule.indexing->space;
  for (auto [number, load] : llvm::enumerate(schedule.loads)) {
    ArrayRef<int64_t> shape = cast<ArrayType>(load.value.getType()).getShape();
    IndexExpr position = space.linearize(load.index, shape);
    bool isCrosswise = !space.countDivisions(position) && std::abs(position.coefficientOf(across)) == 1 &&
                       std::abs(position.coefficientOf(lane)) > 1;
    // The block reads the square without a test for each element: all elements must exist.
    bool isInside = llvm::all_of(llvm::zip(load.index, shape), [&](auto pair) {
      IndexRange range = space.rangeOf(std::get<0>(pair));
      return range.low >= 0 && range.high < std::get<1>(pair);
    });
    bool isKnown = llvm::any_of(mapping.tiledLoads, [&](unsigned other) {
      return schedule.loads[other].value == load.value && schedule.loads[other].index == load.index;
    });
    if (isCrosswise && isInside && !isKnown && static_cast<int64_t>(mapping.tiledLoads.size()) < kMaxTiles)
      mapping.tiledLoads.push_back(number);
  }
  if (mapping.tiledLoads.empty())
    return false;
  mapping.kind = GpuMapping::Kind::Tiles;
  mapping.tileVector = chooseTileVector();
  mapping.tileSide = kTileThreads * mapping.tileVector;
  mapping.blockThreads = kTileThreads * kTileThreadRows;
  mapping.gridBlocks = 1;
  for (size_t d = 0; d < rank; ++d)
    mapping.gridBlocks *=
        d == tiled || d + 1 == rank ? ceilDiv(schedule.rowShape[d], mapping.tileSide) : schedule.rowShape[d];
  return true;
}

int64_t MappingChooser::chooseTileVector() const {
  int64_t narrowest = kTileAccessBytes, elementBytes = 0;
  for (unsigned number : mapping.tiledLoads) {
    narrowest = std::min(narrowest, byteSizeOf(schedule.loads[number].value));
    elementBytes += byteSizeOf(schedule.loads[number].value);
  }
  int64_t vector = isHeavyBody ? 1 : kTileAccessBytes / narrowest;
  auto fits = [&] {
    int64_t side = kTileThreads * vector;
    // The elements of one access are all inside or all outside, and aligned.
    return schedule.rowShape[schedule.tiledRow] % vector == 0 && schedule.rowShape.back() % vector == 0 &&
           elementBytes * side * (side + 1) <= kMaxTileBytes;
  };
  while (vector > 1 && !fits())
    vector /= 2;
  return vector;
}

int64_t MappingChooser::rowExtent() const {
  int64_t extent = 1;
  for (int64_t size : schedule.rowShape)
    extent *= size;
  return extent;
}

GpuMapping GpuMapping::choose(const KernelBody &body, const KernelSchedule &schedule, const GpuLimits &limits) {
  return MappingChooser(body, schedule, limits).choose();
}

} // namespace spmdc
