//===- ColumnSort.cpp - orders along cut dimensions -----------------------===//

#include "passes/partition/ColumnSort.h"

#include "ir/array/LocalBuilder.h"
#include "ir/array/ScalarEvaluation.h"
#include "passes/partition/OperationChoice.h"

#include <limits>

using namespace mlir;

namespace spmdc {
namespace {

/// Whether this takes the elements of an array in the order.
bool takesInOrder(Operation *user, ArgsortOp op) {
  auto take = dyn_cast<TakeAlongOp>(user);
  return take && take.getIndices() == op.getResult() && take.getDim() == op.getDim() &&
         take.getOperand().getType().getShape() == op.getOperand().getType().getShape();
}

bool liesAs(Value value, ArrayType type) {
  return arrayTypeOf(value).getShardingOrOpen().hasSameAxes(type.getShardingOrOpen());
}

/// What takes elements by a part of the order: the first of a top_k.
SmallVector<TakeAlongOp> listTakesOfSlice(Operation *user, ArgsortOp op) {
  SmallVector<TakeAlongOp> takes;
  if (isa<SliceOp>(user))
    for (Operation *other : user->getUsers())
      if (auto take = dyn_cast<TakeAlongOp>(other); take && take.getIndices() == user->getResult(0) &&
                                                    take.getOperand() == op.getOperand() &&
                                                    take.getDim() == op.getDim())
        takes.push_back(take);
  return takes;
}

/// Bytes that one device holds of the array, its dimension `dim` being `size` elements.
double localBytes(const spmd::MeshShape &mesh, ArrayType type, int64_t dim, int64_t size) {
  spmd::ShardedShape shape = type.toShardedShape();
  auto bytes = static_cast<double>(spmd::byteSize(type.getDType()) * size);
  for (int64_t d = 0; d < type.getRank(); ++d) {
    std::vector<int64_t> sizes;
    for (const spmd::AxisRef &axis : shape.sharding.dims[d])
      sizes.push_back(axis.sizeIn(mesh));
    if (d != dim)
      bytes *= static_cast<double>(spmd::localDimSize(type.getDimSize(d), sizes));
  }
  return bytes;
}

/// The time of the sort and of bringing its results to where they are wanted.
double priceSort(ColumnSort &sort, ReshardPlanner &planner) {
  const spmd::MeshShape &mesh = planner.getMesh();
  const CostModel &model = planner.getModel();
  ArrayType type = sort.op.getOperand().getType(), order = sort.op.getType().withSharding(type.getSharding());
  int64_t dim = sort.getDim(), devices = mesh.deviceCount();
  std::vector<std::string> axes;
  for (AxisRefAttr axis : type.getShardingOrOpen().getDims()[dim].getAxes())
    axes.push_back(axis.getName().str());
  SmallVector<ArrayType> arrays{type};
  for (Value value : sort.taken)
    arrays.push_back(arrayTypeOf(value));
  SmallVector<int64_t> padded(type.getShape());
  padded[dim] = sort.pieces * sort.piece;
  CollectiveCost cost;
  double touched = 0;
  auto exchange = [&](ArrayType from, ArrayType to) {
    std::vector<spmd::DimMove> moves;
    for (auto [before, after] : llvm::zip(from.getShape(), to.getShape()))
      moves.push_back({0, 1, 0, std::min(before, after)});
    if (double bytes = getExchangeBytes(mesh, from, to, moves); bytes > 0)
      cost = cost + model.costOf("exchange", axes, bytes, 0);
  };
  for (ArrayType array : arrays) // Positions are made where they are needed.
    exchange(array, array.withShape(padded).withSharding(array.getSharding()));
  if (sort.hasPositions)
    arrays.push_back(order);
  auto pieces = static_cast<double>(sort.pieces);
  for (ArrayType array : arrays) {
    double bytes = localBytes(mesh, array, dim, sort.piece), edge = localBytes(mesh, array, dim, sort.getEdge());
    auto all = static_cast<double>(devices) * (pieces - 1) / pieces;
    CollectiveCost deal = model.costOf("all_to_all", axes, all * bytes, bytes);
    CollectiveCost edges = model.costOf("exchange", axes, all * edge, edge);
    cost = cost + deal + deal + edges + edges;
    touched += 2 * bytes * 6; // Taken in each order, dealt and taken back.
  }
  for (Operation *user : sort.op->getUsers())
    if (takesInOrder(user, sort.op)) {
      auto wanted = arrayTypeOf(user->getResult(0));
      exchange(wanted.withShape(padded).withSharding(type.getSharding()), wanted.withSharding(type.getSharding()));
      cost = cost + planner.plan(wanted.withSharding(type.getSharding()), wanted).cost;
    }
  if (sort.hasPositions)
    cost = cost + planner.plan(order, sort.op.getType()).cost;
  double lines = localBytes(mesh, order, dim, 1) / spmd::byteSize(order.getDType());
  auto piece = static_cast<double>(sort.piece), window = 2 * static_cast<double>(sort.getEdge());
  // By positions first, where these decide: of two sorts the second one keeps their order.
  double sorts = sort.hasPositions ? 4 : 3, windows = sort.hasPositions ? 2 : 1;
  return model.seconds(cost, devices) + touched / model.memoryPerSecond +
         sorts * model.orderSeconds(lines * piece, piece) + windows * model.orderSeconds(lines * window, window);
}

/// Builds the sort on global arrays: which collectives its steps are the partitioner finds as for any other operation.
class SortBuilder {
public:
  explicit SortBuilder(ColumnSort &sort)
      : sort(sort), dim(sort.getDim()), descending(sort.op.getDescending()), b(sort.op), loc(sort.op.getLoc()),
        original(sort.op.getOperand().getType()) {}

  void run() {
    SmallVector<Value> arrays = listArrays();
    sortLines(arrays, 0);
    transform(arrays, [&](Value x) { return deal(x); });
    sortLines(arrays, 0);
    transform(arrays, [&](Value x) { return takeBack(x); });
    sortByPosition(arrays);
    arrays = sortEdges(arrays);
    replaceUses(arrays);
  }

private:
  /// The operand, its positions, and the other arrays: [pieces, piece] in place of the ordered dimension.
  SmallVector<Value> listArrays() {
    SmallVector<Value> arrays;
    Value x = sort.op.getOperand();
    arrays.push_back(split(pad(x, lastOf(original.getElementType(), descending))));
    if (sort.hasPositions) {
      ArrayType type = typeOf(b.getI32Type(), {sort.pieces * sort.piece});
      arrays.push_back(split(b.create<IotaOp>(loc, type, dim)));
    }
    for (Value value : sort.taken)
      arrays.push_back(split(pad(value, Scalar())));
    return arrays;
  }

  /// The operand's type with dimensions of these sizes in place of the ordered one, of which the first is cut.
  ArrayType typeOf(Type elementType, ArrayRef<int64_t> sizes) const {
    SmallVector<int64_t> shape(original.getShape());
    shape.erase(shape.begin() + dim);
    shape.insert(shape.begin() + dim, sizes.begin(), sizes.end());
    spmd::Sharding sharding = original.getShardingOrOpen().toValue();
    sharding.dims.insert(sharding.dims.begin() + dim + 1, sizes.size() - 1, {});
    return original.withElementType(elementType)
        .withShape(shape)
        .withSharding(ShardingAttr::fromValue(original.getContext(), sharding));
  }
  ArrayType typeLike(Value x, ArrayRef<int64_t> sizes) const { return typeOf(arrayTypeOf(x).getElementType(), sizes); }

  Value reshape(Value x, ArrayRef<int64_t> sizes) { return b.create<ReshapeOp>(loc, typeLike(x, sizes), x); }
  Value split(Value x) { return reshape(x, {sort.pieces, sort.piece}); }

  Value pad(Value x, Scalar filler) {
    int64_t missing = sort.pieces * sort.piece - original.getDimSize(dim);
    return missing == 0 ? x : padDim(x, dim, typeLike(x, {sort.pieces * sort.piece}), 0, missing, filler);
  }

  Value padDim(Value x, int64_t along, ArrayType type, int64_t low, int64_t high, Scalar filler) {
    SmallVector<int64_t> lows(type.getRank()), highs(type.getRank()), none(type.getRank());
    lows[along] = low;
    highs[along] = high;
    Value value = b.create<ConstantOp>(loc, type.withShape({}), filler);
    return b.create<PadOp>(loc, type, x, value, lows, highs, none);
  }

  Value sliceDim(Value x, int64_t along, ArrayType type, int64_t begin) {
    SmallVector<int64_t> starts(type.getRank()), limits(type.getShape()), strides(type.getRank(), 1);
    starts[along] = begin;
    limits[along] += begin;
    return b.create<SliceOp>(loc, type, x, starts, limits, strides);
  }

  template <typename Change> static void transform(SmallVector<Value> &arrays, Change change) {
    for (Value &array : arrays)
      array = change(array);
  }

  /// Brings what each device has into the order of one of the arrays. Equals stay in the order in which they stand.
  void sortLines(SmallVector<Value> &arrays, size_t by) {
    ArrayType type = arrayTypeOf(arrays[by]).withElementType(b.getI32Type());
    Value order = b.create<ArgsortOp>(loc, type, arrays[by], dim + 1, by == 0 && descending);
    transform(arrays, [&](Value x) { return b.create<TakeAlongOp>(loc, x.getType(), x, order, dim + 1).getResult(); });
  }

  /// Where equals do not stand in the order of their positions.
  void sortByPosition(SmallVector<Value> &arrays) {
    if (sort.hasPositions)
      sortLines(arrays, 1);
    sortLines(arrays, 0);
  }

  Value transpose(Value x, ArrayRef<int64_t> places, ArrayRef<int64_t> sizes) {
    SmallVector<int64_t> perm;
    for (int64_t d = 0; d < dim; ++d)
      perm.push_back(d);
    for (int64_t place : places)
      perm.push_back(dim + place);
    for (int64_t d = dim + 3; d < original.getRank() + 2; ++d)
      perm.push_back(d);
    return b.create<TransposeOp>(loc, typeLike(x, sizes), x, perm);
  }

  /// Every element to the piece that its place in its own names, modulo the pieces.
  Value deal(Value x) {
    int64_t each = sort.piece / sort.pieces;
    Value dealt = transpose(reshape(x, {sort.pieces, each, sort.pieces}), {2, 0, 1}, {sort.pieces, sort.pieces, each});
    return split(dealt);
  }
  Value takeBack(Value x) {
    int64_t each = sort.piece / sort.pieces;
    Value dealt = reshape(x, {sort.pieces, sort.pieces, each});
    return split(transpose(dealt, {1, 2, 0}, {sort.pieces, each, sort.pieces}));
  }

  /// Sorts the end of each piece with the beginning of the next one.
  SmallVector<Value> sortEdges(ArrayRef<Value> arrays) {
    int64_t edge = sort.getEdge(), rest = sort.piece - 2 * edge, others = sort.pieces - 1;
    auto part = [&](Value x, int64_t begin, int64_t size) {
      return sliceDim(x, dim + 1, typeLike(x, {sort.pieces, size}), begin);
    };
    SmallVector<Value> windows;
    for (auto [index, x] : llvm::enumerate(arrays)) {
      // Behind the last piece there is what is last.
      Scalar last;
      if (index == 0)
        last = lastOf(original.getElementType(), descending);
      else if (index == 1 && sort.hasPositions)
        last = Scalar::ofInt(std::numeric_limits<int32_t>::max());
      Value first = part(x, 0, edge), next = sliceDim(first, dim, typeLike(x, {others, edge}), 1);
      next = padDim(next, dim, arrayTypeOf(first), 0, 1, last);
      windows.push_back(concatenate({part(x, sort.piece - edge, edge), next}, 2 * edge));
    }
    sortByPosition(windows);
    SmallVector<Value> results;
    for (auto [x, window] : llvm::zip(arrays, windows)) {
      Value own = part(x, 0, edge), back = sliceDim(part(window, edge, edge), dim, typeLike(x, {others, edge}), 0);
      back = padDim(back, dim, arrayTypeOf(own), 1, 0, Scalar());
      SmallVector<Value> parts{b.create<SelectOp>(loc, own.getType(), isFirst(edge), own, back)};
      if (rest > 0)
        parts.push_back(part(x, edge, rest));
      parts.push_back(part(window, 0, edge));
      results.push_back(concatenate(parts, sort.piece));
    }
    return results;
  }

  Value concatenate(ArrayRef<Value> parts, int64_t size) {
    return b.create<ConcatenateOp>(loc, typeLike(parts[0], {sort.pieces, size}), parts, dim + 1);
  }

  Value isFirst(int64_t size) {
    ArrayType type = typeOf(b.getI32Type(), {sort.pieces, size});
    Value number = b.create<IotaOp>(loc, type, dim), zero = b.create<ConstantOp>(loc, type, Scalar());
    return b.create<CompareOp>(loc, type.withElementType(b.getI1Type()), number, zero, ComparisonDirection::eq);
  }

  /// One dimension again, without what it was padded with.
  Value join(Value x, ArrayType type) {
    if (original.getDimSize(dim) == sort.pieces * sort.piece)
      return b.create<ReshapeOp>(loc, type, x);
    return sliceDim(reshape(x, {sort.pieces * sort.piece}), dim, type, 0);
  }

  void replaceUses(ArrayRef<Value> arrays) {
    Value operand = sort.op.getOperand();
    for (Operation *user : llvm::make_early_inc_range(sort.op->getUsers())) {
      for (TakeAlongOp take : listTakesOfSlice(user, sort.op)) {
        auto slice = cast<SliceOp>(user);
        Value whole = join(arrays[0], typeLike(operand, {original.getDimSize(dim)}));
        OpBuilder behind(take);
        take.replaceAllUsesWith(
            behind.create<SliceOp>(loc, take.getType(), whole, slice.getStarts(), slice.getLimits(), slice.getStrides())
                .getResult());
        take.erase();
      }
      if (!takesInOrder(user, sort.op))
        continue;
      Value from = cast<TakeAlongOp>(user).getOperand();
      auto *place = llvm::find(sort.taken, from);
      size_t index = from == operand ? 0 : place - sort.taken.begin() + 1 + (sort.hasPositions ? 1 : 0);
      if (from != operand && place == sort.taken.end())
        continue;
      user->replaceAllUsesWith(ValueRange(join(arrays[index], arrayTypeOf(user->getResult(0)))));
      user->erase();
    }
    if (!sort.op->use_empty())
      sort.op.replaceAllUsesWith(join(arrays[1], sort.op.getType()));
    sort.op.erase();
  }

  ColumnSort &sort;
  int64_t dim;
  bool descending;
  OpBuilder b;
  Location loc;
  ArrayType original;
};

} // namespace

Scalar lastOf(Type type, bool isDescending) {
  if (isa<FloatType>(type)) {
    double nan = std::numeric_limits<double>::quiet_NaN();
    return Scalar::ofFloat(isDescending ? -nan : nan);
  }
  return getReductionIdentity(type, isDescending ? ReductionKind::max : ReductionKind::min);
}

std::optional<ColumnSort> planColumnSort(ArgsortOp op, ReshardPlanner &planner) {
  ColumnSort sort;
  sort.op = op;
  ArrayType type = op.getOperand().getType();
  int64_t dim = sort.getDim(), size = type.getDimSize(dim);
  std::vector<int64_t> sizes;
  spmd::Sharding sharding = type.getShardingOrOpen().toValue();
  for (const spmd::AxisRef &axis : sharding.dims[dim])
    sizes.push_back(axis.sizeIn(planner.getMesh()));
  sort.pieces = 1;
  for (int64_t count : sizes)
    sort.pieces *= count;
  // Only where positions fit, padding included, and pieces are not padding only.
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  if (sort.pieces == 1 || sort.pieces * sort.pieces > size || !sharding.unreduced.empty())
    return std::nullopt;
  int64_t piece = spmd::localDimSize(size, sizes);
  sort.piece = std::max((piece + sort.pieces - 1) / sort.pieces * sort.pieces, 2 * sort.getEdge());
  if (sort.pieces * sort.piece > most)
    return std::nullopt;
  bool isAsked = false;
  double apart = chooseAssignment(planner, cast<ShardingRuleOpInterface>(op.getOperation())).price.seconds;
  for (Operation *user : op->getUsers()) {
    auto take = takesInOrder(user, op) ? cast<TakeAlongOp>(user) : TakeAlongOp();
    if (!take || !liesAs(take.getOperand(), type)) {
      isAsked = true;
    } else if (take.getOperand() != op.getOperand() && !llvm::is_contained(sort.taken, take.getOperand())) {
      sort.taken.push_back(take.getOperand());
      apart += chooseAssignment(planner, cast<ShardingRuleOpInterface>(user)).price.seconds;
    }
  }
  sort.hasPositions = isAsked || !sort.taken.empty() || isa<FloatType>(type.getElementType());
  return priceSort(sort, planner) < apart ? std::make_optional(sort) : std::nullopt;
}

void buildColumnSort(ColumnSort &sort) { SortBuilder(sort).run(); }

} // namespace spmdc
