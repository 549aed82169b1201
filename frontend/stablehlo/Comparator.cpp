//===- Comparator.cpp - the order of a sort -------------------------------===//

#include "frontend/stablehlo/Comparator.h"

#include "frontend/stablehlo/Evaluation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// -1, 0 or 1 as x comes before y, is equal to it, or comes behind it in an ascending order. Nullopt where the order
/// does not define it.
std::optional<int> relate(Type type, Order order, Scalar x, Scalar y) {
  if (!llvm::isa<FloatType>(type))
    return isLessInteger(x, y, type) ? -1 : isLessInteger(y, x, type) ? 1 : 0;
  if (order == Order::partial && (std::isnan(x.f) || std::isnan(y.f)))
    return std::nullopt;
  // Negative NaN, numbers, positive NaN.
  auto rankOf = [&](double value) {
    return !std::isnan(value) ? 0 : order == Order::bits && std::signbit(value) ? -1 : 1;
  };
  int xRank = rankOf(x.f), yRank = rankOf(y.f);
  if (xRank != 0 || yRank != 0)
    return xRank < yRank ? -1 : xRank > yRank ? 1 : 0;
  if (x.f != y.f)
    return x.f < y.f ? -1 : 1;
  if (order != Order::bits || std::signbit(x.f) == std::signbit(y.f))
    return 0;
  return std::signbit(x.f) ? -1 : 1;
}

std::optional<int> relate(Type type, const Key &key, Scalar x, Scalar y) {
  return key.isDescending ? relate(type, key.order, y, x) : relate(type, key.order, x, y);
}

/// Values that tell the orders apart. The last two are increasing numbers.
std::vector<Scalar> testValues(Type type) {
  std::vector<Scalar> values;
  if (llvm::isa<FloatType>(type)) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
    for (double value : {-nan, nan, -infinity, -1.0, -0.0, 0.0, 1.0, infinity})
      values.push_back(Scalar::ofFloat(value));
    return values;
  }
  unsigned bits = type.getIntOrFloatBitWidth();
  if (bits == 1)
    return {Scalar::ofBool(false), Scalar::ofBool(true)};
  int64_t largest = std::numeric_limits<int64_t>::max() >> (64 - bits);
  // -1 and the least number of a signed type are the larger half of an unsigned one.
  for (int64_t value : {-largest - 1, int64_t(-1), int64_t(0), int64_t(1), largest})
    values.push_back(roundTo(Scalar::ofInt(value), type));
  return values;
}

//===- The comparator -----------------------------------------------------===//

/// Evaluates a comparator of arrays of these element types.
class Comparator {
public:
  Comparator(Translation &t, Region &body, ArrayRef<Type> types) : t(t), body(body), types(types) { clear(); }

  /// One more pair of tuples to compare; a tuple has an element of each array.
  void add(ArrayRef<Scalar> left, ArrayRef<Scalar> right) {
    for (size_t i = 0; i < types.size(); ++i) {
      points[2 * i].values.push_back(left[i]);
      points[2 * i + 1].values.push_back(right[i]);
    }
  }
  /// Whether the left tuple comes before the right one, for each pair since the last call.
  FailureOr<std::vector<Scalar>> evaluate() {
    auto results = evaluateElementwise(t, body, points);
    clear();
    if (failed(results) || results->size() != 1 || !results->front().elementType.isInteger(1))
      return failure();
    return std::move(results->front().elements);
  }

private:
  void clear() {
    points.clear();
    for (Type type : types)
      points.append(2, Points{type, {}});
  }

  Translation &t;
  Region &body;
  ArrayRef<Type> types;
  SmallVector<Points> points;
};

/// The order of one array, whose comparisons are `isLess` for all pairs of values in row-major order, all other arrays
/// being equal. Nullopt if it is none.
std::optional<Key> keyOf(Type type, size_t input, ArrayRef<Scalar> values, ArrayRef<Scalar> isLess) {
  for (Order order : {Order::numbers, Order::bits, Order::partial})
    for (bool isDescending : {false, true}) {
      Key key{input, order, isDescending};
      bool isAlike = true;
      for (size_t i = 0; i < values.size(); ++i)
        for (size_t j = 0; j < values.size(); ++j) {
          std::optional<int> relation = relate(type, key, values[i], values[j]);
          isAlike &= !relation || (*relation < 0) == (isLess[i * values.size() + j].i != 0);
        }
      if (isAlike)
        return key;
    }
  return std::nullopt;
}

/// The keys, the most significant one first, if the comparator orders by some of the arrays. They are a guess from
/// tuples that differ in one or two arrays.
std::optional<SmallVector<Key>> guessKeys(Comparator &comparator, ArrayRef<Type> types) {
  SmallVector<std::vector<Scalar>> values = llvm::map_to_vector(types, testValues);
  SmallVector<Scalar> equal = llvm::map_to_vector(values, [](const std::vector<Scalar> &of) { return of.back(); });
  for (size_t input = 0; input < types.size(); ++input)
    for (Scalar x : values[input])
      for (Scalar y : values[input]) {
        SmallVector<Scalar> left(equal), right(equal);
        left[input] = x;
        right[input] = y;
        comparator.add(left, right);
      }
  auto single = comparator.evaluate();
  if (failed(single))
    return std::nullopt;
  SmallVector<Key> keys;
  ArrayRef<Scalar> rest(*single);
  for (size_t input = 0; input < types.size(); ++input) {
    size_t count = values[input].size() * values[input].size();
    ArrayRef<Scalar> isLess = rest.take_front(count);
    rest = rest.drop_front(count);
    if (llvm::none_of(isLess, [](Scalar value) { return value.i != 0; }))
      continue;
    std::optional<Key> key = keyOf(types[input], input, values[input], isLess);
    if (!key)
      return std::nullopt;
    keys.push_back(*key);
  }
  if (keys.empty())
    return std::nullopt;
  // Of two keys, that one is first by which the left tuple comes before the right one, though it is behind by the
  // other.
  for (const Key &first : keys)
    for (const Key &second : keys) {
      SmallVector<Scalar> left(equal), right(equal);
      auto differ = [&](const Key &key, bool isLess) {
        bool isAscending = isLess != key.isDescending;
        const std::vector<Scalar> &of = values[key.input];
        left[key.input] = isAscending ? of[of.size() - 2] : of.back();
        right[key.input] = isAscending ? of.back() : of[of.size() - 2];
      };
      differ(second, false);
      differ(first, true);
      comparator.add(left, right);
    }
  auto pairs = comparator.evaluate();
  if (failed(pairs))
    return std::nullopt;
  SmallVector<std::pair<size_t, Key>> ranked; // By the number of keys that decide before it.
  for (size_t j = 0; j < keys.size(); ++j) {
    size_t before = 0;
    for (size_t i = 0; i < keys.size(); ++i)
      before += i != j && (*pairs)[i * keys.size() + j].i != 0;
    ranked.push_back({before, keys[j]});
  }
  llvm::sort(ranked, [](const auto &x, const auto &y) { return x.first < y.first; });
  return llvm::map_to_vector(ranked, [](const auto &pair) { return pair.second; });
}

/// How many tuples each pair of values of a key has: each pair of values of another array meets it twice on average, so
/// a key beside another array of floats, with 64 pairs, has 128. A single array has nothing else to differ in.
size_t countFills(ArrayRef<std::vector<Scalar>> values, size_t key) {
  size_t fills = 1;
  for (size_t other = 0; other < values.size(); ++other)
    if (other != key)
      fills = std::max(fills, 2 * values[other].size() * values[other].size());
  return fills;
}

/// Whether the comparator is the lexicographic order by the keys: for each key that decides, all pairs of its values,
/// with equal ones for the keys before it and any values for all other arrays.
bool isLexicographic(Comparator &comparator, ArrayRef<Type> types, ArrayRef<Key> keys) {
  SmallVector<std::vector<Scalar>> values = llvm::map_to_vector(types, testValues);
  std::minstd_rand random(1); // A fixed seed: an import gives the same result every time.
  auto choose = [&](const std::vector<Scalar> &of) { return of[random() % of.size()]; };
  auto relationOf = [&](ArrayRef<Scalar> left, ArrayRef<Scalar> right) -> std::optional<int> {
    for (const Key &key : keys) {
      std::optional<int> relation = relate(types[key.input], key, left[key.input], right[key.input]);
      if (relation != 0)
        return relation;
    }
    return 0;
  };
  std::vector<std::optional<int>> expected;
  for (size_t level = 0; level < keys.size(); ++level) {
    const std::vector<Scalar> &deciding = values[keys[level].input];
    size_t fills = countFills(values, keys[level].input);
    for (size_t pair = 0; pair < deciding.size() * deciding.size(); ++pair)
      for (size_t fill = 0; fill < fills; ++fill) {
        SmallVector<Scalar> left = llvm::map_to_vector(values, choose), right = llvm::map_to_vector(values, choose);
        // Equal values are mostly the same one, and sometimes zeros or NaN of both signs.
        for (const Key &key : keys.take_front(level))
          if (relate(types[key.input], key, left[key.input], right[key.input]) != 0)
            right[key.input] = left[key.input];
        left[keys[level].input] = deciding[pair / deciding.size()];
        right[keys[level].input] = deciding[pair % deciding.size()];
        comparator.add(left, right);
        expected.push_back(relationOf(left, right));
      }
  }
  auto isLess = comparator.evaluate();
  return succeeded(isLess) && llvm::all_of(llvm::zip_equal(*isLess, expected), [](auto pair) {
           auto [value, relation] = pair;
           return !relation || (value.i != 0) == (*relation < 0);
         });
}

} // namespace

std::optional<SmallVector<Key>> findKeys(Translation &t, Region &body, ArrayRef<Type> types) {
  if (body.getNumArguments() != 2 * types.size() || body.front().getTerminator()->getNumOperands() != 1)
    return std::nullopt;
  for (auto [number, argument] : llvm::enumerate(body.getArguments()))
    if (Translation::typeOf(argument.getType()).getElementType() != types[number / 2])
      return std::nullopt;
  Comparator comparator(t, body, types);
  std::optional<SmallVector<Key>> keys = guessKeys(comparator, types);
  return keys && isLexicographic(comparator, types, *keys) ? keys : std::nullopt;
}

} // namespace spmdc::stablehlo
