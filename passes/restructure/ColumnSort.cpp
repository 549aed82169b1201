//===- ColumnSort.cpp - columnsort along sharded dimensions ---------------===//

#include "passes/restructure/ColumnSort.h"

#include "ir/array/LocalBuilder.h"
#include "ir/array/ScalarEvaluation.h"

using namespace mlir;

namespace spmdc {
namespace {

OperationPrice priceSort(const ColumnSort &sort, ReshardPlanner &planner) {
  ShardedSort &order = sort.order;
  SortPrice price(order, planner);
  auto pieces = static_cast<double>(order.pieces), piece = static_cast<double>(sort.piece);
  auto edge = static_cast<double>(sort.getEdge());
  SmallVector<ArrayType> arrays;
  for (Value array : order.listArrays()) {
    arrays.push_back(arrayTypeOf(array));
    price.resize(arrays.back(), sort.piece);
  }
  if (sort.hasPositions) // Created where they are needed.
    arrays.push_back(order.op.getType().withSharding(order.getType().getSharding()));
  for (ArrayType array : arrays) {
    for (int exchange = 0; exchange < 2; ++exchange) {
      price.send("all_to_all", (pieces - 1) / pieces * price.bytesOf(array, piece));
      price.send("exchange", price.bytesOf(array, edge));
    }
    price.touch(6 * price.bytesOf(array, piece)); // Taken by each sort, dealt, and sent back.
  }
  price.deliver(sort.piece);
  // If positions decide between equals, a sort by position comes first; the second sort is stable.
  price.sort(sort.hasPositions ? 4 : 3, piece);
  price.sort(sort.hasPositions ? 2 : 1, 2 * edge);
  return price.get();
}

/// Builds a columnsort.
class ColumnSorter : SortBuilder {
public:
  explicit ColumnSorter(const ColumnSort &sort) : SortBuilder(sort.order, OpBuilder(sort.order.op)), sort(sort) {}

  void run() {
    SmallVector<Value> arrays = listArrays();
    sortLines(arrays, 0);
    transform(arrays, [&](Value x) { return deal(x); });
    sortLines(arrays, 0);
    transform(arrays, [&](Value x) { return takeBack(x); });
    sortByPosition(arrays);
    arrays = sortEdges(arrays);
    SmallVector<Value> values;
    for (const SortUse &use : order.uses) {
      size_t index = 1; // Positions.
      if (use.array == order.op.getOperand())
        index = 0;
      else if (use.array)
        index = (sort.hasPositions ? 2 : 1) + (llvm::find(order.taken, use.array) - order.taken.begin());
      values.push_back(join(arrays[index], use.type));
    }
    order.replace(values);
  }

private:
  /// The operand, its positions, and the other arrays, as `[pieces, piece]`.
  SmallVector<Value> listArrays() {
    SmallVector<Value> arrays{split(order.op.getOperand(), sort.piece, lastOf(original.getElementType(), descending))};
    if (sort.hasPositions) {
      ArrayType type = typeOf(order.positionType(), {order.pieces * sort.piece});
      arrays.push_back(reshape(b.create<IotaOp>(loc, type, dim), {order.pieces, sort.piece}));
    }
    for (Value value : order.taken)
      arrays.push_back(split(value, sort.piece, Scalar()));
    return arrays;
  }

  template <typename Change> static void transform(SmallVector<Value> &arrays, Change change) {
    for (Value &array : arrays)
      array = change(array);
  }

  /// Each device sorts its shard of all arrays by one of them. The sort is stable.
  void sortLines(SmallVector<Value> &arrays, size_t by) {
    Value sorted = argsort(arrays[by], 1, by == 0 && descending);
    transform(arrays, [&](Value x) { return take(x, sorted, 1); });
  }

  /// Sorts by value, with ties by position.
  void sortByPosition(SmallVector<Value> &arrays) {
    if (sort.hasPositions)
      sortLines(arrays, 1);
    sortLines(arrays, 0);
  }

  /// Sends element i of each shard to shard i modulo `pieces`.
  Value deal(Value x) {
    int64_t pieces = order.pieces, each = sort.piece / pieces;
    Value dealt = transpose(reshape(x, {pieces, each, pieces}), {2, 0, 1}, {pieces, pieces, each});
    return reshape(dealt, {pieces, sort.piece});
  }
  Value takeBack(Value x) {
    int64_t pieces = order.pieces, each = sort.piece / pieces;
    Value dealt = transpose(reshape(x, {pieces, pieces, each}), {1, 2, 0}, {pieces, each, pieces});
    return reshape(dealt, {pieces, sort.piece});
  }

  /// Sorts the end of each shard together with the beginning of the next one.
  SmallVector<Value> sortEdges(ArrayRef<Value> arrays) {
    int64_t pieces = order.pieces, edge = sort.getEdge(), rest = sort.piece - 2 * edge;
    auto part = [&](Value x, int64_t begin, int64_t size) { return slice(x, 1, typeLike(x, {pieces, size}), begin); };
    SmallVector<Value> windows;
    for (auto [index, x] : llvm::enumerate(arrays)) {
      // Behind the last shard is filler that sorts last.
      Scalar last;
      if (index == 0)
        last = lastOf(original.getElementType(), descending);
      else if (index == 1 && sort.hasPositions)
        last = getReductionIdentity(order.positionType(), ReductionKind::min);
      Value first = part(x, 0, edge), next = slice(first, 0, typeLike(x, {pieces - 1, edge}), 1);
      next = pad(next, 0, arrayTypeOf(first), 0, 1, last);
      windows.push_back(concatenate({part(x, sort.piece - edge, edge), next}, 1, typeLike(x, {pieces, 2 * edge})));
    }
    sortByPosition(windows);
    SmallVector<Value> results;
    for (auto [x, window] : llvm::zip(arrays, windows)) {
      Value own = part(x, 0, edge), back = slice(part(window, edge, edge), 0, typeLike(x, {pieces - 1, edge}), 0);
      back = pad(back, 0, arrayTypeOf(own), 1, 0, Scalar());
      SmallVector<Value> parts{b.create<SelectOp>(loc, own.getType(), isFirst(edge), own, back)};
      if (rest > 0)
        parts.push_back(part(x, edge, rest));
      parts.push_back(part(window, 0, edge));
      results.push_back(concatenate(parts, 1, typeLike(x, {pieces, sort.piece})));
    }
    return results;
  }

  Value isFirst(int64_t size) {
    ArrayType type = typeOf(order.positionType(), {order.pieces, size});
    Value number = b.create<IotaOp>(loc, type, dim), zero = b.create<ConstantOp>(loc, type, Scalar());
    return b.create<CompareOp>(loc, type.withElementType(b.getI1Type()), number, zero, ComparisonDirection::eq);
  }

  const ColumnSort &sort;
};

} // namespace

std::optional<ColumnSort> planColumnSort(ShardedSort &order, ReshardPlanner &planner) {
  ColumnSort sort{order};
  int64_t pieces = order.pieces;
  if (pieces * pieces > order.getSize())
    return std::nullopt;
  sort.piece = std::max((order.piece + pieces - 1) / pieces * pieces, 2 * sort.getEdge());
  if (!holdsPositions(order.positionType(), pieces * sort.piece))
    return std::nullopt;
  sort.hasPositions = order.isAsked || !order.taken.empty() || isa<FloatType>(order.getType().getElementType());
  sort.price = priceSort(sort, planner);
  return sort;
}

void buildColumnSort(const ColumnSort &sort) { ColumnSorter(sort).run(); }

} // namespace spmdc
