//===- TranslateRandom.cpp - rng_bit_generator ----------------------------===//
//
// The bits of XLA (RngBitGeneratorExpander): Threefry-2x32 of 20 rounds, and Philox-4x32 of 10 rounds (Salmon et al.,
// SC 2011), which is also the default algorithm on CPUs and GPUs. A state is a key and a counter, u64[2] or u64[3] with
// a counter of 128 bits. Each element is computed from its own position, so shards are made where they are.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/Translation.h"

#include "ir/interfaces/Tensor.h"

#include <array>

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// Words of u64 and u32, element by element.
class Words {
public:
  Words(Translation &t) : t(t) {}

  Type u32() const { return t.b.getIntegerType(32, /*isSigned=*/false); }
  Type u64() const { return t.b.getIntegerType(64, /*isSigned=*/false); }
  Value number(Value like, uint64_t value) {
    ArrayType type = plainTypeOf(like);
    return t.create<spmdc::ConstantOp>(type,
                                       roundTo(Scalar::ofInt(static_cast<int64_t>(value)), type.getElementType()));
  }
  Value add(Value x, Value y) { return t.create<spmdc::AddOp>(x, y); }
  Value add(Value x, uint64_t y) { return add(x, number(x, y)); }
  Value exclusiveOr(Value x, Value y) { return t.create<spmdc::XorOp>(x, y); }
  Value low(Value x) { return t.convert(x, u32()); }
  Value high(Value x) { return low(t.create<spmdc::ShiftRightLogicalOp>(x, number(x, 32))); }
  /// Of a low and a high half.
  Value join(Value low, Value high) {
    Value upper = t.convert(high, u64());
    return t.create<spmdc::OrOp>(t.convert(low, u64()), t.create<spmdc::ShiftLeftOp>(upper, number(upper, 32)));
  }
  /// An element of a vector, repeated.
  Value element(Value vector, int64_t at, ArrayRef<int64_t> shape) {
    return t.broadcast(t.reshape(t.sliceDim(vector, 0, at, at + 1), {}), shape);
  }
  /// Positions in row-major order, u64.
  Value positions(ArrayRef<int64_t> shape) {
    Value sum = t.splat(ArrayType::get(shape, u64()), 0);
    int64_t stride = 1;
    for (int64_t dim = static_cast<int64_t>(shape.size()) - 1; dim >= 0; stride *= shape[dim--]) {
      Value own = t.create<spmdc::IotaOp>(ArrayType::get(shape, u64()), dim);
      sum = add(sum, t.create<spmdc::MultiplyOp>(own, number(own, static_cast<uint64_t>(stride))));
    }
    return sum;
  }

  Translation &t;
};

/// The element and the state, u64 without its key.
struct Bits {
  Value elements, counter;
};

/// Stacks arrays of one shape along a new last dimension, which is merged with the last one.
Value stackWords(Translation &t, ArrayRef<Value> parts, int64_t dim) {
  SmallVector<int64_t> shape(shapeOf(parts.front())), wide(shape);
  wide.insert(wide.begin() + dim + 1, 1);
  SmallVector<Value> columns = llvm::map_to_vector(parts, [&](Value part) { return t.reshape(part, wide); });
  shape[dim] *= static_cast<int64_t>(parts.size());
  return t.reshape(t.concatenate(columns, dim + 1), shape);
}

//===- Threefry -----------------------------------------------------------===//

/// Both words for counters of u64.
std::array<Value, 2> threefry(Words &w, Value state, Value counters) {
  Value key = w.element(state, 0, shapeOf(counters));
  Value k0 = w.low(key), k1 = w.high(key), c0 = w.low(counters), c1 = w.high(counters);
  return {w.t.create<Threefry2x32Op>(k0, k1, c0, c1, 0), w.t.create<Threefry2x32Op>(k0, k1, c0, c1, 1)};
}

Bits threefryBits(Words &w, Value state, ArrayRef<int64_t> shape, bool isWide) {
  Translation &t = w.t;
  // Both words of a block are neighbours along the first dimension of even size, or else along the longest one.
  SmallVector<int64_t> blocks(shape);
  int64_t dim = -1;
  if (!isWide) {
    if (blocks.empty())
      blocks.push_back(1);
    auto even = llvm::find_if(blocks, [](int64_t size) { return size % 2 == 0; });
    dim = (even != blocks.end() ? even : llvm::max_element(blocks)) - blocks.begin();
    blocks[dim] = (blocks[dim] + 1) / 2;
  }
  Value counters = w.add(w.element(state, 1, blocks), w.positions(blocks));
  std::array<Value, 2> words = threefry(w, state, counters);
  Value next = w.add(t.sliceDim(state, 0, 1, 2), static_cast<uint64_t>(elementCount(blocks)));
  if (isWide)
    return {w.join(words[0], words[1]), next};
  if (shape.empty())
    return {t.reshape(words[0], {}), next};
  return {t.sliceDim(stackWords(t, words, dim), dim, 0, shape[dim]), next};
}

//===- Philox -------------------------------------------------------------===//

using Block = std::array<Value, 4>;

/// 10 rounds.
Block philox(Words &w, Block x, Value k0, Value k1) {
  auto times = [&](Value word, uint64_t by) {
    Value wide = w.t.convert(word, w.u64());
    return w.t.create<spmdc::MultiplyOp>(wide, w.number(wide, by)).getResult();
  };
  for (int round = 0; round < 10; ++round) {
    Value first = times(x[0], 0xD2511F53), second = times(x[2], 0xCD9E8D57);
    x = {w.exclusiveOr(w.exclusiveOr(w.high(second), x[1]), k0), w.low(second),
         w.exclusiveOr(w.exclusiveOr(w.high(first), x[3]), k1), w.low(first)};
    k0 = w.add(k0, 0x9E3779B9);
    k1 = w.add(k1, 0xBB67AE85);
  }
  return x;
}

Bits philoxBits(Words &w, Value state, ArrayRef<int64_t> shape, bool isWide) {
  Translation &t = w.t;
  bool isLong = shapeOf(state)[0] == 3; // The counter's lower half comes first then, and last otherwise.
  int64_t lowAt = 1, highAt = isLong ? 2 : 0, perBlock = isWide ? 2 : 4, count = elementCount(shape);
  // Blocks along the last dimension where it is made of them, so that other dimensions can be sharded.
  SmallVector<int64_t> blocks(shape);
  bool isAligned = !shape.empty() && shape.back() % perBlock == 0;
  if (isAligned)
    blocks.back() /= perBlock;
  else
    blocks.assign({(count + perBlock - 1) / perBlock});
  auto sumWith = [&](Value by, ArrayRef<int64_t> of) -> std::pair<Value, Value> {
    Value before = w.element(state, lowAt, of), high = w.element(state, highAt, of), low = w.add(before, by);
    Value carries = t.compare(low, spmdc::ComparisonDirection::lt, before);
    return {low, t.select(carries, w.add(high, 1), high)};
  };
  auto [low, high] = sumWith(w.positions(blocks), blocks);
  Value key = w.element(state, 0, blocks);
  Block words = philox(w, {w.low(low), w.high(low), w.low(high), w.high(high)}, w.low(key), w.high(key));
  SmallVector<Value> parts(words.begin(), words.end());
  if (isWide)
    parts = {w.join(words[0], words[1]), w.join(words[2], words[3])};
  Value all = stackWords(t, parts, static_cast<int64_t>(blocks.size()) - 1);
  if (!isAligned)
    all = t.reshape(t.sliceDim(all, 0, 0, count), shape);
  auto used = static_cast<uint64_t>(elementCount(blocks));
  auto [nextLow, nextHigh] =
      sumWith(t.create<spmdc::ConstantOp>(ArrayType::get({}, w.u64()), Scalar::ofInt(static_cast<int64_t>(used))), {});
  Value next = t.reshape(nextLow, {1});
  return {all, isLong ? t.concatenate({next, t.reshape(nextHigh, {1})}, 0) : next};
}

Results rngBitGenerator(Translation &t, RngBitGeneratorOp op) {
  Value state = t.get(op.getInitialState());
  ArrayType type = Translation::typeOf(op.getOutput().getType());
  StringRef algorithm = op.getRngAlgorithm().getValue();
  auto integer = llvm::dyn_cast<IntegerType>(type.getElementType());
  bool isThreefry = algorithm == "THREE_FRY",
       isState = shapeOf(state).size() == 1 && (shapeOf(state)[0] == 2 || (shapeOf(state)[0] == 3 && !isThreefry)) &&
                 Translation::typeOf(state).getElementType().isUnsignedInteger(64);
  if (!isThreefry && algorithm != "PHILOX" && algorithm != "DEFAULT")
    return refuse(op, "has no algorithm '" + algorithm + "'; use THREE_FRY or PHILOX");
  if (!isState || !integer || integer.getWidth() == 1)
    return refuse(op, "takes a state of two u64 and makes integers; for Philox the state may have three");
  Words words(t);
  bool isWide = integer.getWidth() == 64;
  Bits bits = isThreefry ? threefryBits(words, state, type.getShape(), isWide)
                         : philoxBits(words, state, type.getShape(), isWide);
  Value next = t.concatenate({t.sliceDim(state, 0, 0, 1), bits.counter}, 0);
  return SmallVector<Value>{next, t.convert(bits.elements, integer)};
}

} // namespace

void addRandomRules(Rules &rules) { rules.addMany<RngBitGeneratorOp>(rngBitGenerator); }

} // namespace spmdc::stablehlo
