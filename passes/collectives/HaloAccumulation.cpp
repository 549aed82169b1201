//===- HaloAccumulation.cpp - sums to add up before sending ---------------===//

#include "passes/collectives/HaloAccumulation.h"

#include "ir/array/LocalBuilder.h"
#include "ir/array/PartialSums.h"
#include "passes/exchange/ArrayMoves.h"

using namespace mlir;

namespace spmdc {
namespace {

spmd::DimMove keep(int64_t size) { return {0, 1, 0, size}; }

} // namespace

bool HaloAccumulation::add(const ExchangedTerm &term) {
  for (int64_t d = 0; d < type.getRank() && !terms.empty(); ++d)
    if (!axesOf(d).empty() && (terms.front().from.getDimSize(d) != term.from.getDimSize(d) ||
                               terms.front().dims[d].dilation != term.dims[d].dilation))
      return false;
  terms.push_back(term);
  return true;
}

CollectiveCost HaloAccumulation::settle() {
  CollectiveCost apart = costApart();
  if (terms.size() > 1 && findDims())
    if (CollectiveCost together = costTogether(); together.isLessInBoth(apart)) {
      isTogether = true;
      return together;
    }
  return apart;
}

bool HaloAccumulation::findDims() {
  dims.assign(type.getRank(), std::nullopt);
  for (int64_t d = 0; d < type.getRank(); ++d) {
    int64_t size = type.getDimSize(d);
    auto isKept = [&](const ExchangedTerm &term) {
      return term.from.getDimSize(d) == size && term.dims[d] == keep(size);
    };
    if (axesOf(d).empty() || llvm::all_of(terms, isKept))
      continue;
    SmallVector<spmd::DimMove> moves;
    for (const ExchangedTerm &term : terms)
      moves.push_back(term.dims[d]);
    std::vector<spmd::AxisRef> axes = type.getShardingOrOpen().toValue().dims[d];
    dims[d] = findHalos(terms.front().from.getDimSize(d), size, sizesOf(mesh, axes), moves);
    if (!dims[d])
      return false;
  }
  return llvm::any_of(dims, [](const auto &dim) { return dim.has_value(); });
}

CollectiveCost HaloAccumulation::costApart() const {
  CollectiveCost cost;
  for (const ExchangedTerm &term : terms)
    cost.addExchange(getExchangeBytes(mesh, term.from, type, term.dims));
  return cost;
}

CollectiveCost HaloAccumulation::costTogether() const {
  CollectiveCost cost;
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (dims[d])
      for (const HaloDim::Halo &halo : dims[d]->halos) {
        ArrayType halos = getHalosType(d, halo);
        cost.addExchange(getExchangeBytes(mesh, halos, halos, getHaloMoves(halos, d, halo)));
      }
  return cost;
}

HaloAccumulation::Range HaloAccumulation::getMoved(const ExchangedTerm &term, int64_t d, int64_t begin, int64_t end) {
  spmd::DimMove move = term.dims[d];
  move.begin = begin;
  move.end = end;
  spmd::MovedRange range = spmd::movedRange(move, {0, term.from.getDimSize(d)}, {0, end});
  if (range.size == 0)
    return {};
  return {(range.start + move.shift) / move.dilation, (range.end() - 1 + move.shift) / move.dilation + 1};
}

HaloAccumulation::Range HaloAccumulation::getUsed(const ExchangedTerm &term, int64_t d) const {
  return getMoved(term, d, term.dims[d].begin, term.dims[d].end);
}

ArrayType HaloAccumulation::getHalosType(int64_t d, const HaloDim::Halo &halo) const {
  SmallVector<int64_t> shape(type.getShape());
  shape[d] = dims[d]->shards * halo.getLength();
  for (int64_t behind = d + 1; behind < type.getRank(); ++behind)
    if (dims[behind])
      shape[behind] = dims[behind]->shards * dims[behind]->getLength();
  return ofPartials.withShape(shape).withSharding(type.getSharding());
}

std::vector<spmd::DimMove> HaloAccumulation::getHaloMoves(ArrayType halos, int64_t d, const HaloDim::Halo &halo) const {
  std::vector<spmd::DimMove> moves;
  for (int64_t size : halos.getShape())
    moves.push_back(keep(size));
  for (int64_t behind = d + 1; behind < type.getRank(); ++behind)
    if (dims[behind]) {
      moves[behind].begin = dims[behind]->first;
      moves[behind].end = dims[behind]->last;
    }
  moves[d].shift = -halo.distance * halo.getLength();
  moves[d].begin = halo.first;
  moves[d].end = halo.last;
  return moves;
}

class HaloAccumulation::Builder {
public:
  Builder(const HaloAccumulation &sum, OpBuilder &builder, Location loc, StringRef why)
      : sum(sum), dims(sum.dims), type(sum.isTogether ? sum.ofPartials : sum.type), builder(builder), loc(loc),
        why(why), local(builder, loc) {}

  Value buildApart() {
    Value total;
    for (const ExchangedTerm &term : sum.terms)
      total = plus(total, buildExchange(builder, loc, term.local, {{}, term.dims}, term.from, type, sum.meshAttr, why));
    return total;
  }

  Value buildTogether() {
    zero = builder.create<ConstantOp>(loc, ArrayType::get({}, type.getElementType()), Scalar());
    for (const ExchangedTerm &term : sum.terms)
      shards.push_back(convertTo(builder, loc, mask(term), type.getElementType()));
    // If the shards of all devices start at the same place, each part of the window is computed separately.
    Value total =
        llvm::all_of(dims, [](const auto &dim) { return !dim || dim->isSameEverywhere(); }) ? Value() : buildWindow();
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (dims[d])
        total = sendHalos(total, d);
    return convertTo(builder, loc, total, sum.type.getElementType());
  }

private:
  Value plus(Value x, Value y) { return x ? builder.create<AddOp>(loc, x, y) : y; }

  /// The device's own part of a window along dimension d, plus the halos that it receives from others. With a null
  /// window, its parts are computed from the terms.
  Value sendHalos(Value window, int64_t d) {
    const HaloDim &dim = *dims[d];
    auto partOf = [&](int64_t begin, int64_t end, int64_t step) {
      Range range{dim.low + begin, dim.low + end, step};
      return window ? slice(window, d, range) : buildSum(d, range);
    };
    Value total = partOf(0, dim.shard, 1);
    for (const HaloDim::Halo &halo : dim.halos) {
      ArrayType halos = sum.getHalosType(d, halo);
      Value part = buildExchange(builder, loc, partOf(halo.begin, halo.end, halo.step),
                                 {{}, sum.getHaloMoves(halos, d, halo)}, halos, halos, sum.meshAttr, why);
      SmallVector<int64_t> low(type.getRank()), shape(typeOf(total).getShape()), dilations(type.getRank(), 1);
      low[d] = halo.begin - halo.distance * dim.shard;
      dilations[d] = halo.step;
      total = plus(total, pad(part, low, shape, dilations));
    }
    return total;
  }

  /// A term with zeros in place of padding, and of elements that the sum does not use.
  Value mask(const ExchangedTerm &term) {
    Value isThere;
    ArrayType shard = typeOf(term.local);
    auto addCondition = [&](Value isIt, int64_t d) {
      isIt = local.broadcast(isIt, shard.getShape(), {d});
      isThere = isThere ? builder.create<AndOp>(loc, isThere, isIt).getResult() : isIt;
    };
    for (int64_t d = 0; d < type.getRank(); ++d) {
      if (!dims[d])
        continue;
      int64_t size = term.from.getDimSize(d);
      Range used = sum.getUsed(term, d);
      Value places = builder.create<IotaOp>(loc, local.positionType(size, {dims[d]->sourceShard}), /*dim=*/0);
      if (dims[d]->shards * dims[d]->sourceShard != size) {
        addCondition(local.isWithin(places, local.shardSize(size, sum.axesOf(d))), d);
      }
      if (used != sum.getMoved(term, d, 0, type.getDimSize(d))) {
        Value first = local.subtract(local.shardStart(size, sum.axesOf(d)), local.splat({}, used.begin));
        addCondition(local.isWithin(local.offset(places, first), local.splat({}, used.end - used.begin)), d);
      }
    }
    return isThere ? local.select(isThere, term.local, builder.create<ConstantOp>(loc, shard, Scalar())) : term.local;
  }

  Value slice(Value x, int64_t d, Range range) {
    return createSlice(builder, loc, x, d, range.begin, (range.end - range.begin - 1) / range.step + 1, range.step);
  }

  /// An array of zeros of this shape with `x` in it, its first element at `low` (before the array where negative).
  Value pad(Value x, ArrayRef<int64_t> low, ArrayRef<int64_t> shape, ArrayRef<int64_t> dilations) {
    ArrayType from = typeOf(x);
    SmallVector<int64_t> high, interior;
    for (int64_t d = 0; d < from.getRank(); ++d) {
      interior.push_back(dilations[d] - 1);
      high.push_back(shape[d] - low[d] - ((from.getDimSize(d) - 1) * dilations[d] + 1));
    }
    auto isNone = [](int64_t width) { return width == 0; };
    if (llvm::all_of(low, isNone) && llvm::all_of(high, isNone) && llvm::all_of(interior, isNone))
      return x;
    return builder.create<PadOp>(loc, from.withShape(shape), x, zero, low, high, interior);
  }

  /// The elements of a term that fall into these frames (one for each dimension); null if there are none.
  Value place(size_t number, ArrayRef<Frame> frames) {
    const ExchangedTerm &term = sum.terms[number];
    Value x = shards[number];
    SmallVector<int64_t> low, shape, dilations;
    for (int64_t d = 0; d < type.getRank(); ++d) {
      const spmd::DimMove &move = term.dims[d];
      int64_t first = 0, count = typeOf(x).getDimSize(d);
      if (sum.axesOf(d).empty()) { // A device has the full dimension: take only the used elements.
        Range used = sum.getUsed(term, d);
        if (used == Range())
          return {};
        x = slice(x, d, used);
        first = used.begin;
        count = used.end - used.begin;
      }
      dilations.push_back(move.dilation / frames[d].step);
      shape.push_back(frames[d].length);
      low.push_back((frames[d].origin + first * move.dilation - move.shift) / frames[d].step);
      if (low.back() >= shape.back() || low.back() + (count - 1) * dilations.back() < 0)
        return {};
    }
    return pad(x, low, shape, dilations);
  }

  Value addUp(ArrayRef<Frame> frames) {
    Value total;
    SmallVector<int64_t> shape;
    for (const Frame &frame : frames)
      shape.push_back(frame.length);
    for (size_t number = 0; number < sum.terms.size(); ++number)
      if (Value term = place(number, frames))
        total = plus(total, term);
    return total ? total : builder.create<ConstantOp>(loc, type.withoutSharding().withShape(shape), Scalar());
  }

  Frame getShardFrame(int64_t d) const { return {0, type.getLocal(sum.meshAttr).getDimSize(d)}; }

  static Frame getWindowFrame(const HaloDim &dim) { return {dim.leastStart + dim.low, dim.getLength()}; }

  /// The sum of the terms within `range` of the window along dimension d, the first dimension with halos.
  Value buildSum(int64_t d, Range range) {
    SmallVector<Frame> frames;
    for (int64_t other = 0; other < type.getRank(); ++other)
      frames.push_back(dims[other] ? getWindowFrame(*dims[other]) : getShardFrame(other));
    frames[d].origin -= range.begin;
    frames[d].length = (range.end - range.begin - 1) / range.step + 1;
    frames[d].step = range.step;
    return addUp(frames);
  }

  /// The window if the shards of the devices start at different places: adds the terms up at the positions that they
  /// have in the device's shard, then slices the window out of that at a run-time offset.
  Value buildWindow() {
    SmallVector<Frame> frames;
    SmallVector<int64_t> greatestShifts;
    for (int64_t d = 0; d < type.getRank(); ++d) {
      int64_t least = sum.terms.front().dims[d].shift, greatest = least;
      for (const ExchangedTerm &term : sum.terms) {
        least = std::min(least, term.dims[d].shift);
        greatest = std::max(greatest, term.dims[d].shift);
      }
      greatestShifts.push_back(greatest);
      if (!dims[d])
        frames.push_back(getShardFrame(d));
      else if (dims[d]->isSameEverywhere())
        frames.push_back(getWindowFrame(*dims[d]));
      else
        frames.push_back({greatest, dims[d]->getExtent() + greatest - least});
    }
    Value total = addUp(frames);
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (dims[d] && !dims[d]->isSameEverywhere())
        total = shiftIntoWindow(total, d, greatestShifts[d]);
    return total;
  }

  Value shiftIntoWindow(Value x, int64_t d, int64_t greatestShift) {
    const HaloDim &dim = *dims[d];
    // A device's window begins at `begin`, less the start of its shard.
    int64_t begin = greatestShift - dim.low;
    int64_t before = std::max<int64_t>(0, dim.greatestStart - begin);
    int64_t last = begin - dim.leastStart + dim.getLength();
    ArrayType type = typeOf(x);
    SmallVector<int64_t> low(type.getRank()), padded(type.getShape()), dilations(type.getRank(), 1);
    low[d] = before;
    padded[d] = before + std::max(padded[d], last);
    x = pad(x, low, padded, dilations);
    SmallVector<int64_t> shape(type.getShape());
    shape[d] = dim.getLength();
    ArrayRef<AxisRefAttr> axes = sum.axesOf(d);
    Value start =
        builder.create<MultiplyOp>(loc, local.shardStart(dim.sourceSize, axes), local.splat({}, dim.dilation));
    start = local.subtract(start, local.shardStart(dim.shards * dim.shard, axes));
    SmallVector<Value> starts(type.getRank(), local.splat({}, 0));
    starts[d] = local.subtract(local.splat({}, begin + before), start);
    return builder.create<DynamicSliceOp>(loc, x, starts, shape);
  }

  const HaloAccumulation &sum;
  const std::vector<std::optional<HaloDim>> &dims;
  ArrayType type;
  OpBuilder &builder;
  Location loc;
  StringRef why;
  LocalBuilder local;
  Value zero;
  SmallVector<Value> shards; ///< The local arrays of the terms, masked.
};

Value HaloAccumulation::build(OpBuilder &builder, Location loc, StringRef why) const {
  Builder built(*this, builder, loc, why);
  return isTogether ? built.buildTogether() : built.buildApart();
}

} // namespace spmdc
