//===- ScatterWinners.cpp - one update for each position ------------------===//

#include "frontend/stablehlo/ScatterWinners.h"

#include "frontend/stablehlo/linear/Matrix.h"

#include "ir/array/Positions.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// `numbers`: from 1, for each entry of `targets`, whose positions differ where they are inside. Gives the number at
/// each of `count` positions, and 0 where none is.
Value invert(Translation &t, Value targets, Value numbers, int64_t dim, int64_t count) {
  ArrayType type = plainTypeOf(numbers);
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = count;
  Value zero = t.splat(type.withShape(shape), 0);
  if (shape.size() == 1)
    return t.create<spmdc::ScatterAddOp>(zero, targets, numbers, dim);
  return t.create<spmdc::ScatterAddAlongOp>(zero, targets, numbers, dim);
}

/// Sorted positions, but for each run of equal ones all but the last replaced by `count`, which is outside.
Value keepLast(Translation &t, Value sorted, int64_t dim, int64_t count) {
  int64_t size = shapeOf(sorted)[dim];
  SmallVector<int64_t> one(shapeOf(sorted));
  one[dim] = 1;
  Value outside = t.splat(plainTypeOf(sorted).withShape(one), -1); // No position.
  Value next = t.concatenate({t.sliceDim(sorted, dim, 1, size), outside}, dim);
  Value isLast = t.compare(sorted, spmdc::ComparisonDirection::ne, next);
  return t.select(isLast, sorted, t.splatLike(sorted, static_cast<double>(count)));
}

Value addOne(Translation &t, Value x) { return t.create<spmdc::AddOp>(x, t.splatLike(x, 1)); }
Value subtractOne(Translation &t, Value x) { return t.create<spmdc::SubtractOp>(x, t.splatLike(x, 1)); }

Value countFromOne(Translation &t, ArrayRef<int64_t> shape, int64_t dim) {
  IntegerType type = getPositionType(t.b.getContext(), shape[dim]);
  return addOne(t, t.create<spmdc::IotaOp>(ArrayType::get(shape, type), dim));
}

/// The updates as [batching dimensions, number, the operand's other dimensions], and what is taken of them.
class Updates {
public:
  Updates(Translation &t, const Windows &windows, Access access, ArrayRef<Value> updates, int64_t count)
      : t(t), access(std::move(access)), shape(this->access.shape) {
    shape[this->access.dim] = count;
    for (Value update : updates)
      arrays.push_back(t.reshape(arrangeUpdates(t, this->access, update), shape));
  }

  /// Those with these numbers, [batching dimensions, n].
  Arrays take(Value numbers) const {
    SmallVector<int64_t> wide(shape);
    wide[access.dim] = shapeOf(numbers).back();
    return llvm::map_to_vector(arrays, [&](Value array) -> Value {
      if (access.isAlong)
        return t.create<spmdc::TakeAlongOp>(array, spread(numbers, wide), access.dim);
      return t.create<spmdc::TakeOp>(array, numbers, access.dim);
    });
  }

  /// [batching dimensions, n] repeated along the operand's other dimensions.
  Value spread(Value array, ArrayRef<int64_t> wide) const {
    return t.broadcast(array, wide, llvm::to_vector(llvm::seq<int64_t>(0, access.dim + 1)));
  }

  Translation &t;
  Access access;
  SmallVector<int64_t> shape;
  Arrays arrays;
};

/// The updates that `number` numbers from 1 at each position; 0 where there is none.
Winners winnersOf(const Updates &updates, Value number) {
  Translation &t = updates.t;
  Value isHit = t.compare(number, spmdc::ComparisonDirection::gt, t.splatLike(number, 0));
  // -1 is clamped, and not used.
  return {updates.spread(isHit, updates.access.shape), updates.take(subtractOne(t, number)), updates.access};
}

} // namespace

/// Updates are not moved, but their numbers: the updates at a position are then taken, so that their bits do not
/// change.
Winners onlyOf(Translation &t, const Windows &windows, const Positions &positions, ArrayRef<Value> updates) {
  Access access = accessOf(windows, positions, true);
  Value targets = groupByBatches(t, windows, positions);
  int64_t dim = access.dim, count = shapeOf(targets).back();
  Value numbers = countFromOne(t, shapeOf(targets), dim);
  return winnersOf(Updates(t, windows, access, updates, count), invert(t, targets, numbers, dim, positions.count));
}

/// A scan of the updates in the order of their positions, by doubled distances (Hillis, Steele 1986), that combines
/// within runs of one position: the last of each run is that of all. A loop over the distances: with a step of its own
/// for each of 17 distances, a program of 100,000 updates took 4 s to compile.
FailureOr<Winners> combinedOf(Translation &t, const Windows &windows, const Positions &positions,
                              ArrayRef<Value> updates,
                              llvm::function_ref<FailureOr<Arrays>(ArrayRef<Value>, ArrayRef<Value>)> combine) {
  Access access = accessOf(windows, positions, true);
  Value targets = groupByBatches(t, windows, positions);
  int64_t dim = access.dim, count = shapeOf(targets).back();
  Value order = t.create<spmdc::ArgsortOp>(targets, dim, false);
  targets = t.create<spmdc::TakeAlongOp>(targets, order, dim);
  Updates scanned(t, windows, access, updates, count);
  scanned.arrays = scanned.take(order);
  Value number = subtractOne(t, countFromOne(t, shapeOf(targets), dim));
  ArrayType numbers = plainTypeOf(number);
  bool isCombined = true;
  auto step = [&](const Matrix &at, ArrayRef<Matrix> carries) {
    Updates own(scanned);
    own.arrays = llvm::map_to_vector(carries, [](const Matrix &array) { return array.get(); });
    Value place = t.convert(at.get(), numbers.getElementType());
    Value distance = t.broadcast(t.create<spmdc::ShiftLeftOp>(t.splatLike(place, 1), place), numbers.getShape());
    Value before = t.create<spmdc::SubtractOp>(number, distance); // Clamped in front of the first one, and not used.
    Value isSame = t.compare(t.create<spmdc::TakeAlongOp>(targets, before, dim), ComparisonDirection::eq, targets);
    isSame = t.create<spmdc::AndOp>(isSame, t.compare(number, ComparisonDirection::ge, distance));
    FailureOr<Arrays> both = combine(own.take(before), own.arrays);
    Matrices next;
    for (auto [index, array] : llvm::enumerate(own.arrays)) {
      Value combined = succeeded(both) ? (*both)[index] : array;
      next.push_back({t, t.select(own.spread(isSame, own.shape), combined, array)});
    }
    isCombined &= succeeded(both);
    return next;
  };
  Matrices initials = llvm::map_to_vector(scanned.arrays, [&](Value array) { return Matrix(t, array); });
  Matrices done = repeat(llvm::Log2_64_Ceil(static_cast<uint64_t>(count)), initials, step);
  if (!isCombined)
    return failure();
  scanned.arrays = llvm::map_to_vector(done, [](const Matrix &array) { return array.get(); });
  Value last = keepLast(t, targets, dim, positions.count);
  return winnersOf(scanned, invert(t, last, countFromOne(t, shapeOf(targets), dim), dim, positions.count));
}

} // namespace spmdc::stablehlo
