//===- CollectiveMatmulMatch.cpp - finds collective matmuls ---------------===//

#include "passes/collectives/CollectiveMatmulMatch.h"
#include "ir/spmd/DebugTrace.h"
#include "passes/collectives/ShardedAxes.h"

#include <algorithm>
#include <map>

using namespace mlir;

namespace spmdc {
namespace {

DebugTrace trace("collective-matmuls", "no collective matmul");

double bytesOf(Value value) { return static_cast<double>(typeOf(value).getBytes()); }

int64_t indexIn(ArrayRef<int64_t> list, int64_t value) {
  const auto *at = llvm::find(list, value);
  return at == list.end() ? -1 : at - list.begin();
}

class CollectiveMatmulFinder {
public:
  CollectiveMatmulFinder(func::FuncOp func, MeshAttr mesh, const CostModel &model)
      : func(func), mesh(mesh), model(model), shardedAxes(func) {}

  std::vector<CollectiveMatmul> run() {
    func.walk([&](Operation *op) {
      if (auto gather = dyn_cast<AllGatherOp>(op))
        addGather(gather);
      else if (auto scatter = dyn_cast<ReduceScatterOp>(op))
        addScatter(scatter);
    });
    return std::move(rings);
  }

private:
  static void skip(Operation *op, const char *reason) { trace.skip(op, reason); }

  /// The number of devices in the group if the shards divide the dimension evenly, so that none is padded; else none.
  std::optional<int64_t> evenGroup(CollectiveOpInterface op, int64_t full, int64_t shard) {
    double devices = groupSize(mesh, op.getGroupAxes());
    if (devices < 2 || shard == 0 || static_cast<double>(full) != devices * static_cast<double>(shard))
      return std::nullopt;
    return static_cast<int64_t>(devices);
  }

  /// The product that a use leads to, through transposes with one use; null if there is none in the block. Sets `dim`
  /// to the gathered dimension of the product's operand.
  static DotGeneralOp followUse(OpOperand &first, int64_t &dim, CollectiveMatmul &ring) {
    OpOperand *use = &first;
    while (auto transpose = dyn_cast<TransposeOp>(use->getOwner())) {
      if (!transpose->hasOneUse() || transpose->getBlock() != ring.collective->getBlock())
        return nullptr;
      ring.transposes.push_back(transpose);
      dim = indexIn(transpose.getPerm(), dim);
      use = &*transpose->use_begin();
    }
    auto product = dyn_cast<DotGeneralOp>(use->getOwner());
    ring.isLhs = use->getOperandNumber() == 0;
    return product && product->getBlock() == ring.collective->getBlock() ? product : nullptr;
  }

  /// Whether all other uses of the gathered array come behind the product.
  static bool isFirstUse(OpOperand &use, DotGeneralOp product) {
    return llvm::all_of(use.get().getUses(), [&](OpOperand &other) {
      Operation *op = product->getBlock()->findAncestorOpInBlock(*other.getOwner());
      return &other == &use || (op && product->isBeforeInBlock(op));
    });
  }

  void addGather(AllGatherOp gather) {
    std::optional<int64_t> devices = evenGroup(gather, gather.getType().getDimSize(gather.getDim()),
                                               gather.getOperand().getType().getDimSize(gather.getDim()));
    for (OpOperand &use : gather->getUses()) {
      CollectiveMatmul ring;
      ring.collective = gather;
      ring.dim = static_cast<int64_t>(gather.getDim());
      ring.product = followUse(use, ring.dim, ring);
      if (!ring.product) {
        trace.skip(gather, "no product in its block multiplies the gathered array (", use.getOwner(), ")");
        continue;
      }
      if (!devices) {
        trace.skip(gather, "its shards are uneven, or it has one device");
        continue;
      }
      if (!isFirstUse(use, ring.product)) {
        trace.skip(gather, "another user of the gathered array comes before the product");
        continue;
      }
      ring.isKept = !gather->hasOneUse();
      ring.work.devices = *devices;
      ring.work.chunkBytes = bytesOf(gather.getOperand());
      findRole(ring);
      if (ring.role == MatmulDimRole::Contracted && !mayAddInAnyOrder(ring)) {
        trace.skip(gather,
                   "the product contracts the gathered dimension, and all devices must add floats in one order");
        continue;
      }
      addCosts(ring);
      rings.push_back(std::move(ring));
    }
  }

  void addScatter(ReduceScatterOp scatter) {
    auto dim = static_cast<int64_t>(scatter.getDim());
    std::optional<int64_t> devices =
        evenGroup(scatter, scatter.getOperand().getType().getDimSize(dim), scatter.getType().getDimSize(dim));
    bool isNarrow = isHalfFloat(scatter.getType().getElementType());
    if (!devices)
      return skip(scatter, "its shards are uneven, or it has one device");
    if (scatter.getKind() != ReductionKind::sum)
      return skip(scatter, "it computes no sum");
    if (isNarrow && *devices > kMaxDirectDevices)
      return skip(scatter, "its group is too large for direct transfers of 16-bit partial sums");
    CollectiveMatmul ring;
    ring.collective = scatter;
    Value value = scatter.getOperand();
    for (; value.hasOneUse() && !ring.product; value = value.getDefiningOp()->getOperand(0)) {
      Operation *op = value.getDefiningOp();
      if (!op || op->getBlock() != scatter->getBlock())
        return skip(scatter, "its operand is computed outside of its block");
      ring.product = dyn_cast<DotGeneralOp>(op);
      if (ring.product)
        break;
      auto transpose = dyn_cast<TransposeOp>(op);
      if (!transpose)
        return skip(scatter, "its operand is no product, or a transpose of one");
      dim = transpose.getPerm()[dim];
      ring.transposes.insert(ring.transposes.begin(), transpose);
    }
    if (!ring.product)
      return skip(scatter, "its operand has another user");
    ring.resultDim = dim;
    ring.work.isScatter = true;
    ring.work.devices = *devices;
    ring.work.chunkBytes = bytesOf(scatter.getResult());
    findScatteredOperand(ring);
    addCosts(ring);
    rings.push_back(std::move(ring));
  }

  /// Sets the role of the gathered dimension in the product.
  static void findRole(CollectiveMatmul &ring) {
    DotGeneralOp op = ring.product;
    ArrayRef<int64_t> batch = ring.isLhs ? op.getLhsBatch() : op.getRhsBatch();
    ArrayRef<int64_t> contract = ring.isLhs ? op.getLhsContract() : op.getRhsContract();
    if (int64_t index = indexIn(batch, ring.dim); index >= 0) {
      ring.role = MatmulDimRole::Batch;
      ring.otherDim = (ring.isLhs ? op.getRhsBatch() : op.getLhsBatch())[index];
      ring.resultDim = index;
    } else if (int64_t index = indexIn(contract, ring.dim); index >= 0) {
      ring.role = MatmulDimRole::Contracted;
      ring.otherDim = (ring.isLhs ? op.getRhsContract() : op.getLhsContract())[index];
    } else {
      ring.role = MatmulDimRole::Free;
      ring.resultDim =
          static_cast<int64_t>(batch.size()) +
          (ring.isLhs ? indexIn(op.getLhsFreeDims(), ring.dim)
                      : static_cast<int64_t>(op.getLhsFreeDims().size()) + indexIn(op.getRhsFreeDims(), ring.dim));
    }
  }

  /// Sets the operand from which the scattered dimension of the result comes.
  static void findScatteredOperand(CollectiveMatmul &ring) {
    DotGeneralOp op = ring.product;
    auto batches = static_cast<int64_t>(op.getLhsBatch().size());
    SmallVector<int64_t> lhsFree = op.getLhsFreeDims();
    auto lhsFrees = static_cast<int64_t>(lhsFree.size());
    if (ring.resultDim < batches) {
      ring.role = MatmulDimRole::Batch;
      ring.isLhs = true;
      ring.dim = op.getLhsBatch()[ring.resultDim];
      ring.otherDim = op.getRhsBatch()[ring.resultDim];
      return;
    }
    ring.isLhs = ring.resultDim < batches + lhsFrees;
    ring.dim =
        ring.isLhs ? lhsFree[ring.resultDim - batches] : op.getRhsFreeDims()[ring.resultDim - batches - lhsFrees];
  }

  bool mayAddInAnyOrder(CollectiveMatmul &ring) {
    Value other = ring.product->getOperand(ring.isLhs ? 1 : 0);
    return !isa<FloatType>(ring.product.getType().getElementType()) ||
           shardedAxes.isShardedOver(other, ring.collective.getGroupAxes());
  }

  //===--------------------------------------------------------------------===//
  // Costs
  //===--------------------------------------------------------------------===//

  static double flopsOf(DotGeneralOp op) {
    double flops = 2 * static_cast<double>(op.getType().getNumElements());
    for (int64_t dim : op.getLhsContract())
      flops *= static_cast<double>(op.getLhs().getType().getDimSize(dim));
    return flops;
  }

  double secondsOf(DotGeneralOp op) {
    return model.computeSeconds(flopsOf(op), bytesOf(op.getLhs()) + bytesOf(op.getRhs()) + bytesOf(op.getResult()));
  }

  double memorySeconds(double bytes) const { return bytes / model.memoryPerSecond; }

  void addCosts(CollectiveMatmul &ring) {
    CollectiveMatmulWork &work = ring.work;
    std::vector<std::string> axes;
    for (const spmd::AxisRef &axis : ring.collective.getGroupAxes().toValues())
      axes.push_back(axis.name);
    work.rates = model.ratesOf(axes);
    work.fullProduct = secondsOf(ring.product);
    auto devices = static_cast<double>(work.devices);
    Value operand = ring.product->getOperand(ring.isLhs ? 0 : 1), other = ring.product->getOperand(ring.isLhs ? 1 : 0);
    double result = bytesOf(ring.product.getResult());
    // The part of the other operand that a shard is multiplied with is copied first.
    bool isOtherSliced = ring.role != MatmulDimRole::Free;
    double otherPart = isOtherSliced ? bytesOf(other) / devices : bytesOf(other);
    double resultPart = ring.role == MatmulDimRole::Contracted ? result : result / devices;
    work.chunkProduct =
        model.computeSeconds(flopsOf(ring.product) / devices, bytesOf(operand) / devices + otherPart + resultPart) +
        memorySeconds(isOtherSliced ? 2 * otherPart : 0);
    if (work.isScatter) {
      work.chunkProduct += memorySeconds(2 * bytesOf(operand) / devices);
      work.addition = memorySeconds(3 * resultPart);
      if (ring.sendsDirectly()) {
        // Each addition reads 16 bits, and reads and writes a sum of 32 bits, which is rounded once at the end.
        work.addition = memorySeconds((1 + 2 * 2) * resultPart);
        work.once = memorySeconds((2 + 1) * resultPart);
      }
    } else if (ring.role == MatmulDimRole::Contracted) {
      // The product is added to the sum so far when it is stored.
      work.chunkProduct += memorySeconds(resultPart);
    } else {
      // The product is copied to its place in the result, which is filled with zeros before.
      work.chunkProduct += memorySeconds(2 * resultPart);
      work.once = memorySeconds(result);
    }
    if (ring.isKept) {
      // The shard is copied to its place in the gathered array, which is filled with zeros before.
      work.chunkProduct += memorySeconds(2 * work.chunkBytes);
      work.once += memorySeconds(devices * work.chunkBytes);
    }
    work.otherProducts = ring.isScatter() ? productsBehind(ring) : productsBefore(ring);
  }

  /// Seconds of the products between a gather's operand and the gather's product. The unsplit gather overlaps with them
  /// (spmdc-schedule-collectives), though not across loops and branches.
  double productsBefore(CollectiveMatmul &ring) {
    Place place = placeOf(ring.product);
    double begin = place.segmentBegin;
    Operation *source = ring.collective->getOperand(0).getDefiningOp();
    if (source && source->getBlock() == ring.product->getBlock())
      begin = std::max(begin, placeOf(source).end);
    return place.begin - begin;
  }

  /// Likewise seconds of the products between a scatter's product and the first reader of the scattered result.
  double productsBehind(CollectiveMatmul &ring) {
    Place place = placeOf(ring.product);
    Block *block = ring.product->getBlock();
    double end = lasts[{block, place.segment}];
    for (Operation *user : ring.collective->getResult(0).getUsers())
      if (Operation *reader = block->findAncestorOpInBlock(*user))
        end = std::min(end, placeOf(reader).begin);
    return end - place.end;
  }

  /// Seconds of a block's products before an operation (`begin`), with it (`end`), and before the last loop or branch
  /// in front of it (`segmentBegin`).
  struct Place {
    double begin = 0, end = 0, segmentBegin = 0;
    int64_t segment = 0; ///< The number of loops and branches before the operation.
  };

  Place placeOf(Operation *op) {
    if (auto known = places.find(op); known != places.end())
      return known->second;
    Place place;
    for (Operation &each : *op->getBlock()) {
      place.begin = place.end;
      if (each.getNumRegions() > 0) {
        place.segmentBegin = place.end;
        ++place.segment;
      } else if (auto product = dyn_cast<DotGeneralOp>(each)) {
        place.end += secondsOf(product);
      }
      places[&each] = place;
      lasts[{op->getBlock(), place.segment}] = place.end;
    }
    return places[op];
  }

  func::FuncOp func;
  MeshAttr mesh;
  const CostModel &model;
  ShardedAxes shardedAxes;
  llvm::DenseMap<Operation *, Place> places;
  std::map<std::pair<Block *, int64_t>, double> lasts; ///< Seconds up to the end of a segment.
  std::vector<CollectiveMatmul> rings;
};

} // namespace

std::vector<CollectiveMatmul> findCollectiveMatmuls(func::FuncOp func, MeshAttr mesh, const CostModel &model) {
  return CollectiveMatmulFinder(func, mesh, model).run();
}

std::vector<ChosenCollectiveMatmul> chooseCollectiveMatmuls(func::FuncOp func, MeshAttr mesh, const CostModel &model) {
  std::vector<ChosenCollectiveMatmul> chosen;
  for (CollectiveMatmul &ring : findCollectiveMatmuls(func, mesh, model)) {
    ChosenCollectiveMatmul candidate{ring, chooseRingDirections(ring.work)};
    if (candidate.way == RingDirections::None) {
      trace.skip(ring.collective, "the collective and then the product (", ring.product, ") take ",
                 asTime(collectiveMatmulTime(ring.work, RingDirections::None).total()), ", no longer than in steps");
      continue;
    }
    auto same =
        llvm::find_if(chosen, [&](const ChosenCollectiveMatmul &other) { return other.ring.product == ring.product; });
    if (same == chosen.end())
      chosen.push_back(std::move(candidate));
    else if (candidate.savedSeconds() > same->savedSeconds())
      *same = std::move(candidate);
  }
  return chosen;
}

} // namespace spmdc
