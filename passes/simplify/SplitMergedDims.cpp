//===- SplitMergedDims.cpp - splits merged dimensions ---------------------===//
//
// `reshape(x, [-1, D])` of an `x: f32[B, S@a, D]` has a dimension B * S of which no device holds contiguous elements,
// so the axis stops there. The pass finds these reshapes by a trial propagation. It follows the dimension that stopped
// through all operations that compute with it (also through later reshapes that would stop it again), and splits each
// merged dimension on the way into the original dimensions.
//
//===----------------------------------------------------------------------===//

#include "passes/propagate/Propagator.h"
#include "passes/simplify/DimSplitter.h"
#include "passes/simplify/Passes.h"

#include "llvm/ADT/SetVector.h"

#include <set>

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_SPLITMERGEDDIMSPASS
#include "passes/simplify/Passes.h.inc"

namespace {

/// The largest number of trial propagations. The first finds where axes stop, and the pass follows the axes from there;
/// the second finds where they stop for reasons that appear only then (a factor that an axis shards in part). No
/// program of the tests needs a third.
constexpr int kMaxRounds = 3;

/// A dimension, or its part in a merged dimension: `size` elements at distance `stride`, repeated.
struct SubDim {
  Value value;
  int64_t dim, stride, size;

  /// Whether the merged dimension has a part that is major to this one: then sharding this one gives devices strided
  /// sets.
  bool isMinor() const { return stride * size < typeOf(value).getDimSize(dim); }
  auto key() const { return std::tuple(value.getAsOpaquePointer(), dim, stride, size); }
};

const ValueFactors &factorsOf(const ShardingRule &rule, bool ofResult) {
  return ofResult ? rule.results[0] : rule.operands[0];
}

Value valueOf(ReshapeOp reshape, bool ofResult) { return ofResult ? reshape.getResult() : reshape.getOperand(); }

/// The part of a dimension on the other side of a reshape; nothing if several dimensions there contain it.
std::optional<SubDim> findOnOtherSide(ReshapeOp reshape, bool ofResult, const SubDim &from) {
  ArrayRef<int64_t> shape = typeOf(from.value).getShape();
  int64_t stride = from.stride;
  for (int64_t size : shape.drop_front(from.dim + 1))
    stride *= size;
  Value other = valueOf(reshape, !ofResult);
  int64_t inner = 1;
  for (int64_t dim = typeOf(other).getRank() - 1; dim >= 0; --dim) {
    int64_t size = typeOf(other).getDimSize(dim);
    if (stride < inner * size)
      return stride % inner == 0 && (inner * size) % (stride * from.size) == 0
                 ? std::optional(SubDim{other, dim, stride / inner, from.size})
                 : std::nullopt;
    inner *= size;
  }
  return std::nullopt;
}

/// Collects the merged dimensions that an axis would shard along a minor factor.
class StoppedAxes {
public:
  /// Adds reshapes where axes of one side are missing on the other.
  void add(const PropagationState &state) {
    for (const PropagationState::OpEntry &entry : state.getOps())
      if (auto reshape = dyn_cast<ReshapeOp>(entry.op))
        add(reshape, state, entry);
    follow();
  }

  ArrayRef<DimOfReshape> getDims() const { return dims; }

private:
  void add(ReshapeOp reshape, const PropagationState &state, const PropagationState::OpEntry &entry) {
    ShardingProjection projection(entry.rule, {&state.getSharding(entry.slots[0]), &state.getSharding(entry.slots[1])});
    for (auto [factor, info] : llvm::enumerate(entry.rule.factors))
      for (bool ofResult : {false, true}) {
        const FactorSharding *has = projection.getTensors()[ofResult].getFactor(factor),
                             *lacks = projection.getTensors()[!ofResult].getFactor(factor);
        if (has && lacks && !lacks->isMajor && totalSize(lacks->axes) < totalSize(has->axes))
          addFactor(reshape, entry.rule, ofResult, factor);
      }
  }

  void addFactor(ReshapeOp reshape, const ShardingRule &rule, bool ofResult, int64_t factor) {
    for (auto [dim, factors] : llvm::enumerate(factorsOf(rule, ofResult))) {
      int64_t stride = 1;
      for (int64_t other : llvm::reverse(factors)) {
        if (other == factor)
          visit({valueOf(reshape, ofResult), static_cast<int64_t>(dim), stride, rule.factors[factor].size});
        stride *= rule.factors[other].size;
      }
    }
  }

  void visit(const SubDim &dim) {
    if (seen.insert(dim.key()).second)
      open.push_back(dim);
  }

  /// Visits all dimensions that operations connect with visited ones.
  void follow() {
    while (!open.empty()) {
      SubDim at = open.pop_back_val();
      auto visitAll = [&](const std::optional<DimGroup> &group) {
        if (!group)
          return;
        for (DimOfValue dim : group->values)
          visit({dim.value, dim.dim, at.stride, at.size});
        for (DimOfUse dim : group->uses)
          visit({dim.use->get(), dim.dim, at.stride, at.size});
      };
      auto step = [&](Operation *op, bool ofResult, const std::optional<DimGroup> &group) {
        auto reshape = dyn_cast_or_null<ReshapeOp>(op);
        return reshape && (!group || group->isEnd) ? cross(reshape, ofResult, at) : visitAll(group);
      };
      step(at.value.getDefiningOp(), /*ofResult=*/true, getGroup(DimOfValue{at.value, at.dim}));
      for (OpOperand &use : at.value.getUses())
        step(use.getOwner(), /*ofResult=*/false, getGroup(DimOfUse{&use, at.dim}));
    }
  }

  /// Visits the dimension on the other side of a reshape that merges or splits it.
  void cross(ReshapeOp reshape, bool ofResult, const SubDim &at) {
    std::optional<SubDim> other = findOnOtherSide(reshape, ofResult, at);
    if (!other)
      return;
    if (at.isMinor())
      addDim({reshape, ofResult, at.dim});
    if (other->isMinor())
      addDim({reshape, !ofResult, other->dim});
    visit(*other);
  }

  void addDim(DimOfReshape dim) {
    if (known.insert({dim.reshape.getOperation(), dim.ofResult, dim.dim}).second)
      dims.push_back(dim);
  }

  SmallVector<SubDim> open;
  std::set<decltype(std::declval<SubDim>().key())> seen; ///< Never iterated: the sequence of pointers does not matter.
  SmallVector<DimOfReshape> dims;
  std::set<std::tuple<Operation *, bool, int64_t>> known;
};

/// Splits each of the dimensions. Returns whether anything has changed.
bool splitDims(func::FuncOp func, ArrayRef<DimOfReshape> dims) {
  bool isChanged = false;
  SmallVector<DimOfReshape> open(llvm::reverse(dims));
  while (!open.empty()) {
    DimOfReshape dim = open.pop_back_val();
    ShardingRule rule = dim.reshape.getShardingRule();
    SmallVector<int64_t, 4> parts;
    for (int64_t factor : factorsOf(rule, dim.ofResult)[dim.dim])
      parts.push_back(rule.factors[factor].size);
    if (parts.size() < 2)
      continue;
    DimSplitter splitter(parts);
    splitter.add(dim);
    if (!splitter.isComputedWith())
      continue;
    SmallVector<DimOfReshape> left;
    for (DimOfReshape other : open)
      if (std::optional<int64_t> number = splitter.getNewDim(other))
        left.push_back({other.reshape, other.ofResult, *number});
    splitter.rewrite(func);
    llvm::erase_if(left, [&](DimOfReshape other) { return splitter.isErased(other.reshape); });
    open = left;
    isChanged = true;
  }
  return isChanged;
}

/// Whether any reshape merges or splits a dimension.
bool hasMergedDims(func::FuncOp func) {
  WalkResult walk = func.walk([](ReshapeOp reshape) {
    ShardingRule rule = reshape.getShardingRule();
    auto isMerged = [](const DimFactors &factors) { return factors.size() > 1; };
    return llvm::any_of(rule.operands[0], isMerged) || llvm::any_of(rule.results[0], isMerged) ? WalkResult::interrupt()
                                                                                               : WalkResult::advance();
  });
  return walk.wasInterrupted();
}

class SplitMergedDimsPass : public impl::SplitMergedDimsPassBase<SplitMergedDimsPass> {
  void runOnOperation() override {
    MeshAxes mesh(getMesh(getOperation()));
    if (getMesh(getOperation()).toValue().deviceCount() == 1)
      return;
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      for (int round = 0; round < kMaxRounds && !func.isExternal() && hasMergedDims(func); ++round) {
        FailureOr<PropagationState> state = PropagationState::create(func, mesh);
        if (failed(state))
          return signalPassFailure();
        Propagator(*state, PropagationStrategy::Settle, /*observer=*/nullptr).run();
        StoppedAxes stopped;
        stopped.add(*state);
        if (!splitDims(func, stopped.getDims()))
          break;
      }
    }
  }
};

} // namespace
} // namespace spmdc
