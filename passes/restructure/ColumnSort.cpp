//===- ColumnSort.cpp - columnsort along sharded dimensions ---------------===//

#include "passes/restructure/ColumnSort.h"

#include "ir/array/LocalBuilder.h"
#include "ir/array/ScalarEvaluation.h"

using namespace mlir;

namespace spmdc {
namespace {

Price priceSort(const ColumnSort &sort, ReshardPlanner &planner) {
  ShardedSort &shardedSort = sort.shardedSort;
  SortPrice price(shardedSort, planner);
  auto numShards = static_cast<double>(shardedSort.numShards), shardSize = static_cast<double>(sort.shardSize);
  auto halo = static_cast<double>(sort.getHalo());
  SmallVector<ArrayType> arrays;
  for (Value array : shardedSort.listArrays()) {
    arrays.push_back(typeOf(array));
    price.resize(arrays.back(), sort.shardSize);
  }
  if (sort.hasPositions) // Created where they are needed.
    arrays.push_back(shardedSort.op.getType().withSharding(shardedSort.getType().getSharding()));
  for (ArrayType array : arrays) {
    for (int exchange = 0; exchange < 2; ++exchange) {
      price.send("all_to_all", (numShards - 1) / numShards * price.bytesOf(array, shardSize));
      price.send("exchange", price.bytesOf(array, halo));
    }
    price.touch(6 * price.bytesOf(array, shardSize)); // Taken by each sort, dealt, and sent back.
  }
  price.deliver(sort.shardSize);
  // If positions decide between equals, a sort by position comes first; the second sort is stable.
  price.sort(sort.hasPositions ? 4 : 3, shardSize);
  price.sort(sort.hasPositions ? 2 : 1, 2 * halo);
  return price.get();
}

/// Builds a columnsort.
class ColumnSorter : SortBuilder {
public:
  explicit ColumnSorter(const ColumnSort &sort)
      : SortBuilder(sort.shardedSort, OpBuilder(sort.shardedSort.op)), sort(sort) {}

  void run() {
    SmallVector<Value> arrays = listArrays();
    sortLines(arrays, 0);
    transform(arrays, [&](Value x) { return deal(x); });
    sortLines(arrays, 0);
    transform(arrays, [&](Value x) { return takeBack(x); });
    sortByPosition(arrays);
    arrays = sortHalos(arrays);
    SmallVector<Value> values;
    for (const SortUse &use : shardedSort.uses) {
      size_t index = 1; // Positions.
      if (use.array == shardedSort.op.getOperand())
        index = 0;
      else if (use.array)
        index = (sort.hasPositions ? 2 : 1) + (llvm::find(shardedSort.taken, use.array) - shardedSort.taken.begin());
      values.push_back(join(arrays[index], use.type));
    }
    shardedSort.replace(values);
  }

private:
  /// The operand, its positions, and the other arrays, as `[numShards, shardSize]`.
  SmallVector<Value> listArrays() {
    SmallVector<Value> arrays{
        split(shardedSort.op.getOperand(), sort.shardSize, lastOf(original.getElementType(), descending))};
    if (sort.hasPositions) {
      ArrayType type = makeType(shardedSort.positionType(), {shardedSort.numShards * sort.shardSize});
      arrays.push_back(reshape(b.create<IotaOp>(loc, type, dim), {shardedSort.numShards, sort.shardSize}));
    }
    for (Value value : shardedSort.taken)
      arrays.push_back(split(value, sort.shardSize, Scalar()));
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

  /// Sends element i of each shard to shard i modulo `numShards`.
  Value deal(Value x) {
    int64_t numShards = shardedSort.numShards, each = sort.shardSize / numShards;
    Value dealt = transpose(reshape(x, {numShards, each, numShards}), {2, 0, 1}, {numShards, numShards, each});
    return reshape(dealt, {numShards, sort.shardSize});
  }
  Value takeBack(Value x) {
    int64_t numShards = shardedSort.numShards, each = sort.shardSize / numShards;
    Value dealt = transpose(reshape(x, {numShards, numShards, each}), {1, 2, 0}, {numShards, each, numShards});
    return reshape(dealt, {numShards, sort.shardSize});
  }

  /// Sorts the end of each shard together with the beginning of the next one.
  SmallVector<Value> sortHalos(ArrayRef<Value> arrays) {
    int64_t numShards = shardedSort.numShards, halo = sort.getHalo(), rest = sort.shardSize - 2 * halo;
    auto part = [&](Value x, int64_t begin, int64_t size) {
      return slice(x, 1, typeLike(x, {numShards, size}), begin);
    };
    SmallVector<Value> windows;
    for (auto [index, x] : llvm::enumerate(arrays)) {
      // Behind the last shard is filler that sorts last.
      Scalar last;
      if (index == 0)
        last = lastOf(original.getElementType(), descending);
      else if (index == 1 && sort.hasPositions)
        last = getReductionIdentity(shardedSort.positionType(), ReductionKind::min);
      Value first = part(x, 0, halo), next = slice(first, 0, typeLike(x, {numShards - 1, halo}), 1);
      next = pad(next, 0, typeOf(first), 0, 1, last);
      windows.push_back(
          concatenate({part(x, sort.shardSize - halo, halo), next}, 1, typeLike(x, {numShards, 2 * halo})));
    }
    sortByPosition(windows);
    SmallVector<Value> results;
    for (auto [x, window] : llvm::zip(arrays, windows)) {
      Value own = part(x, 0, halo), back = slice(part(window, halo, halo), 0, typeLike(x, {numShards - 1, halo}), 0);
      back = pad(back, 0, typeOf(own), 1, 0, Scalar());
      SmallVector<Value> parts{b.create<SelectOp>(loc, own.getType(), isFirst(halo), own, back)};
      if (rest > 0)
        parts.push_back(part(x, halo, rest));
      parts.push_back(part(window, 0, halo));
      results.push_back(concatenate(parts, 1, typeLike(x, {numShards, sort.shardSize})));
    }
    return results;
  }

  Value isFirst(int64_t size) {
    ArrayType type = makeType(shardedSort.positionType(), {shardedSort.numShards, size});
    Value number = b.create<IotaOp>(loc, type, dim), zero = b.create<ConstantOp>(loc, type, Scalar());
    return b.create<CompareOp>(loc, type.withElementType(b.getI1Type()), number, zero, ComparisonDirection::eq);
  }

  const ColumnSort &sort;
};

} // namespace

std::optional<ColumnSort> planColumnSort(ShardedSort &shardedSort, ReshardPlanner &planner) {
  ColumnSort sort{shardedSort};
  int64_t numShards = shardedSort.numShards;
  if (numShards * numShards > shardedSort.getSize())
    return std::nullopt;
  sort.shardSize = std::max((shardedSort.shardSize + numShards - 1) / numShards * numShards, 2 * sort.getHalo());
  if (!holdsPositions(shardedSort.positionType(), numShards * sort.shardSize))
    return std::nullopt;
  sort.hasPositions =
      shardedSort.usesPositions || !shardedSort.taken.empty() || isa<FloatType>(shardedSort.getType().getElementType());
  sort.price = priceSort(sort, planner);
  return sort;
}

void buildColumnSort(const ColumnSort &sort) { ColumnSorter(sort).run(); }

} // namespace spmdc
