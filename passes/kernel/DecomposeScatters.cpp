//===- DecomposeScatters.cpp - scatters for a GPU -------------------------===//
//
// The library of a GPU adds at indices. All other scatters become sorts, takes and one addition: of the number of the
// update that is left at each position. Updates are not moved, but their numbers, so their bits do not change.
//
// Arrays are [outer, n, inner], updates [outer, m, inner], indices [m], or [outer, m, inner] along a dimension.
//
//===----------------------------------------------------------------------===//

#include "ir/array/LocalBuilder.h"
#include "ir/array/PartialSums.h"
#include "ir/array/ScatterOp.h"
#include "passes/kernel/Passes.h"
#include "passes/kernel/Shapes.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_DECOMPOSESCATTERS
#include "passes/kernel/Passes.h.inc"

namespace {

class Decomposer {
public:
  explicit Decomposer(ScatterOp op)
      : op(op), b(op), loc(op.getLoc()), local(b, loc), isAlong(op.getAlong()), dim(isAlong ? 1 : 0),
        reduction(spmdc::getReductionKind(op.getKind())) {}

  Value run() {
    ArrayRef<int64_t> shape = op.getType().getShape();
    auto along = static_cast<int64_t>(op.getDim());
    int64_t outer = productOf(shape.take_front(along)), inner = productOf(shape.drop_front(along + 1));
    rows = shape[along];
    count = isAlong ? op.getIndices().getType().getDimSize(along) : op.getIndices().getType().getNumElements();
    if (outer * rows * inner == 0 || count == 0)
      return op.getOperand();
    Value x = reshape(op.getOperand(), {outer, rows, inner}), updates = reshape(op.getUpdates(), {outer, count, inner});
    Value indices = isAlong ? reshape(op.getIndices(), {outer, count, inner}) : reshape(op.getIndices(), {count});
    Type type = op.getType().getElementType(), wide = type;
    if (reduction == ReductionKind::prod && (type.isBF16() || type.isF16()))
      wide = b.getF32Type(); // Rounded once.
    x = convertTo(b, loc, x, wide);
    updates = convertTo(b, loc, updates, wide);
    // The number of the update, from 1, that is left at each position, and 0 where there is none.
    Value numbers = addConstant(countAlong(typeOf(indices).getShape()), 1);
    if (!op.getUnique()) {
      Value order = b.create<ArgsortOp>(loc, indices, dim, false);
      indices = b.create<TakeAlongOp>(loc, indices, order, dim);
      if (reduction)
        updates = scan(take(updates, order), indices);
      else
        numbers = addConstant(convertTo(b, loc, order, typeOf(numbers).getElementType()), 1);
      indices = keepLast(indices);
    }
    Value number = invert(indices, numbers);
    Value values = take(updates, addConstant(number, -1)); // -1 is clamped, and not used.
    if (reduction)
      values = createCombination(b, loc, *reduction, x, values);
    Value isHit = local.compare(number, splatLike(number, 0), ComparisonDirection::gt);
    Value result = local.select(spread(isHit, typeOf(x).getShape()), values, x);
    return reshape(convertTo(b, loc, result, type), shape);
  }

private:
  Value reshape(Value value, ArrayRef<int64_t> shape) {
    return shapeOf(value) == shape ? value
                                   : b.create<ReshapeOp>(loc, typeOf(value).withShape(shape), value).getResult();
  }
  Value splatLike(Value value, int64_t number) {
    return b.create<ConstantOp>(loc, plainTypeOf(value), Scalar::ofInt(number));
  }
  Value addConstant(Value value, int64_t number) { return b.create<AddOp>(loc, value, splatLike(value, number)); }

  /// 0, 1, ... along the dimension of the updates.
  Value countAlong(ArrayRef<int64_t> shape) {
    return b.create<IotaOp>(loc, ArrayType::get(shape, getPositionType(b.getContext(), count)), dim);
  }

  /// Elements of [outer, any, inner] by numbers as the indices are arranged.
  Value take(Value array, Value numbers) {
    if (isAlong)
      return b.create<TakeAlongOp>(loc, array, numbers, 1);
    return b.create<TakeOp>(loc, array, numbers, 1);
  }

  /// An array as the indices are arranged, repeated to [outer, any, inner].
  Value spread(Value array, ArrayRef<int64_t> shape) { return isAlong ? array : local.broadcast(array, shape, {1}); }

  /// The numbers at their targets, which differ where they are inside.
  Value invert(Value targets, Value numbers) {
    SmallVector<int64_t> shape(shapeOf(targets));
    shape[dim] = rows;
    Value zero = b.create<ConstantOp>(loc, plainTypeOf(numbers).withShape(shape), Scalar::ofInt(0));
    if (isAlong)
      return b.create<ScatterAddAlongOp>(loc, zero, targets, numbers, dim);
    return b.create<ScatterAddOp>(loc, zero, targets, numbers, dim);
  }

  /// Sorted indices, but for each run of equal ones all but the last are outside.
  Value keepLast(Value sorted) {
    SmallVector<int64_t> one(shapeOf(sorted));
    one[dim] = 1;
    Value outside = b.create<ConstantOp>(loc, plainTypeOf(sorted).withShape(one), Scalar::ofInt(-1));
    Value next = outside;
    if (count > 1)
      next = b.create<ConcatenateOp>(loc, plainTypeOf(sorted),
                                     ValueRange{createSlice(b, loc, sorted, dim, 1, count - 1), outside}, dim);
    Value isLast = local.compare(sorted, next, ComparisonDirection::ne);
    return local.select(isLast, sorted, splatLike(sorted, -1));
  }

  /// A scan of the sorted updates, by doubled distances (Hillis, Steele 1986), that combines within runs of one index:
  /// the last of each run is that of all.
  Value scan(Value updates, Value sorted) {
    Value number = countAlong(shapeOf(sorted));
    auto loop = b.create<ForOp>(loc, TypeRange{updates.getType()}, 0,
                                static_cast<int64_t>(llvm::Log2_64_Ceil(static_cast<uint64_t>(count))), updates);
    Block &body = loop.getRegion().emplaceBlock();
    body.addArguments({local.indexType(), updates.getType()}, {loc, loc});
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&body);
    Value place = convertTo(b, loc, body.getArgument(0), typeOf(number).getElementType()), own = body.getArgument(1);
    Value distance = b.create<ShiftLeftOp>(loc, splatLike(place, 1), place);
    distance = local.broadcast(distance, shapeOf(number));
    Value before = local.subtract(number, distance); // Clamped in front of the first one, and not used.
    Value isSame = local.compare(b.create<TakeAlongOp>(loc, sorted, before, dim), sorted, ComparisonDirection::eq);
    isSame = b.create<AndOp>(loc, isSame, local.compare(number, distance, ComparisonDirection::ge));
    Value both = createCombination(b, loc, *reduction, take(own, before), own);
    Value next = local.select(spread(isSame, shapeOf(own)), both, own);
    b.create<YieldOp>(loc, next);
    return loop.getResult(0);
  }

  ScatterOp op;
  OpBuilder b;
  Location loc;
  LocalBuilder local;
  bool isAlong;
  int64_t dim; ///< Of the indices: that of the updates.
  std::optional<ReductionKind> reduction;
  int64_t rows = 0, count = 0;
};

class DecomposeScattersPass : public impl::DecomposeScattersBase<DecomposeScattersPass> {
  void runOnOperation() override {
    SmallVector<ScatterOp> scatters;
    getOperation().walk([&](ScatterOp op) { scatters.push_back(op); });
    for (ScatterOp op : scatters) {
      op.replaceAllUsesWith(Decomposer(op).run());
      op.erase();
    }
  }
};

} // namespace
} // namespace spmdc
