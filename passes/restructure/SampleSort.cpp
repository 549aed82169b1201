//===- SampleSort.cpp - sample sort along sharded dimensions --------------===//

#include "passes/restructure/SampleSort.h"

#include "ir/array/LocalBuilder.h"
#include "passes/exchange/IndexArithmetic.h"

#include <cmath>

using namespace mlir;

namespace spmdc {
namespace {

/// The bound on the deviation of the number of random elements between two splitters from its mean, in standard
/// deviations.
constexpr double kDeviations = 6;

/// Seconds for operations on arrays smaller than the operand: a hundred small steps, a microsecond each.
constexpr double kSmallSteps = 1e-4;

/// Builds a sample sort.
class SampleSorter : SortBuilder, IndexArithmetic {
public:
  explicit SampleSorter(const SampleSort &sort)
      : SortBuilder(sort.shardedSort, OpBuilder(sort.shardedSort.op)), IndexArithmetic(b, loc), sort(sort),
        numShards(shardedSort.numShards), shardSize(sort.getShardSize()), samples(sort.samples), halo(sort.getHalo()),
        most(sort.getMost()), capacity(sort.getCapacity()) {}

  ArgsortOp run() {
    Type elementType = original.getElementType();
    keys = split(shardedSort.op.getOperand(), shardSize, lastOf(elementType, descending));
    Value own = argsort(keys, 1, descending);
    keys = take(keys, own, 1);
    for (Value array : shardedSort.taken)
      others[array] = take(split(array, shardSize, Scalar()), own, 1);
    positions = add(own, times(count({numShards, shardSize}, 0), shardSize));
    splitPoints = findSplitPoints();
    Value begins = columns(splitPoints, 0), ends = columns(splitPoints, 1);
    counts = reshape(reshape(subtract(ends, begins), {numShards * numShards}, /*isSharded=*/false),
                     {numShards, numShards}, false);
    SmallVector<Type> types;
    for (const SortUse &use : shardedSort.uses)
      types.push_back(use.type);
    auto branch = b.create<IfOp>(loc, types, findWhetherItFits());
    b.createBlock(&branch.getThenRegion());
    exchangeAll();
    b.createBlock(&branch.getElseRegion());
    ArgsortOp otherwise = sortOtherwise();
    shardedSort.replace(llvm::to_vector_of<Value>(branch.getOutputs()));
    return otherwise;
  }

private:
  //===--------------------------------------------------------------------===//
  // Arrays of positions
  //===--------------------------------------------------------------------===//

  /// 0, 1, 2, ... along a dimension.
  Value count(ArrayRef<int64_t> sizes, int64_t along, bool isSharded = true) {
    return b.create<IotaOp>(loc, makeType(shardedSort.positionType(), sizes, isSharded), dim + along);
  }
  /// Broadcasts an array: its dimension i, counted from the sorted one, becomes dimension `places[i]`.
  Value broadcast(Value x, ArrayRef<int64_t> places, ArrayRef<int64_t> sizes) {
    SmallVector<int64_t> dims;
    for (int64_t d = 0; d < dim; ++d)
      dims.push_back(d);
    for (int64_t place : places)
      dims.push_back(dim + place);
    for (int64_t d = dim + 1; d < original.getRank(); ++d)
      dims.push_back(d + static_cast<int64_t>(sizes.size()) - 1);
    return b.create<BroadcastInDimOp>(loc, typeLike(x, sizes), x, dims);
  }
  Value sum(Value x, int64_t along, ArrayRef<int64_t> sizes, bool isSharded = true) {
    return b.create<ReduceOp>(loc, typeLike(x, sizes, isSharded), x, ReductionKind::sum,
                              ArrayRef<int64_t>{dim + along});
  }
  Value countTrue(Value conditions, int64_t along, ArrayRef<int64_t> sizes) {
    ArrayType type = typeOf(conditions).withElementType(shardedSort.positionType());
    return sum(b.create<ConvertOp>(loc, type, conditions), along, sizes);
  }
  Value runningSum(Value x, int64_t along) {
    return b.create<CumulativeOp>(loc, x.getType(), x, ReductionKind::sum, dim + along, /*reversed=*/false);
  }
  /// `numShards` consecutive columns of `[numShards, numShards + 1]`, from column `begin` on.
  Value columns(Value x, int64_t begin) { return slice(x, 1, typeLike(x, {numShards, numShards}), begin); }

  //===--------------------------------------------------------------------===//
  // Splitters
  //===--------------------------------------------------------------------===//

  /// The place of sample `k` in a shard: `(2k + 1) * shardSize / (2 * samples)`, computed without overflow.
  Value placeOf(Value k) {
    Value remainders = over(add(times(k, 2 * (shardSize % samples)), shardSize), 2 * samples);
    return add(times(k, shardSize / samples), remainders);
  }

  /// `[numShards, numShards + 1]`: how many elements of a shard sort before each splitter; 0 in front, the shard's size
  /// at the end.
  Value findSplitPoints() {
    int64_t splitters = numShards - 1;
    Value shown = take(keys, placeOf(count({numShards, samples}, 1)), 1);
    shown = reshape(shown, {numShards * samples}, /*isSharded=*/false);
    Value sorted = argsort(shown, 0, descending);
    Value chosen = chooseSplitters(sorted), splitterKeys = take(shown, chosen, 0);
    // Among equal samples those of lower devices come first, and so do the elements that are equal to them.
    Value device = count({numShards, splitters}, 0);
    Value source = broadcast(over(chosen, samples), {1}, {numShards, splitters});
    Value placeThere = broadcast(placeOf(rest(chosen, samples)), {1}, {numShards, splitters});
    Value before = countSamplesBefore(argsort(sorted, 0, false));
    int64_t between = sort.getStep() - 1;
    Value begin = clamp(add(placeOf(add(before, -1)), 1), 0, shardSize - between);
    auto [below, upTo] = countBetween(begin, between, splitterKeys);
    Value splitPoint = select(compare(device, ComparisonDirection::lt, source), add(begin, upTo), add(begin, below));
    splitPoint = select(compare(device, ComparisonDirection::eq, source), placeThere, splitPoint);
    ArrayType end = typeLike(splitPoint, {numShards, 1});
    return concatenate({number(end, 0), splitPoint, number(end, shardSize)}, 1,
                       typeLike(splitPoint, {numShards, numShards + 1}));
  }

  /// Every `samples`-th of all sorted samples.
  Value chooseSplitters(Value sorted) {
    ArrayType type = typeLike(sorted, {numShards - 1}, /*isSharded=*/false);
    SmallVector<int64_t> starts(type.getRank()), limits(typeOf(sorted).getShape()), strides(type.getRank(), 1);
    starts[dim] = strides[dim] = samples;
    return b.create<SliceOp>(loc, type, sorted, starts, limits, strides);
  }

  /// `[numShards, splitters]`: the number of a device's samples before each splitter, by the samples' ranks.
  Value countSamplesBefore(Value rank) {
    SmallVector<int64_t> sizes{numShards, numShards - 1, samples};
    Value own = broadcast(reshape(rank, {numShards, samples}), {0, 2}, sizes);
    Value splitter = times(add(count(sizes, 1), 1), samples);
    return countTrue(compare(own, ComparisonDirection::lt, splitter), 2, {numShards, numShards - 1});
  }

  /// How many of the `between` elements from `begin` on sort before each splitter, and how many do not sort behind it.
  /// Found by sorting them with two copies of the splitter, one in front of equal elements and one behind them.
  std::pair<Value, Value> countBetween(Value begin, int64_t between, Value splitter) {
    SmallVector<int64_t> sizes{numShards, numShards - 1, between}, line{numShards, numShards - 1, between + 2};
    Value places = add(broadcast(begin, {0, 1}, sizes), count(sizes, 2));
    Value elements = reshape(take(keys, reshape(places, {numShards, (numShards - 1) * between}), 1), sizes);
    Value one = broadcast(splitter, {1}, {numShards, numShards - 1, 1});
    Value sorted = argsort(concatenate({one, elements, one}, 2, typeLike(elements, line)), 2, descending);
    auto find = [&](int64_t element) {
      Value isValid = compare(sorted, ComparisonDirection::eq, like(sorted, element));
      return sum(select(isValid, count(line, 2), like(sorted, 0)), 2, {numShards, numShards - 1});
    };
    return {find(0), add(find(between + 1), -1)};
  }

  /// Whether no device has more than `capacity` elements for another one.
  Value findWhetherItFits() {
    Value device = count({numShards, numShards}, 0, /*isSharded=*/false),
          target = count({numShards, numShards}, 1, /*isSharded=*/false);
    Value sent = select(compare(device, ComparisonDirection::eq, target), like(counts, 0), counts);
    SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, typeOf(sent).getRank()));
    Value largest =
        b.create<ReduceOp>(loc, ArrayType::get({}, shardedSort.positionType()), sent, ReductionKind::max, dims);
    return compare(largest, ComparisonDirection::le, like(largest, capacity));
  }

  //===--------------------------------------------------------------------===//
  // The exchange
  //===--------------------------------------------------------------------===//

  void exchangeAll() {
    // `[numShards]` and `[numShards, sources]`: the number of elements that each device receives, in all and by source.
    Value come = transpose(counts, {1, 0}, {numShards, numShards}), ends = runningSum(come, 1);
    received = sum(come, 1, {numShards});
    Value all = sum(counts, 0, {numShards}, /*isSharded=*/false);
    first = reshape(subtract(runningSum(all, 0), all), {numShards});
    Value places = findPlaces(ends, subtract(ends, come));

    Value key = take(withReceived(keys), places, 1);
    Value isValid =
        compare(count({numShards, most}, 1), ComparisonDirection::lt, broadcast(received, {0}, {numShards, most}));
    Value last = b.create<ConstantOp>(loc, typeOf(key), lastOf(original.getElementType(), descending));
    key = select(isValid, key, last);
    Value sorted = argsort(key, 1, descending);
    places = take(places, sorted, 1);
    SmallVector<Value> results;
    for (const SortUse &use : shardedSort.uses) {
      Value array = use.array == shardedSort.op.getOperand()
                        ? take(key, sorted, 1)
                        : take(withReceived(use.array ? others[use.array] : positions), places, 1);
      results.push_back(join(evenOut(array), use.type));
    }
    b.create<YieldOp>(loc, results);
  }

  /// A device's own elements, and behind them `capacity` received elements of each source.
  Value withReceived(Value x) {
    SmallVector<int64_t> sizes{numShards, numShards, capacity};
    Value places = add(broadcast(columns(splitPoints, 0), {0, 1}, sizes), count(sizes, 2));
    Value sent = reshape(take(x, reshape(places, {numShards, numShards * capacity}), 1), sizes);
    Value come = reshape(transpose(sent, {1, 0, 2}, sizes), {numShards, numShards * capacity});
    return concatenate({x, come}, 1, typeLike(x, {numShards, shardSize + numShards * capacity}));
  }

  /// `[numShards, most]`: the places, in `withReceived`, of the elements that a device now has, sorted by source.
  Value findPlaces(Value ends, Value begins) {
    SmallVector<int64_t> sizes{numShards, most};
    Value number = count(sizes, 1), device = count(sizes, 0);
    Value end = broadcast(ends, {0, 2}, {numShards, most, numShards});
    Value isBehind = compare(count({numShards, most, numShards}, 1), ComparisonDirection::ge, end);
    Value source = clamp(countTrue(isBehind, 2, sizes), 0, numShards - 1);
    Value inside = subtract(number, take(begins, source, 1));
    Value isOwn = compare(count({numShards, numShards}, 0), ComparisonDirection::eq, count({numShards, numShards}, 1));
    Value starts = columns(splitPoints, 0), ownStart = sum(select(isOwn, starts, like(starts, 0)), 1, {numShards});
    Value start = select(compare(source, ComparisonDirection::eq, device), broadcast(ownStart, {0}, sizes),
                         add(times(source, capacity), shardSize));
    return add(start, inside);
  }

  /// `[numShards, shardSize]` from `[numShards, most]`, with halos from both neighbours.
  Value evenOut(Value x) {
    ArrayType part = typeLike(x, {numShards, halo}), others = typeLike(x, {numShards - 1, halo});
    Value atEnd = add(broadcast(add(received, -halo), {0}, {numShards, halo}), count({numShards, halo}, 1));
    Value before = pad(slice(take(x, atEnd, 1), 0, others, 0), 0, part, 1, 0, Scalar());
    Value behind = pad(slice(slice(x, 1, part, 0), 0, others, 1), 0, part, 0, 1, Scalar());
    Value window = concatenate({before, x, behind}, 1, typeLike(x, {numShards, most + 2 * halo}));
    SmallVector<int64_t> sizes{numShards, shardSize};
    Value all = broadcast(received, {0}, sizes);
    Value rank = add(times(count(sizes, 0), shardSize), count(sizes, 1));
    Value place = subtract(rank, broadcast(first, {0}, sizes));
    Value gap = select(compare(place, ComparisonDirection::ge, all), subtract(like(all, most), all), like(all, 0));
    return take(window, add(add(place, halo), gap), 1);
  }

  /// The original argsort, in the else branch.
  ArgsortOp sortOtherwise() {
    auto again = cast<ArgsortOp>(b.clone(*shardedSort.op));
    SmallVector<Value> results;
    for (const SortUse &use : shardedSort.uses)
      results.push_back(use.array ? b.create<TakeAlongOp>(loc, use.type, use.array, again, dim).getResult()
                                  : again.getResult());
    b.create<YieldOp>(loc, results);
    return again;
  }

  const SampleSort &sort;
  const int64_t numShards, shardSize, samples, halo, most, capacity;
  /// `[numShards, shardSize]`, sorted within each shard.
  Value keys, positions;
  llvm::DenseMap<Value, Value> others;
  /// `[numShards, numShards + 1]`, and unsharded `[numShards, numShards]`: the number of elements of each device for
  /// each device.
  Value splitPoints, counts;
  Value received, first;
};

void priceSort(SampleSort &sort, ReshardPlanner &planner) {
  ShardedSort &shardedSort = sort.shardedSort;
  auto numShards = static_cast<double>(shardedSort.numShards), shardSize = static_cast<double>(sort.getShardSize());
  auto samples = static_cast<double>(sort.samples), step = static_cast<double>(sort.getStep());
  auto halo = static_cast<double>(sort.getHalo()), most = static_cast<double>(sort.getMost());
  auto capacity = static_cast<double>(sort.getCapacity());
  ArrayType type = shardedSort.getType(), positions = shardedSort.op.getType().withSharding(type.getSharding());
  SortPrice price(shardedSort, planner);
  SmallVector<ArrayType> arrays;
  for (Value array : shardedSort.listArrays()) {
    arrays.push_back(typeOf(array));
    price.resize(arrays.back(), sort.getShardSize());
    price.touch(2 * price.bytesOf(arrays.back(), shardSize));
  }
  price.sort(1, shardSize);
  price.send("all_gather", (numShards - 1) * price.bytesOf(type, samples));
  price.sort(2, numShards * samples);
  price.sort(numShards - 1, step + 1);
  price.send("all_gather", (numShards - 1) * price.bytesOf(positions, numShards));
  sort.toBranch = price.get();
  sort.toBranch.seconds += kSmallSteps;
  if (shardedSort.usesPositions)
    arrays.push_back(positions);
  for (ArrayType array : arrays) {
    price.send("all_to_all", (numShards - 1) * price.bytesOf(array, capacity));
    price.send("exchange", price.bytesOf(array, halo));
    price.send("exchange", price.bytesOf(array, halo));
    // Taken to be sent, concatenated to the own elements, taken, concatenated with the halos, and taken.
    price.touch(price.bytesOf(array, 3 * numShards * capacity + shardSize + 3 * most));
  }
  price.touch(price.bytesOf(positions, (4 + numShards / 8) * most)); // The arithmetic of places.
  price.sort(1, most);
  price.deliver(sort.getShardSize());
  sort.price = price.get();
  sort.price.seconds += kSmallSteps;
}

} // namespace

int64_t SampleSort::getCapacity() const {
  auto mean = static_cast<double>(getShardSize() + getHalo()) / static_cast<double>(shardedSort.numShards);
  return std::min(getShardSize(), static_cast<int64_t>(std::ceil(mean + kDeviations * std::sqrt(mean))));
}

std::optional<SampleSort> planSampleSort(ShardedSort &shardedSort, ReshardPlanner &planner,
                                         llvm::function_ref<bool(const SampleSort &)> isAcceptable) {
  std::optional<SampleSort> best;
  // At least twice as many samples as shards, so that halos are at most a quarter of a shard; positions of samples do
  // not overflow.
  for (int64_t samples = 2 * shardedSort.numShards; samples <= 64 * shardedSort.numShards && samples < (1 << 14);
       samples *= 2) {
    SampleSort sort{shardedSort, samples};
    if (2 * samples > shardedSort.shardSize)
      break;
    priceSort(sort, planner);
    if (isAcceptable(sort) && (!best || sort.price.seconds < best->price.seconds))
      best.emplace(sort);
  }
  return best;
}

ArgsortOp buildSampleSort(const SampleSort &sort) { return SampleSorter(sort).run(); }

} // namespace spmdc
