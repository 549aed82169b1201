//===- GpuMapping.cpp - a kernel's loops on blocks and threads ------------===//

#include "passes/gpu/GpuMapping.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace spmdc {
namespace {

constexpr int64_t kFlatThreads = 256, kRowThreads = 128, kMaxGroupThreads = 256;
/// A block of one-warp rows.
constexpr int64_t kShortRowThreads = 256;
/// Bytes of the widest memory instruction.
constexpr int64_t kVectorBytes = 16;
constexpr int64_t kMaxVector = 8;
/// Vectors leave at least so many threads to hide the latency of memory.
constexpr int64_t kMinThreads = 16384;
/// With fewer rows than this a long row is spread over as many threads as it has work for.
constexpr int64_t kFewRows = 512;
/// Elements that a thread computes without a loop.
constexpr int64_t kMaxUnrolled = 16;
/// Shared memory that a kernel may have without asking for more, less some for reductions.
constexpr int64_t kMaxSharedStash = 40 * 1024, kMaxTiles = 4;

int64_t ceilDiv(int64_t x, int64_t y) { return (x + y - 1) / y; }

int64_t byteSizeOf(Value value) { return spmd::byteSize(cast<ArrayType>(value.getType()).getDType()); }

/// True where one element is more than a few instructions: unrolling would cost more than it gives.
bool isHeavy(const KernelBody &body) {
  unsigned calls = 0;
  for (Operation *op : body.ops) {
    if (!isa<ElementwiseOpInterface>(op) || isa<ConvertOp, AbsOp, NegateOp, FloorOp, CeilOp, RoundNearestEvenOp>(op))
      continue;
    Type type = cast<ArrayType>(op->getResult(0).getType()).getElementType();
    bool isCall = isa<ExpOp, Exp2Op, Expm1Op, LogOp, Log1pOp, Log2Op, CbrtOp, SinOp, CosOp, TanOp, TanhOp, SinhOp,
                      CoshOp, AsinOp, AcosOp, AtanOp, Atan2Op, ErfOp, ErfInvOp, LogisticOp, PowerOp, RemainderOp>(op);
    bool isDivision = isa<DivideOp, RemainderOp>(op) && type.getIntOrFloatBitWidth() == 64;
    if (isCall || isDivision)
      calls += type.isF64() || isa<SinOp, CosOp, TanOp, PowerOp, Atan2Op>(op) || isDivision ? 4 : 1;
  }
  return calls >= 4;
}

class Chooser {
public:
  Chooser(const KernelBody &body, const KernelSchedule &schedule)
      : body(body), schedule(schedule), isHeavyBody(isHeavy(body)) {}

  GpuMapping choose() {
    using Lanes = KernelSchedule::Lanes;
    bool hasLoops = llvm::any_of(schedule.stages, [&](const KernelSchedule::Stage &stage) {
      return !stage.reductions.empty() || !stage.scans.empty() || !schedule.domains[stage.domain].shape.empty();
    });
    if (schedule.lanes == Lanes::Inner)
      chooseGroups();
    else if (schedule.lanes == Lanes::Tiles && chooseTiles())
      ;
    else if (hasLoops)
      chooseThreads();
    else
      chooseFlat();
    return std::move(mapping);
  }

private:
  /// Neighbours of `variable` (of `size` values) that one thread should take, for accesses of up to 16 bytes.
  int64_t chooseVector(const IndexExpr &variable, int64_t size) const {
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
    for (const KernelSchedule::Load &load : schedule.loads)
      see(load.value, load.index);
    for (const KernelSchedule::Stage &stage : schedule.stages)
      for (const KernelSchedule::Store &store : stage.stores)
        see(body.outputs[store.output], store.index);
    if (!widest)
      return 1;
    int64_t vector = std::min(kMaxVector, kVectorBytes / widest);
    while (size % vector)
      vector /= 2;
    return vector;
  }

  void chooseFlat() {
    mapping.kind = GpuMapping::Kind::Flat;
    int64_t extent = rowExtent();
    if (!schedule.rowShape.empty())
      mapping.vector = chooseVector(schedule.rowVars.back(), schedule.rowShape.back());
    while (mapping.vector > 1 && extent / mapping.vector < kMinThreads)
      mapping.vector /= 2;
    mapping.blockThreads = kFlatThreads;
    mapping.gridBlocks = ceilDiv(extent / mapping.vector, kFlatThreads);
  }

  void chooseThreads() {
    mapping.kind = GpuMapping::Kind::ThreadPerRow;
    mapping.blockThreads = kRowThreads;
    mapping.gridBlocks = ceilDiv(rowExtent(), kRowThreads);
  }

  void chooseGroups() {
    mapping.kind = GpuMapping::Kind::GroupPerRow;
    int64_t most = 1;
    for (const KernelSchedule::Domain &domain : schedule.domains) {
      GpuMapping::DomainMapping inner;
      if (!domain.shape.empty())
        inner.vector = chooseVector(domain.vars.back(), domain.shape.back());
      mapping.domains.push_back(inner);
    }
    // A scan takes one element a thread.
    for (const KernelSchedule::Stage &stage : schedule.stages)
      if (!stage.scans.empty())
        mapping.domains[stage.domain].vector = 1;
    for (auto [domain, inner] : llvm::zip(schedule.domains, mapping.domains))
      most = std::max(most, domain.getExtent() / inner.vector);
    int64_t extent = rowExtent();
    int64_t wanted = extent < kFewRows ? most : ceilDiv(most, 4);
    mapping.threadsPerRow = std::clamp<int64_t>(llvm::PowerOf2Ceil(wanted), kWarpThreads, kMaxGroupThreads);
    mapping.rowsPerBlock =
        mapping.threadsPerRow == kWarpThreads ? std::clamp<int64_t>(extent, 1, kShortRowThreads / kWarpThreads) : 1;
    mapping.blockThreads = mapping.threadsPerRow * mapping.rowsPerBlock;
    mapping.gridBlocks = ceilDiv(extent, mapping.rowsPerBlock);
    for (auto [domain, inner] : llvm::zip(schedule.domains, mapping.domains)) {
      inner.rounds = ceilDiv(domain.getExtent() / inner.vector, mapping.threadsPerRow);
      inner.isUnrolled = inner.rounds * inner.vector <= (isHeavyBody ? 2 : kMaxUnrolled);
    }
    int64_t stashBytes = 0;
    for (const KernelSchedule::Stage &stage : schedule.stages)
      for (const KernelSchedule::Stash &stash : stage.stashes) {
        const GpuMapping::DomainMapping &inner = mapping.domains[stage.domain];
        if (!inner.isUnrolled)
          stashBytes += inner.rounds * inner.vector * mapping.blockThreads * byteSizeOf(stash.value);
      }
    mapping.hasSharedStashes = stashBytes > 0 && stashBytes <= kMaxSharedStash;
  }

  /// False if nothing is gained by tiles.
  bool chooseTiles() {
    size_t tiled = schedule.tiledRow, rank = schedule.rowShape.size();
    unsigned lane = schedule.rowVars.back().terms[0].first, across = schedule.rowVars[tiled].terms[0].first;
    IndexSpace &space = schedule.indexing->space;
    for (auto [number, load] : llvm::enumerate(schedule.loads)) {
      ArrayRef<int64_t> shape = cast<ArrayType>(load.value.getType()).getShape();
      IndexExpr position = space.linearize(load.index, shape);
      bool isCrosswise = !space.countDivisions(position) && std::abs(position.coefficientOf(across)) == 1 &&
                         std::abs(position.coefficientOf(lane)) > 1;
      // The square is read without asking whether each element is needed: all must exist.
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
    mapping.blockThreads = kTileSide * kTileThreadRows;
    mapping.gridBlocks = 1;
    for (size_t d = 0; d < rank; ++d)
      mapping.gridBlocks *=
          d == tiled || d + 1 == rank ? ceilDiv(schedule.rowShape[d], kTileSide) : schedule.rowShape[d];
    return true;
  }

  int64_t rowExtent() const {
    int64_t extent = 1;
    for (int64_t size : schedule.rowShape)
      extent *= size;
    return extent;
  }

  const KernelBody &body;
  const KernelSchedule &schedule;
  bool isHeavyBody;
  GpuMapping mapping;
};

} // namespace

/// True if what the kernel computes at `root` reads `input`.
static bool reads(const KernelBody &body, Value root, Value input) {
  llvm::DenseSet<Value> seen;
  SmallVector<Value> pending{root};
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (value == input)
      return true;
    if (body.contains(value) && seen.insert(value).second)
      llvm::append_range(pending, value.getDefiningOp()->getOperands());
  }
  return false;
}

GpuMapping GpuMapping::choose(const KernelBody &body, const KernelSchedule &schedule) {
  return Chooser(body, schedule).choose();
}

bool GpuMapping::canOverwrite(const KernelBody &body, const KernelSchedule &schedule, Value input,
                              unsigned output) const {
  if (!schedule.canOverwrite(input, output, body.outputs[output]))
    return false;
  // Flat, ThreadPerRow: one thread reads and writes all of a row, and at each element reads before it writes; what of
  // an element's neighbours lies in the same thread has been read as well. Tiles: a square's elements are read by its
  // own block alone, crosswise before the barrier, otherwise by the thread that writes them.
  if (kind != Kind::GroupPerRow)
    return true;
  // An element of a domain belongs to one thread in all stages. What a whole row shares is written by one thread,
  // behind a barrier. But a stage makes several passes over its domain: all but scans, then scan after scan. None that
  // comes after the one that writes may read.
  for (const KernelSchedule::Stage &stage : schedule.stages) {
    bool isWritten =
        llvm::any_of(stage.stores, [&](const KernelSchedule::Store &store) { return store.output == output; });
    for (const KernelSchedule::Scan &scan : stage.scans) {
      if (isWritten && reads(body, CumulativeOp(scan.op).getOperand(), input))
        return false;
      isWritten |= scan.output == output;
    }
  }
  return true;
}

std::string GpuMapping::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  switch (kind) {
  case Kind::Flat:
    os << "flat, " << vector << " elements a thread";
    break;
  case Kind::ThreadPerRow:
    os << "a thread a row";
    break;
  case Kind::GroupPerRow:
    os << threadsPerRow << " threads a row, " << rowsPerBlock << " rows a block";
    for (const DomainMapping &domain : domains)
      os << "; " << domain.rounds << (domain.isUnrolled ? " unrolled" : "") << " rounds of " << domain.vector;
    if (hasSharedStashes)
      os << "; keeps in shared memory";
    break;
  case Kind::Tiles:
    os << "squares, " << tiledLoads.size() << " loads through shared memory";
    break;
  }
  os << "; " << gridBlocks << " blocks of " << blockThreads << " threads";
  return text;
}

} // namespace spmdc
