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
      : SortBuilder(sort.order, OpBuilder(sort.order.op)), IndexArithmetic(b, loc), sort(sort), pieces(order.pieces),
        piece(sort.getPiece()), samples(sort.samples), edge(sort.getEdge()), most(sort.getMost()),
        room(sort.getRoom()) {}

  ArgsortOp run() {
    Type elementType = original.getElementType();
    keys = split(order.op.getOperand(), piece, lastOf(elementType, descending));
    Value own = argsort(keys, 1, descending);
    keys = take(keys, own, 1);
    for (Value array : order.taken)
      others[array] = take(split(array, piece, Scalar()), own, 1);
    positions = add(own, times(count({pieces, piece}, 0), piece));
    cuts = findCuts();
    Value begins = columns(cuts, 0), ends = columns(cuts, 1);
    counts = reshape(reshape(subtract(ends, begins), {pieces * pieces}, /*isCut=*/false), {pieces, pieces}, false);
    SmallVector<Type> types;
    for (const SortUse &use : order.uses)
      types.push_back(use.type);
    auto branch = b.create<IfOp>(loc, types, findWhetherItFits());
    b.createBlock(&branch.getThenRegion());
    exchangeAll();
    b.createBlock(&branch.getElseRegion());
    ArgsortOp otherwise = sortOtherwise();
    order.replace(llvm::to_vector_of<Value>(branch.getOutputs()));
    return otherwise;
  }

private:
  //===--------------------------------------------------------------------===//
  // Arrays of positions
  //===--------------------------------------------------------------------===//

  /// 0, 1, 2, ... along a dimension.
  Value count(ArrayRef<int64_t> sizes, int64_t along, bool isCut = true) {
    return b.create<IotaOp>(loc, typeOf(order.positionType(), sizes, isCut), dim + along);
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
  Value sum(Value x, int64_t along, ArrayRef<int64_t> sizes, bool isCut = true) {
    return b.create<ReduceOp>(loc, typeLike(x, sizes, isCut), x, ReductionKind::sum, ArrayRef<int64_t>{dim + along});
  }
  Value countTrue(Value conditions, int64_t along, ArrayRef<int64_t> sizes) {
    ArrayType type = arrayTypeOf(conditions).withElementType(order.positionType());
    return sum(b.create<ConvertOp>(loc, type, conditions), along, sizes);
  }
  Value runningSum(Value x, int64_t along) {
    return b.create<CumulativeOp>(loc, x.getType(), x, ReductionKind::sum, dim + along, /*reversed=*/false);
  }
  /// `pieces` consecutive columns of `[pieces, pieces + 1]`, from column `begin` on.
  Value columns(Value x, int64_t begin) { return slice(x, 1, typeLike(x, {pieces, pieces}), begin); }

  //===--------------------------------------------------------------------===//
  // Splitters
  //===--------------------------------------------------------------------===//

  /// The place of sample `k` in a shard: `(2k + 1) * piece / (2 * samples)`, computed without overflow.
  Value placeOf(Value k) {
    Value remainders = over(add(times(k, 2 * (piece % samples)), piece), 2 * samples);
    return add(times(k, piece / samples), remainders);
  }

  /// `[pieces, pieces + 1]`: how many elements of a shard sort before each splitter; 0 in front, the shard's size at
  /// the end.
  Value findCuts() {
    int64_t borders = pieces - 1;
    Value shown = take(keys, placeOf(count({pieces, samples}, 1)), 1);
    shown = reshape(shown, {pieces * samples}, /*isCut=*/false);
    Value sorted = argsort(shown, 0, descending);
    Value chosen = chooseBorders(sorted), keyOfBorder = take(shown, chosen, 0);
    // Among equal samples those of lower devices come first, and so do the elements that are equal to them.
    Value device = count({pieces, borders}, 0);
    Value source = broadcast(over(chosen, samples), {1}, {pieces, borders});
    Value placeThere = broadcast(placeOf(rest(chosen, samples)), {1}, {pieces, borders});
    Value before = countSamplesBefore(argsort(sorted, 0, false));
    int64_t between = sort.getStep() - 1;
    Value begin = clamp(add(placeOf(add(before, -1)), 1), 0, piece - between);
    auto [below, upTo] = countBetween(begin, between, keyOfBorder);
    Value cut = select(compare(device, ComparisonDirection::lt, source), add(begin, upTo), add(begin, below));
    cut = select(compare(device, ComparisonDirection::eq, source), placeThere, cut);
    ArrayType end = typeLike(cut, {pieces, 1});
    return concatenate({number(end, 0), cut, number(end, piece)}, 1, typeLike(cut, {pieces, pieces + 1}));
  }

  /// Every `samples`-th of all sorted samples.
  Value chooseBorders(Value sorted) {
    ArrayType type = typeLike(sorted, {pieces - 1}, /*isCut=*/false);
    SmallVector<int64_t> starts(type.getRank()), limits(arrayTypeOf(sorted).getShape()), strides(type.getRank(), 1);
    starts[dim] = strides[dim] = samples;
    return b.create<SliceOp>(loc, type, sorted, starts, limits, strides);
  }

  /// `[pieces, borders]`: the number of a device's samples before each splitter, by the samples' ranks.
  Value countSamplesBefore(Value rank) {
    SmallVector<int64_t> sizes{pieces, pieces - 1, samples};
    Value own = broadcast(reshape(rank, {pieces, samples}), {0, 2}, sizes);
    Value border = times(add(count(sizes, 1), 1), samples);
    return countTrue(compare(own, ComparisonDirection::lt, border), 2, {pieces, pieces - 1});
  }

  /// How many of the `between` elements from `begin` on sort before each splitter, and how many do not sort behind it.
  /// Found by sorting them with two copies of the splitter, one in front of equal elements and one behind them.
  std::pair<Value, Value> countBetween(Value begin, int64_t between, Value border) {
    SmallVector<int64_t> sizes{pieces, pieces - 1, between}, line{pieces, pieces - 1, between + 2};
    Value places = add(broadcast(begin, {0, 1}, sizes), count(sizes, 2));
    Value elements = reshape(take(keys, reshape(places, {pieces, (pieces - 1) * between}), 1), sizes);
    Value one = broadcast(border, {1}, {pieces, pieces - 1, 1});
    Value sorted = argsort(concatenate({one, elements, one}, 2, typeLike(elements, line)), 2, descending);
    auto find = [&](int64_t element) {
      Value isThere = compare(sorted, ComparisonDirection::eq, like(sorted, element));
      return sum(select(isThere, count(line, 2), like(sorted, 0)), 2, {pieces, pieces - 1});
    };
    return {find(0), add(find(between + 1), -1)};
  }

  /// Whether no device has more than `room` elements for another one.
  Value findWhetherItFits() {
    Value device = count({pieces, pieces}, 0, /*isCut=*/false), target = count({pieces, pieces}, 1, /*isCut=*/false);
    Value sent = select(compare(device, ComparisonDirection::eq, target), like(counts, 0), counts);
    SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, arrayTypeOf(sent).getRank()));
    Value largest = b.create<ReduceOp>(loc, ArrayType::get({}, order.positionType()), sent, ReductionKind::max, dims);
    return compare(largest, ComparisonDirection::le, like(largest, room));
  }

  //===--------------------------------------------------------------------===//
  // The exchange
  //===--------------------------------------------------------------------===//

  void exchangeAll() {
    // `[pieces]` and `[pieces, sources]`: the number of elements that each device receives, in all and by source.
    Value come = transpose(counts, {1, 0}, {pieces, pieces}), ends = runningSum(come, 1);
    received = sum(come, 1, {pieces});
    Value all = sum(counts, 0, {pieces}, /*isCut=*/false);
    first = reshape(subtract(runningSum(all, 0), all), {pieces});
    Value places = findPlaces(ends, subtract(ends, come));

    Value key = take(withReceived(keys), places, 1);
    Value isThere =
        compare(count({pieces, most}, 1), ComparisonDirection::lt, broadcast(received, {0}, {pieces, most}));
    Value last = b.create<ConstantOp>(loc, arrayTypeOf(key), lastOf(original.getElementType(), descending));
    key = select(isThere, key, last);
    Value sorted = argsort(key, 1, descending);
    places = take(places, sorted, 1);
    SmallVector<Value> results;
    for (const SortUse &use : order.uses) {
      Value array = use.array == order.op.getOperand()
                        ? take(key, sorted, 1)
                        : take(withReceived(use.array ? others[use.array] : positions), places, 1);
      results.push_back(join(evenOut(array), use.type));
    }
    b.create<YieldOp>(loc, results);
  }

  /// A device's own elements, and behind them `room` received elements of each source.
  Value withReceived(Value x) {
    SmallVector<int64_t> sizes{pieces, pieces, room};
    Value places = add(broadcast(columns(cuts, 0), {0, 1}, sizes), count(sizes, 2));
    Value sent = reshape(take(x, reshape(places, {pieces, pieces * room}), 1), sizes);
    Value come = reshape(transpose(sent, {1, 0, 2}, sizes), {pieces, pieces * room});
    return concatenate({x, come}, 1, typeLike(x, {pieces, piece + pieces * room}));
  }

  /// `[pieces, most]`: the places, in `withReceived`, of the elements that a device now has, sorted by source.
  Value findPlaces(Value ends, Value begins) {
    SmallVector<int64_t> sizes{pieces, most};
    Value number = count(sizes, 1), device = count(sizes, 0);
    Value end = broadcast(ends, {0, 2}, {pieces, most, pieces});
    Value isBehind = compare(count({pieces, most, pieces}, 1), ComparisonDirection::ge, end);
    Value source = clamp(countTrue(isBehind, 2, sizes), 0, pieces - 1);
    Value inside = subtract(number, take(begins, source, 1));
    Value isOwn = compare(count({pieces, pieces}, 0), ComparisonDirection::eq, count({pieces, pieces}, 1));
    Value starts = columns(cuts, 0), ownStart = sum(select(isOwn, starts, like(starts, 0)), 1, {pieces});
    Value start = select(compare(source, ComparisonDirection::eq, device), broadcast(ownStart, {0}, sizes),
                         add(times(source, room), piece));
    return add(start, inside);
  }

  /// `[pieces, piece]` from `[pieces, most]`, with halos from both neighbours.
  Value evenOut(Value x) {
    ArrayType part = typeLike(x, {pieces, edge}), others = typeLike(x, {pieces - 1, edge});
    Value atEnd = add(broadcast(add(received, -edge), {0}, {pieces, edge}), count({pieces, edge}, 1));
    Value before = pad(slice(take(x, atEnd, 1), 0, others, 0), 0, part, 1, 0, Scalar());
    Value behind = pad(slice(slice(x, 1, part, 0), 0, others, 1), 0, part, 0, 1, Scalar());
    Value window = concatenate({before, x, behind}, 1, typeLike(x, {pieces, most + 2 * edge}));
    SmallVector<int64_t> sizes{pieces, piece};
    Value all = broadcast(received, {0}, sizes);
    Value rank = add(times(count(sizes, 0), piece), count(sizes, 1));
    Value place = subtract(rank, broadcast(first, {0}, sizes));
    Value gap = select(compare(place, ComparisonDirection::ge, all), subtract(like(all, most), all), like(all, 0));
    return take(window, add(add(place, edge), gap), 1);
  }

  /// The original argsort, in the else branch.
  ArgsortOp sortOtherwise() {
    auto again = cast<ArgsortOp>(b.clone(*order.op));
    SmallVector<Value> results;
    for (const SortUse &use : order.uses)
      results.push_back(use.array ? b.create<TakeAlongOp>(loc, use.type, use.array, again, dim).getResult()
                                  : again.getResult());
    b.create<YieldOp>(loc, results);
    return again;
  }

  const SampleSort &sort;
  const int64_t pieces, piece, samples, edge, most, room;
  /// `[pieces, piece]`, sorted within each shard.
  Value keys, positions;
  llvm::DenseMap<Value, Value> others;
  /// `[pieces, pieces + 1]`, and unsharded `[pieces, pieces]`: the number of elements of each device for each device.
  Value cuts, counts;
  Value received, first;
};

void priceSort(SampleSort &sort, ReshardPlanner &planner) {
  ShardedSort &order = sort.order;
  auto pieces = static_cast<double>(order.pieces), piece = static_cast<double>(sort.getPiece());
  auto samples = static_cast<double>(sort.samples), step = static_cast<double>(sort.getStep());
  auto edge = static_cast<double>(sort.getEdge()), most = static_cast<double>(sort.getMost());
  auto room = static_cast<double>(sort.getRoom());
  ArrayType type = order.getType(), positions = order.op.getType().withSharding(type.getSharding());
  SortPrice price(order, planner);
  SmallVector<ArrayType> arrays;
  for (Value array : order.listArrays()) {
    arrays.push_back(arrayTypeOf(array));
    price.resize(arrays.back(), sort.getPiece());
    price.touch(2 * price.bytesOf(arrays.back(), piece));
  }
  price.sort(1, piece);
  price.send("all_gather", (pieces - 1) * price.bytesOf(type, samples));
  price.sort(2, pieces * samples);
  price.sort(pieces - 1, step + 1);
  price.send("all_gather", (pieces - 1) * price.bytesOf(positions, pieces));
  sort.toBranch = price.get();
  sort.toBranch.seconds += kSmallSteps;
  if (order.isAsked)
    arrays.push_back(positions);
  for (ArrayType array : arrays) {
    price.send("all_to_all", (pieces - 1) * price.bytesOf(array, room));
    price.send("exchange", price.bytesOf(array, edge));
    price.send("exchange", price.bytesOf(array, edge));
    // Taken to be sent, concatenated to the own elements, taken, concatenated with the halos, and taken.
    price.touch(price.bytesOf(array, 3 * pieces * room + piece + 3 * most));
  }
  price.touch(price.bytesOf(positions, (4 + pieces / 8) * most)); // The arithmetic of places.
  price.sort(1, most);
  price.deliver(sort.getPiece());
  sort.price = price.get();
  sort.price.seconds += kSmallSteps;
}

} // namespace

int64_t SampleSort::getRoom() const {
  auto mean = static_cast<double>(getPiece() + getEdge()) / static_cast<double>(order.pieces);
  return std::min(getPiece(), static_cast<int64_t>(std::ceil(mean + kDeviations * std::sqrt(mean))));
}

std::optional<SampleSort> planSampleSort(ShardedSort &order, ReshardPlanner &planner,
                                         llvm::function_ref<bool(const SampleSort &)> isAcceptable) {
  std::optional<SampleSort> best;
  // At least twice as many samples as shards, so that halos are at most a quarter of a shard; positions of samples do
  // not overflow.
  for (int64_t samples = 2 * order.pieces; samples <= 64 * order.pieces && samples < (1 << 14); samples *= 2) {
    SampleSort sort{order, samples};
    if (2 * samples > order.piece)
      break;
    priceSort(sort, planner);
    if (isAcceptable(sort) && (!best || sort.price.seconds < best->price.seconds))
      best.emplace(sort);
  }
  return best;
}

ArgsortOp buildSampleSort(const SampleSort &sort) { return SampleSorter(sort).run(); }

} // namespace spmdc
