//===- AlignInteriors.cpp - interiors at their own positions --------------===//
//
// A step of a stencil computes an interior from slices that are shifted against each other, and writes it back:
//
//   update(u, (u[:-2] + u[2:]) / 2, start=[1])
//
// The slices are shorter than the array, so their shards begin elsewhere: each device receives a window, and the
// computed interior is exchanged again. Instead the pass computes at the array's positions from shifted arrays, which
// takes one exchange, and selects the result in the interior:
//
//   where(0 < i < n - 1, (shift(u, 1) + shift(u, -1)) / 2, u)
//
//===----------------------------------------------------------------------===//

#include "ir/array/LocalBuilder.h"
#include "ir/spmd/DebugTrace.h"
#include "passes/restructure/BeforeReshape.h"
#include "passes/restructure/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_ALIGNINTERIORS
#include "passes/restructure/Passes.h.inc"

namespace {

DebugTrace trace("align-interiors", "not aligned");

/// The largest fraction of elements outside of the interior that may be computed in addition.
constexpr double kMostBeside = 0.25;

bool isScalar(Value value) { return typeOf(value).getRank() == 0; }

/// A part of a result, with the operations that compute it.
class Interior {
public:
  Interior(Operation *user, ArrayType result, const ArrayMove &part)
      : user(user), result(result), source(part.source), dims(part.dims) {
    for (auto [d, dim] : llvm::enumerate(dims)) { // A pad's move covers the padding as well.
      dim.begin = std::max(dim.begin, -dim.shift);
      dim.end = std::min(dim.end, typeOf(source).getDimSize(d) - dim.shift);
    }
  }

  /// Whether the part can be computed at the positions of the result.
  bool match() {
    for (const spmd::DimMove &dim : dims)
      if (dim.stride != 1 || dim.dilation != 1 || dim.length != 0 || dim.wraps)
        return false;
    if (isFullSize())
      return true;
    return matchValue(source) && llvm::all_of(computed, [&](Operation *op) {
             return llvm::all_of(op->getUsers(), [&](Operation *by) { return by == user || computed.contains(by); });
           });
  }

  bool isFullSize() const {
    return llvm::none_of(llvm::seq(result.getRank()), [&](int64_t d) { return isShort(d); });
  }
  /// Whether the part is computed from slices, and is shorter than the result along a sharded dimension.
  bool isWorthIt() const {
    bool isSharded = llvm::any_of(llvm::seq(result.getRank()), [&](int64_t d) {
      return isShort(d) && !result.getShardingOrOpen().getDims()[d].getAxes().empty();
    });
    auto elements = static_cast<double>(typeOf(source).getNumElements());
    return isSharded && hasSlice && !computed.empty() &&
           static_cast<double>(result.getNumElements()) <= (1 + kMostBeside) * elements;
  }
  bool isComputed() const { return !computed.empty(); }

  /// The value that replaces the part; it has the shape of the result.
  Value build(OpBuilder &builder) {
    if (isFullSize())
      return source;
    return valueOf(builder, source);
  }

  /// The mask of the part's positions in the result.
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
  /// Whether the part does not cover the full dimension of the result.
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
    // Shifted arrays have zeros outside of the part, and an integer division by zero would trap.
    bool mayStop = op->hasTrait<Division>() && !isa<FloatType>(typeOf(value).getElementType());
    if (!isa<ElementwiseOpInterface>(op) || mayStop || op->hasAttr(kAnnotatedAttrName))
      return false;
    for (Value operand : op->getOperands())
      if (!matchValue(operand))
        return false;
    computed.insert(op); // After its operands.
    return true;
  }

  bool matchSlice(SliceOp slice) {
    hasSlice = true;
    ArrayType from = typeOf(slice.getOperand());
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
    // At the original place, so that loop-invariant operations stay in front of the loop.
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(op);
    Location loc = op->getLoc();
    ArrayType type = result.withElementType(typeOf(value).getElementType());
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
    return values[value] = copy->getResult(0); // `made` is invalid if the table has grown.
  }

  /// The slice's array, shifted so that the elements of the slice are at the positions of the part.
  Value shifted(OpBuilder &builder, SliceOp slice, ArrayType type) {
    Location loc = slice.getLoc();
    Value array = slice.getOperand();
    int64_t rank = type.getRank();
    SmallVector<int64_t> starts(rank), limits(rank), ones(rank, 1), low(rank), high(rank), none(rank), shape(rank);
    for (int64_t d = 0; d < rank; ++d) {
      int64_t size = typeOf(array).getDimSize(d), shift = slice.getStarts()[d] - dims[d].begin;
      starts[d] = isShort(d) ? std::max<int64_t>(shift, 0) : slice.getStarts()[d];
      limits[d] = isShort(d) ? size + std::min<int64_t>(shift, 0) : slice.getLimits()[d];
      low[d] = isShort(d) ? std::max<int64_t>(-shift, 0) : 0;
      high[d] = isShort(d) ? std::max<int64_t>(shift, 0) : 0;
      shape[d] = limits[d] - starts[d];
    }
    ArrayType sliced = type.withShape(shape).withSharding(type.getSharding());
    if (ArrayRef(shape) != typeOf(array).getShape())
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
  llvm::SetVector<Operation *> computed; ///< Element-wise operations, operands before users.
  bool hasSlice = false;
  llvm::DenseMap<Value, Value> values; ///< Replacements by value; never iterated.
};

void alignInterior(ShardingRuleOpInterface op) {
  if (!isa<DynamicUpdateSliceOp, PadOp, ConcatenateOp>(op.getOperation()) || isPerDevice(op))
    return;
  // Derivatives add padded values, which spmdc-accumulate-halos adds before they are sent.
  if (isa<PadOp>(op.getOperation()) &&
      llvm::any_of(op->getUsers(), [](Operation *user) { return isa<AddOp, SubtractOp, NegateOp>(user); })) {
    trace.skip(op, "it is a term of a sum");
    return;
  }
  ArrayMoves moves = op.getMoves();
  auto result = cast<ArrayType>(op->getResult(0).getType());
  if (!result.getSharding() || result.getNumElements() == 0)
    return;
  std::vector<Interior> parts;
  for (const ArrayMove &part : moves.parts)
    if (!parts.emplace_back(op, result, part).match()) {
      trace.skip(op, "a part is not computed by element from slices without strides, for it alone");
      return;
    }
  if (llvm::none_of(parts, [](const Interior &part) { return part.isWorthIt(); }) ||
      llvm::any_of(parts, [](const Interior &part) { return part.isComputed() && !part.isWorthIt(); })) {
    trace.skip(op, "no part is computed from slices along a sharded dimension, or one is too small");
    return;
  }
  OpBuilder builder(op);
  Location loc = op->getLoc();
  Value value, first;
  if (moves.outside)
    value = builder.create<BroadcastInDimOp>(loc, result, moves.outside, ArrayRef<int64_t>{});
  // Parts that are not computed come first: mostly the array that the interior is written into.
  for (bool isComputed : {false, true})
    for (Interior &part : parts) {
      if (part.isComputed() != isComputed)
        continue;
      Value made = part.build(builder);
      if (!value || part.isFullSize())
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
      eraseDeadOps(func);
  }
};

} // namespace
} // namespace spmdc
