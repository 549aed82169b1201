//===- SplitOrders.cpp - an end of an order, piece by piece ---------------===//
//
// top_k along a cut dimension: the k first of all are among the k first of each device's piece, so only those
// candidates travel. In terms of global arrays, with a dimension of 4096 over a=8:
//
//   x  [1024, 4096@a]   as  [1024, 8@a, 512]
//      argsort, first k  -> [1024, 8@a, k]   as  [1024, 8k@a]
//      argsort, first k  -> [1024, k]
//
// The first argsort runs where the pieces lie. How the candidates come together for the second one, gathered or, where
// there are other dimensions, by an all_to_all, is spmdc-insert-reshards' choice, as for any other operation.
//
// Candidates stand in the order of their pieces, and among equals in the order of their positions, so that the second
// argsort, which is stable, finds equals in the order of all positions. Where pieces are uneven the array is padded
// with what is last in the order; elements that are as low stand before it, and there are k of them.
//
// The last of an order (argsort(x)[-k:]) are found in the same way, for it is one of elements and positions, in which
// no two are equal. What pads the array stands behind them there: each piece gives as many more candidates.
//
// Orders that are used whole: SampleSort.h, ColumnSort.h.
//
//===----------------------------------------------------------------------===//

#include "ir/array/LocalBuilder.h"
#include "passes/partition/ColumnSort.h"
#include "passes/partition/FactorAxes.h"
#include "passes/partition/FlatExtremes.h"
#include "passes/partition/Passes.h"
#include "passes/partition/SampleSort.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_SPLITORDERS
#include "passes/partition/Passes.h.inc"

namespace {

/// An order of which only the first elements are used, or only the last ones.
struct PartOfOrder {
  ArgsortOp op;
  SmallVector<SliceOp> slices;
  bool isLast = false;
  int64_t count = 0;             ///< How many are used.
  int64_t pieces = 1, piece = 0; ///< How many there are, and how large each is.

  int64_t getDim() { return static_cast<int64_t>(op.getDim()); }
  int64_t getSize() { return op.getOperand().getType().getDimSize(getDim()); }
  int64_t getPadding() { return pieces * piece - getSize(); }
  int64_t getCandidatesOfPiece() { return std::min(count + (isLast ? getPadding() : 0), piece); }
};

/// Whether this takes elements from one end of an order.
bool takesEnd(SliceOp slice, int64_t dim, bool isLast) {
  ArrayRef<int64_t> shape = slice.getOperand().getType().getShape();
  for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d)
    if (slice.getStrides()[d] != 1 || ((d != dim || !isLast) && slice.getStarts()[d] != 0) ||
        ((d != dim || isLast) && slice.getLimits()[d] != shape[d]))
      return false;
  return true;
}

std::optional<PartOfOrder> matchEnd(ArgsortOp op, bool isLast, const spmd::MeshShape &mesh) {
  PartOfOrder order;
  order.op = op;
  order.isLast = isLast;
  for (Operation *user : op->getUsers()) {
    auto slice = dyn_cast<SliceOp>(user);
    if (!slice || !takesEnd(slice, order.getDim(), isLast))
      return std::nullopt;
    order.slices.push_back(slice);
    order.count = std::max(order.count, slice.getType().getDimSize(order.getDim()));
  }
  ArrayType type = op.getOperand().getType();
  std::vector<int64_t> sizes;
  spmd::Sharding sharding = type.getShardingOrOpen().toValue();
  for (const spmd::AxisRef &axis : sharding.dims[order.getDim()])
    sizes.push_back(axis.sizeIn(mesh));
  for (int64_t size : sizes)
    order.pieces *= size;
  order.piece = spmd::localDimSize(type.getDimSize(order.getDim()), sizes);
  if (order.pieces == 1 || order.count == 0)
    return std::nullopt;
  // A candidate is an element and its position.
  int64_t bytes = spmd::byteSize(type.getDType());
  int64_t candidates = order.pieces * order.getCandidatesOfPiece();
  return candidates * (bytes + 4) < order.getSize() * bytes ? std::make_optional(order) : std::nullopt;
}

class OrderSplitter {
public:
  explicit OrderSplitter(PartOfOrder &order) : order(order), dim(order.getDim()), b(order.op), loc(order.op.getLoc()) {}

  void run() {
    Value x = order.op.getOperand();
    ArrayType type = arrayTypeOf(x);
    bool isDescending = order.op.getDescending();
    int64_t count = order.getCandidatesOfPiece();

    // The pieces as a dimension of their own.
    ShardingAttr split = splitSharding(type.getShardingOrOpen());
    Value padded = pad(x, order.pieces * order.piece);
    Value pieces = b.create<ReshapeOp>(loc, typeFor(type, shapeWith({order.pieces, order.piece}), split), padded);
    Value ranks = argsort(pieces, dim + 1, isDescending);
    ArrayType candidateType = typeFor(type, shapeWith({order.pieces, count}), split);
    ArrayType positionType = candidateType.withElementType(b.getI32Type());
    ranks = slice(ranks, positionType, dim + 1, order.isLast ? order.piece - count : 0);
    Value elements = b.create<TakeAlongOp>(loc, candidateType, pieces, ranks, dim + 1);
    Value number = b.create<IotaOp>(loc, positionType, dim);
    Value size = b.create<ConstantOp>(loc, positionType, Scalar::ofInt(order.piece));
    Value start = b.create<MultiplyOp>(loc, number, size);
    Value positions = b.create<AddOp>(loc, ranks, start);

    // All candidates in one dimension again.
    ArrayType joined = typeFor(type, shapeWith({order.pieces * count}), type.getShardingOrOpen());
    elements = b.create<ReshapeOp>(loc, joined, elements);
    positions = b.create<ReshapeOp>(loc, joined.withElementType(b.getI32Type()), positions);
    for (SliceOp user : order.slices) {
      ArrayType result = user.getType();
      ArrayType all = result.withShape(joined.getShape()).withSharding(wholeSharding(result.getShardingOrOpen()));
      Value first = b.create<ArgsortOp>(loc, all, elements, dim, isDescending);
      int64_t end = order.pieces * count - order.getPadding();
      first = slice(first, result, dim, order.isLast ? end - result.getDimSize(dim) : 0);
      replaceTaken(user, x, elements, first);
      user.replaceAllUsesWith(b.create<TakeAlongOp>(loc, result, positions, first, dim).getResult());
      user.erase();
    }
    order.op.erase();
  }

private:
  /// The operand's shape with other dimensions in place of the ordered one.
  SmallVector<int64_t> shapeWith(ArrayRef<int64_t> sizes) {
    SmallVector<int64_t> shape(order.op.getOperand().getType().getShape());
    shape.erase(shape.begin() + dim);
    shape.insert(shape.begin() + dim, sizes.begin(), sizes.end());
    return shape;
  }

  static ArrayType typeFor(ArrayType type, ArrayRef<int64_t> shape, ShardingAttr sharding) {
    return type.withShape(shape).withSharding(sharding);
  }

  /// With a whole dimension after the ordered one.
  static ShardingAttr withDims(ShardingAttr sharding, function_ref<void(spmd::Sharding &)> change) {
    spmd::Sharding value = sharding.toValue();
    change(value);
    return ShardingAttr::fromValue(sharding.getContext(), value);
  }
  ShardingAttr splitSharding(ShardingAttr sharding) const {
    return withDims(sharding, [&](spmd::Sharding &value) { value.dims.insert(value.dims.begin() + dim + 1, {{}}); });
  }
  ShardingAttr wholeSharding(ShardingAttr sharding) const {
    return withDims(sharding, [&](spmd::Sharding &value) { value.dims[dim].clear(); });
  }

  Value pad(Value x, int64_t size) {
    ArrayType type = arrayTypeOf(x);
    int64_t missing = size - type.getDimSize(dim);
    if (missing == 0)
      return x;
    SmallVector<int64_t> none(type.getRank(), 0), high(none);
    high[dim] = missing;
    Value last = b.create<ConstantOp>(loc, type.withShape({}), lastOf(type.getElementType(), order.op.getDescending()));
    return b.create<PadOp>(loc, typeFor(type, shapeWith({size}), type.getShardingOrOpen()), x, last, none, high, none);
  }

  Value argsort(Value x, int64_t along, bool isDescending) {
    return b.create<ArgsortOp>(loc, arrayTypeOf(x).withElementType(b.getI32Type()), x, along, isDescending);
  }

  /// The elements from `start` on of a dimension, as many as the type says.
  Value slice(Value x, ArrayType type, int64_t along, int64_t start) {
    SmallVector<int64_t> starts(type.getRank(), 0), limits(type.getShape()), strides(type.getRank(), 1);
    starts[along] = start;
    limits[along] += start;
    return b.create<SliceOp>(loc, type, x, starts, limits, strides);
  }

  /// What takes the ordered elements themselves finds them among the candidates.
  void replaceTaken(SliceOp user, Value x, Value elements, Value first) {
    for (Operation *other : llvm::make_early_inc_range(user->getUsers())) {
      auto take = dyn_cast<TakeAlongOp>(other);
      if (!take || take.getOperand() != x || static_cast<int64_t>(take.getDim()) != dim ||
          take.getIndices() != user.getResult())
        continue;
      OpBuilder builder(take);
      Value taken = builder.create<TakeAlongOp>(take.getLoc(), take.getType(), elements, first, dim);
      take.replaceAllUsesWith(taken);
      take.erase();
    }
  }

  PartOfOrder &order;
  int64_t dim;
  OpBuilder b;
  Location loc;
};

class SplitOrdersPass : public impl::SplitOrdersBase<SplitOrdersPass> {
  void runOnOperation() override {
    auto &planner = getAnalysis<ReshardPlanner>();
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      SmallVector<ArgsortOp> orders;
      SmallVector<ArgReduceOp> extremes;
      func.walk([&](Operation *op) {
        if (isPerDevice(op))
          return;
        if (auto order = dyn_cast<ArgsortOp>(op))
          orders.push_back(order);
        else if (auto extreme = dyn_cast<ArgReduceOp>(op))
          extremes.push_back(extreme);
      });
      llvm::for_each(extremes, splitFlatExtreme);
      for (ArgsortOp op : orders) {
        std::optional<PartOfOrder> order = matchEnd(op, /*isLast=*/false, planner.getMesh());
        if (!order)
          order = matchEnd(op, /*isLast=*/true, planner.getMesh());
        if (order)
          OrderSplitter(*order).run();
        else
          splitWhole(op, planner);
      }
    }
  }

  /// The quickest way that sends no more than gathering; of two that take nearly the same, the sort by samples, which
  /// sends least: how long computing takes is known less well than what is sent. It sorts spread data only: where there
  /// are others, its beginning is lost, which may be half as much time again as the way that is taken then, and hardly
  /// any bytes.
  static void splitWhole(ArgsortOp op, ReshardPlanner &planner) {
    std::optional<CutOrder> order = CutOrder::of(op, planner);
    if (!order)
      return;
    std::optional<ColumnSort> columns = findColumnSort(*order, planner);
    const OperationPrice &otherwise = columns ? columns->price : order->apart;
    // In a region that is manual along other axes, groups of devices may differ in which arm is theirs, so that all
    // would go through both (spmdc-align-collectives).
    bool mayBranch = !op->getParentOfType<ManualOp>();
    auto samples =
        planSampleSort(*order, planner, [&](const SampleSort &sort) { return mayBranch && isBetter(sort, otherwise); });
    if (samples) {
      if (std::optional<CutOrder> others = CutOrder::of(buildSampleSort(*samples), planner))
        if (std::optional<ColumnSort> ofOthers = findColumnSort(*others, planner))
          buildColumnSort(*ofOthers);
    } else if (columns) {
      buildColumnSort(*columns);
    }
  }

  static bool isBetter(const SampleSort &samples, const OperationPrice &otherwise) {
    constexpr double nearly = 1.1, hardlyMore = 1 + 1. / 64;
    double gathered = samples.order.apart.linkBytes;
    return samples.price.seconds < nearly * otherwise.seconds && 2 * samples.toBranch.seconds < otherwise.seconds &&
           samples.price.linkBytes <= gathered &&
           samples.toBranch.linkBytes + otherwise.linkBytes <= hardlyMore * gathered;
  }

  /// If it is better than gathering.
  static std::optional<ColumnSort> findColumnSort(CutOrder &order, ReshardPlanner &planner) {
    std::optional<ColumnSort> sort = planColumnSort(order, planner);
    bool isBetter = sort && sort->price.seconds < order.apart.seconds && sort->price.linkBytes <= order.apart.linkBytes;
    return isBetter ? std::move(sort) : std::nullopt;
  }
};

} // namespace
} // namespace spmdc
