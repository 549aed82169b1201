//===- FoldCollectives.cpp - one collective for two in sequence -----------===//
//
// Equal collectives of one value become one, whatever their reasons. A sum over one axis of a sum over another becomes
// a sum over both, which sends less: each of g * h devices sends 2 (gh - 1) / gh of the array instead of
// 2 (g - 1) / g + 2 (h - 1) / h. Two all_gathers or reduce_scatters along one dimension become one, which sends as many
// bytes and waits once less.
//
// If one of the axes is slow, two steps may be faster. Then a sum over several axes may be faster in three: a
// reduce_scatter over the fast axes, an all_reduce over the slow ones, an all_gather. The cost model decides.
//
//===----------------------------------------------------------------------===//

#include "ir/spmd/DebugTrace.h"
#include "ir/spmd/Location.h"
#include "ir/spmd/SpmdOps.h"
#include "passes/collectives/Passes.h"
#include "passes/reshard/ReshardPlanner.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_FOLDCOLLECTIVES
#include "passes/collectives/Passes.h.inc"

namespace {

DebugTrace trace("fold-collectives", "not folded");

class CollectiveFolder {
public:
  CollectiveFolder(ModuleOp module, ReshardPlanner &planner)
      : meshAttr(getMesh(module)), mesh(planner.getMesh()), model(planner.getModel()), planner(planner) {}

  /// Folds each collective with the chain of collectives before it.
  void visit(ArrayRef<CollectiveOpInterface> collectives) {
    for (CollectiveOpInterface op : llvm::reverse(collectives))
      if (!erased.contains(op))
        visit(op);
  }

  /// Replaces equal collectives (in program order) by the first. Common subexpression elimination does not, because
  /// their reasons differ.
  static void mergeEqual(ArrayRef<CollectiveOpInterface> collectives) {
    std::map<std::vector<const void *>, CollectiveOpInterface> known; // Not iterated: pointers have no stable order.
    for (CollectiveOpInterface op : collectives) {
      NamedAttrList attributes(op->getAttrs());
      attributes.erase("why");
      std::vector<const void *> key = {op->getBlock(), op->getName().getAsOpaquePointer(),
                                       attributes.getDictionary(op->getContext()).getAsOpaquePointer(),
                                       op->getResult(0).getType().getAsOpaquePointer()};
      for (Value operand : op->getOperands())
        key.push_back(operand.getAsOpaquePointer());
      auto [entry, isNew] = known.try_emplace(std::move(key), op);
      if (isNew)
        continue;
      CollectiveOpInterface first = entry->second;
      setReasons(first, {first, op});
      first->setLoc(fuseLocs(op->getContext(), {first->getLoc(), op->getLoc()}));
      replace(op, first->getResult(0));
      op.erase();
    }
  }

private:
  /// Sets the reasons of `op` to those of all operations in `from`.
  static void setReasons(Operation *op, std::initializer_list<Operation *> from) {
    SmallVector<std::string> reasons;
    for (Operation *each : from)
      if (auto why = each->getAttrOfType<StringAttr>("why"); why && !llvm::is_contained(reasons, why.str()))
        reasons.push_back(why.str());
    if (!reasons.empty())
      op->setAttr("why", StringAttr::get(op->getContext(), llvm::join(reasons, "; ")));
  }

  void visit(CollectiveOpInterface second) {
    while (true) {
      auto first = second->getOperand(0).getDefiningOp<CollectiveOpInterface>();
      std::optional<AxesAttr> axes = first && mayFold(first, second) ? findAxes(first, second) : std::nullopt;
      if (!axes)
        break;
      CollectiveOpInterface folded = join(first, second, *axes);
      double apart = secondsOf(first) + secondsOf(second);
      if (Value sum = addByParts(folded, apart)) {
        replace(second, sum);
        return erase({second, first, folded});
      }
      if (secondsOf(folded) > apart) {
        trace.skip(second, "one collective takes ", asTime(secondsOf(folded)), ", the two ", asTime(apart));
        folded.erase();
        break;
      }
      replace(second, folded->getResult(0));
      erase({second, first});
      second = folded;
    }
    if (Value sum = addByParts(second, secondsOf(second))) {
      replace(second, sum);
      erase({second});
    }
  }

  static bool mayFold(CollectiveOpInterface first, CollectiveOpInterface second) {
    if (!first->hasOneUse())
      return trace.skip(second, "the result of ", first, " in front of it has another user");
    return first->getBlock() == second->getBlock() ||
           trace.skip(second, "the ", first, " in front of it runs another number of times");
  }

  static void replace(CollectiveOpInterface op, Value value) { op->getResult(0).replaceAllUsesWith(value); }

  void erase(std::initializer_list<Operation *> ops) {
    for (Operation *op : ops) {
      erased.insert(op);
      op->erase();
    }
  }

  /// Emits a sum over several axes in several steps if they take less time than `seconds` and than the sum in one step;
  /// null otherwise.
  Value addByParts(CollectiveOpInterface op, double seconds) {
    auto sum = dyn_cast<AllReduceOp>(op.getOperation());
    if (!sum || sum.getKind() != ReductionKind::sum || sum.getAxes().getAxes().size() < 2)
      return {};
    auto type = cast<ArrayType>(sum.getType());
    // One all_reduce adds f16 and bf16 in f32; between several steps the sum would be rounded.
    if (isa<FloatType>(type.getElementType()) && type.getElementType().getIntOrFloatBitWidth() == 16)
      return {};
    spmd::Sharding full;
    full.dims.resize(type.getRank());
    spmd::Sharding partial = full;
    partial.unreduced = sum.getAxes().toValues();
    auto withSharding = [&](const spmd::Sharding &sharding) {
      return type.withSharding(ShardingAttr::fromValue(op->getContext(), sharding));
    };
    ArrayType from = withSharding(partial), to = withSharding(full);
    if (planner.plan(from, to).steps.size() < 2)
      return {};
    OpBuilder builder(op);
    Operation *before = op->getPrevNode();
    Value byParts = planner.build(builder, op->getLoc(), sum.getOperand(), from, to, sum.getWhy().value_or(""));
    SmallVector<Operation *> built;
    double secondsByParts = 0;
    for (Operation *part = op->getPrevNode(); part != before; part = part->getPrevNode()) {
      built.push_back(part);
      if (auto collective = dyn_cast<CollectiveOpInterface>(part))
        secondsByParts += secondsOf(collective);
    }
    if (secondsByParts < std::min(seconds, secondsOf(op)))
      return byParts;
    for (Operation *part : built)
      part->erase();
    return {};
  }

  double secondsOf(CollectiveOpInterface op) const {
    std::vector<std::string> names;
    for (const spmd::AxisRef &axis : op.getGroupAxes().toValues())
      names.push_back(axis.name);
    return model.collectiveSeconds(op->getName().stripDialect().str(), names, op.getWireBytes(meshAttr));
  }

  int64_t sizeOf(AxesAttr axes) const {
    int64_t size = 1;
    for (const spmd::AxisRef &axis : axes.toValues())
      size *= axis.sizeIn(mesh);
    return size;
  }

  /// Whether the shards along the axes divide the dimension evenly.
  bool isEven(int64_t full, int64_t shard, AxesAttr axes) const { return full == shard * sizeOf(axes); }

  static std::optional<AxesAttr> skipDims(CollectiveOpInterface second) {
    trace.skip(second, "the two have different dimensions or reductions, or uneven shards");
    return std::nullopt;
  }

  /// The axes of one collective that does the work of both, in the order of its shards; none if there is none.
  std::optional<AxesAttr> findAxes(CollectiveOpInterface first, CollectiveOpInterface second) const {
    if (first->getName() != second->getName())
      return trace.skip(second, "the collective in front of it is another one (", first, ")"), std::nullopt;
    ArrayRef<AxisRefAttr> inner = first.getGroupAxes().getAxes(), outer = second.getGroupAxes().getAxes();
    for (AxisRefAttr axis : inner)
      for (AxisRefAttr other : outer)
        if (axis.getName() == other.getName())
          return trace.skip(second, "both are over axis ", axis.getName()), std::nullopt;
    auto inOrder = [&](ArrayRef<AxisRefAttr> major, ArrayRef<AxisRefAttr> minor) {
      SmallVector<AxisRefAttr> axes(major);
      llvm::append_range(axes, minor);
      return AxesAttr::get(first->getContext(), axes);
    };
    auto sizesOf = [](CollectiveOpInterface op, int64_t dim) {
      return std::pair(cast<ArrayType>(op->getOperand(0).getType()).getDimSize(dim),
                       cast<ArrayType>(op->getResult(0).getType()).getDimSize(dim));
    };
    if (auto reduce = dyn_cast<AllReduceOp>(first.getOperation())) {
      if (reduce.getKind() != cast<AllReduceOp>(second.getOperation()).getKind())
        return trace.skip(second, "the two reduce in different ways"), std::nullopt;
      // The order of the mesh, so that the result does not depend on which sum came first.
      SmallVector<AxisRefAttr> axes(inOrder(inner, outer).getAxes());
      llvm::sort(axes, [&](AxisRefAttr x, AxisRefAttr y) {
        auto keyOf = [&](AxisRefAttr axis) { return std::pair(mesh.indexOf(axis.getName()), axis.getPreSize()); };
        return keyOf(x) < keyOf(y);
      });
      return AxesAttr::get(first->getContext(), axes);
    }
    if (auto gather = dyn_cast<AllGatherOp>(first.getOperation())) {
      auto next = cast<AllGatherOp>(second.getOperation());
      auto [shard, part] = sizesOf(first, gather.getDim());
      auto [again, full] = sizesOf(second, gather.getDim());
      bool fits = gather.getDim() == next.getDim() && isEven(part, shard, gather.getAxes()) &&
                  isEven(full, again, next.getAxes());
      return fits ? std::optional(inOrder(outer, inner)) : skipDims(second);
    }
    if (auto scatter = dyn_cast<ReduceScatterOp>(first.getOperation())) {
      auto next = cast<ReduceScatterOp>(second.getOperation());
      auto [full, part] = sizesOf(first, scatter.getDim());
      auto [again, shard] = sizesOf(second, scatter.getDim());
      bool fits = scatter.getKind() == next.getKind() && scatter.getDim() == next.getDim() &&
                  isEven(full, part, scatter.getAxes()) && isEven(again, shard, next.getAxes());
      return fits ? std::optional(inOrder(inner, outer)) : skipDims(second);
    }
    return std::nullopt;
  }

  static CollectiveOpInterface join(CollectiveOpInterface first, CollectiveOpInterface second, AxesAttr axes) {
    OpBuilder builder(second);
    IRMapping mapping;
    mapping.map(second->getOperand(0), first->getOperand(0));
    Operation *folded = builder.clone(*second, mapping);
    folded->setAttr("axes", axes);
    folded->setLoc(fuseLocs(first->getContext(), {first->getLoc(), second->getLoc()}));
    setReasons(folded, {first, second});
    return cast<CollectiveOpInterface>(folded);
  }

  MeshAttr meshAttr;
  const spmd::MeshShape &mesh;
  const CostModel &model;
  ReshardPlanner &planner;
  llvm::DenseSet<Operation *> erased;
};

class FoldCollectivesPass : public impl::FoldCollectivesBase<FoldCollectivesPass> {
  void runOnOperation() override {
    auto list = [&] {
      SmallVector<CollectiveOpInterface> collectives;
      getOperation().walk([&](CollectiveOpInterface op) { collectives.push_back(op); });
      return collectives;
    };
    // Local types do not tell along which axes devices hold the same data, so the planner must not spread transfers.
    ReshardPlanner planner(getMesh(getOperation()).toValue(), CostModel::of(getOperation()).forGoal(),
                           /*spreads=*/false);
    CollectiveFolder(getOperation(), planner).visit(list());
    CollectiveFolder::mergeEqual(list());
  }
};

} // namespace
} // namespace spmdc
