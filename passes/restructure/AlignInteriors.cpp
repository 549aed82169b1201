//===- AlignInteriors.cpp - interiors where they are put ------------------===//
//
// A step of a stencil computes an interior of slices that are shifted against each other, and puts it back:
//
//   update(u, (u[:-2] + u[2:]) / 2, start=[1])
//
// The slices are shorter than the array, so their pieces begin elsewhere than the array's: each device gets its window,
// and what it has computed is exchanged again. The same is computed in the array's own places, of shifted arrays, which
// takes one exchange, and is taken where the interior is:
//
//   where(0 < i < n - 1, (shift(u, 1) + shift(u, -1)) / 2, u)
//
//===----------------------------------------------------------------------===//

#include "ir/array/LocalBuilder.h"
#include "passes/restructure/BeforeReshape.h"
#include "passes/restructure/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_ALIGNINTERIORS
#include "passes/restructure/Passes.h.inc"

namespace {

/// What is computed beside the interior, at most, as a part of it.
constexpr double kMostBeside = 0.25;

bool isScalar(Value value) { return arrayTypeOf(value).getRank() == 0; }

/// A part of a result, with what it is computed of.
class Interior {
public:
  Interior(Operation *user, ArrayType result, const ArrayMove &part)
      : user(user), result(result), source(part.source), dims(part.dims) {
    for (auto [d, dim] : llvm::enumerate(dims)) { // A pad has more than there is of its operand.
      dim.begin = std::max(dim.begin, -dim.shift);
      dim.end = std::min(dim.end, arrayTypeOf(source).getDimSize(d) - dim.shift);
    }
  }

  /// Whether the part is as the result is, but for where the result has more.
  bool match() {
    for (const spmd::DimMove &dim : dims)
      if (dim.stride != 1 || dim.dilation != 1 || dim.length != 0 || dim.wraps)
        return false;
    if (isWhole())
      return true;
    return matchValue(source) && llvm::all_of(computed, [&](Operation *op) {
             return llvm::all_of(op->getUsers(), [&](Operation *by) { return by == user || computed.contains(by); });
           });
  }

  bool isWhole() const {
    return llvm::none_of(llvm::seq(result.getRank()), [&](int64_t d) { return isShort(d); });
  }
  /// Whether something is computed of slices that are cut where the result has more.
  bool isWorthIt() const {
    bool isCut = llvm::any_of(llvm::seq(result.getRank()), [&](int64_t d) {
      return isShort(d) && !result.getShardingOrOpen().getDims()[d].getAxes().empty();
    });
    auto elements = static_cast<double>(arrayTypeOf(source).getNumElements());
    return isCut && hasSlice && !computed.empty() &&
           static_cast<double>(result.getNumElements()) <= (1 + kMostBeside) * elements;
  }
  bool isComputed() const { return !computed.empty(); }

  /// What is to be taken in the part's place.
  Value build(OpBuilder &builder) {
    if (isWhole())
      return source;
    return valueOf(builder, source);
  }

  /// Where in the result the part is.
  Value buildMask(OpBuilder &builder, Location loc) const {
    Value mask;
    ArrayType flag = result.withElementType(builder.getI1Type());
    auto both = [&](Value condition) {
      mask = mask ? builder.create<AndOp>(loc, flag, mask, condition).getResult() : condition;
    };
    for (int64_t d = 0; d < result.getRank(); ++d) {
      if (!isShort(d))
        continue;
      ArrayType index = result.withElementType(getPositionType(builder.getContext(), result.getDimSize(d)));
      Value at = builder.create<IotaOp>(loc, index, d);
      auto compare = [&](ComparisonDirection direction, int64_t bound) {
        Value number = builder.create<ConstantOp>(loc, index, Scalar::ofInt(bound));
        both(builder.create<CompareOp>(loc, flag, at, number, direction));
      };
      if (dims[d].begin > 0)
        compare(ComparisonDirection::ge, dims[d].begin);
      if (dims[d].end < result.getDimSize(d))
        compare(ComparisonDirection::lt, dims[d].end);
    }
    return mask;
  }

private:
  /// Whether the result has more than the part along a dimension.
  bool isShort(int64_t d) const { return dims[d].begin != 0 || dims[d].end != result.getDimSize(d); }

  bool matchValue(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return false;
    if (computed.contains(op))
      return true;
    if (auto constant = dyn_cast<ConstantOp>(op))
      return constant.getValue().isSplat();
    if (auto broadcast = dyn_cast<BroadcastInDimOp>(op))
      return isScalar(broadcast.getOperand());
    if (auto slice = dyn_cast<SliceOp>(op))
      return matchSlice(slice);
    // By a zero that stands where there is no part nothing may be divided that stops at it.
    bool mayStop = op->hasTrait<Division>() && !isa<FloatType>(arrayTypeOf(value).getElementType());
    if (!isa<ElementwiseOpInterface>(op) || mayStop || op->hasAttr(kAnnotatedAttrName))
      return false;
    for (Value operand : op->getOperands())
      if (!matchValue(operand))
        return false;
    computed.insert(op); // Behind its operands.
    return true;
  }

  bool matchSlice(SliceOp slice) {
    hasSlice = true;
    ArrayType from = arrayTypeOf(slice.getOperand());
    for (int64_t d = 0; d < result.getRank(); ++d) {
      if (slice.getStrides()[d] != 1)
        return false;
      auto axesIn = [&](ArrayType type) { return type.getShardingOrOpen().getDims()[d].getAxes(); };
      if (isShort(d) && (from.getDimSize(d) != result.getDimSize(d) || axesIn(from) != axesIn(result)))
        return false;
    }
    return true;
  }

  Value valueOf(OpBuilder &builder, Value value) {
    Value &made = values[value];
    if (made)
      return made;
    Operation *op = value.getDefiningOp();
    // Where it was: what no iteration changes stays in front of the loop.
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(op);
    Location loc = op->getLoc();
    ArrayType type = result.withElementType(arrayTypeOf(value).getElementType());
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      auto splat = cast<DenseElementsAttr>(constant.getValue());
      return made = builder.create<ConstantOp>(loc, type, splat.resizeSplat(type.getTensorType()));
    }
    if (auto broadcast = dyn_cast<BroadcastInDimOp>(op))
      return made = builder.create<BroadcastInDimOp>(loc, type, broadcast.getOperand(), ArrayRef<int64_t>{});
    if (auto slice = dyn_cast<SliceOp>(op))
      return made = shifted(builder, slice, type);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(valueOf(builder, operand));
    Operation *copy = builder.create(OperationState(loc, op->getName(), operands, type, op->getAttrs()));
    return values[value] = copy->getResult(0); // The table may have grown meanwhile.
  }

  /// The slice's array, with the elements of the slice where the part is.
  Value shifted(OpBuilder &builder, SliceOp slice, ArrayType type) {
    Location loc = slice.getLoc();
    Value array = slice.getOperand();
    int64_t rank = type.getRank();
    SmallVector<int64_t> starts(rank), limits(rank), ones(rank, 1), low(rank), high(rank), none(rank), shape(rank);
    for (int64_t d = 0; d < rank; ++d) {
      int64_t size = arrayTypeOf(array).getDimSize(d), shift = slice.getStarts()[d] - dims[d].begin;
      starts[d] = isShort(d) ? std::max<int64_t>(shift, 0) : slice.getStarts()[d];
      limits[d] = isShort(d) ? size + std::min<int64_t>(shift, 0) : slice.getLimits()[d];
      low[d] = isShort(d) ? std::max<int64_t>(-shift, 0) : 0;
      high[d] = isShort(d) ? std::max<int64_t>(shift, 0) : 0;
      shape[d] = limits[d] - starts[d];
    }
    ArrayType sliced = type.withShape(shape).withSharding(type.getSharding());
    if (ArrayRef(shape) != arrayTypeOf(array).getShape())
      array = builder.create<SliceOp>(loc, sliced, array, starts, limits, ones);
    if (ArrayRef(shape) == type.getShape())
      return array;
    Value zero = builder.create<ConstantOp>(loc, scalarType(type), Scalar());
    return builder.create<PadOp>(loc, type, array, zero, low, high, none);
  }

  static ArrayType scalarType(ArrayType type) {
    return type.withShape({}).withSharding(ShardingAttr::getReplicated(type.getContext(), 0));
  }

  Operation *user;
  ArrayType result;
  Value source;
  std::vector<spmd::DimMove> dims;
  llvm::SetVector<Operation *> computed; ///< Element by element, operands before users.
  bool hasSlice = false;
  llvm::DenseMap<Value, Value> values; ///< What takes whose place; only looked up.
};

void alignInterior(ShardingRuleOpInterface op) {
  if (!isa<DynamicUpdateSliceOp, PadOp, ConcatenateOp>(op.getOperation()) || isPerDevice(op))
    return;
  // Derivatives add what was padded, which is added where it is (spmdc-accumulate-halos).
  if (isa<PadOp>(op.getOperation()) &&
      llvm::any_of(op->getUsers(), [](Operation *user) { return isa<AddOp, SubtractOp, NegateOp>(user); }))
    return;
  ArrayMoves moves = op.getMoves();
  auto result = cast<ArrayType>(op->getResult(0).getType());
  if (!result.getSharding() || result.getNumElements() == 0)
    return;
  std::vector<Interior> parts;
  for (const ArrayMove &part : moves.parts)
    if (!parts.emplace_back(op, result, part).match())
      return;
  if (llvm::none_of(parts, [](const Interior &part) { return part.isWorthIt(); }) ||
      llvm::any_of(parts, [](const Interior &part) { return part.isComputed() && !part.isWorthIt(); }))
    return;
  OpBuilder builder(op);
  Location loc = op->getLoc();
  Value value, first;
  if (moves.outside)
    value = builder.create<BroadcastInDimOp>(loc, result, moves.outside, ArrayRef<int64_t>{});
  // What is only a part of some array comes first: it is mostly the array that the interior is put into.
  for (bool isComputed : {false, true})
    for (Interior &part : parts) {
      if (part.isComputed() != isComputed)
        continue;
      Value made = part.build(builder);
      if (!value || part.isWhole())
        value = first = made;
      else if (made != first)
        value = builder.create<SelectOp>(loc, result, part.buildMask(builder, loc), made, value);
    }
  if (op->hasAttr(kAnnotatedAttrName) && value.getDefiningOp())
    value.getDefiningOp()->setAttr(kAnnotatedAttrName, UnitAttr::get(op->getContext()));
  op->getResult(0).replaceAllUsesWith(value);
  op->erase();
}

class AlignInteriorsPass : public impl::AlignInteriorsBase<AlignInteriorsPass> {
  void runOnOperation() override {
    SmallVector<ShardingRuleOpInterface> ops;
    getOperation().walk([&](ShardingRuleOpInterface op) { ops.push_back(op); });
    for (ShardingRuleOpInterface op : ops)
      alignInterior(op);
    for (auto func : getOperation().getOps<func::FuncOp>())
      eraseUnused(func);
  }
};

} // namespace
} // namespace spmdc
