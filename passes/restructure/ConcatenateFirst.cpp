//===- ConcatenateFirst.cpp - slices concatenated before they are used ----===//
//
// Rotary embeddings negate one half of an array and swap the halves:
//
//   concatenate([-x[:, h:], x[:, :h]], axis=1)
//
// Along a sharded dimension devices exchange the halves to compute on them, and exchange the results to concatenate
// them. The slices alone are a permutation of the array, which takes one exchange. So the pass concatenates them first,
// applies each part's operations to the concatenated array, and selects the result in the part's range:
//
//   let y = concatenate([x[:, h:], x[:, :h]], axis=1)
//   where(column < h, -y, y)
//
// Parts with the same operations (the ends of a stencil that wraps, written separately) need no selection.
//
//===----------------------------------------------------------------------===//

#include "ir/array/LocalBuilder.h"
#include "ir/array/Positions.h"
#include "ir/spmd/DebugTrace.h"
#include "ir/spmd/ValueNames.h"
#include "passes/cost/CostModel.h"
#include "passes/exchange/ArrayMoves.h"
#include "passes/exchange/ConcatenatedSlices.h"
#include "passes/reshard/ExchangeAxes.h"
#include "passes/restructure/BeforeReshape.h"
#include "passes/restructure/OperandExpression.h"
#include "passes/restructure/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_CONCATENATEFIRST
#include "passes/restructure/Passes.h.inc"

namespace {

DebugTrace trace("concatenate-first", "not concatenated first");

/// The time of one unit of getOpCost, in bytes of memory traffic: the operations are fused into a kernel that has its
/// operands in registers, where a vectorized addition of one element takes a quarter of the time to read it.
constexpr double kBytesPerUnit = 1;

/// The bytes, time and number of exchanges.
struct Sent {
  double bytes = 0, seconds = 0;
  int64_t exchanges = 0;
};

/// Rewrites one concatenation.
class ConcatenationRewriter {
public:
  ConcatenationRewriter(ConcatenateOp op, const CostModel &model)
      : op(op), dim(static_cast<int64_t>(op.getDim())), result(op.getType()), mesh(getMesh(op).toValue()),
        model(model) {}

  void run() {
    if (!match() || !concatenateSlots() || !isWorthIt())
      return; // Each of them traces why.
    OpBuilder builder(op);
    std::vector<Value> slotValues;
    for (const SlotArray &slotArray : arrays)
      slotValues.push_back(build(builder, slotArray));
    Value value;
    for (const Group &group : groups) {
      SmallVector<Value> slots;
      for (unsigned place : group.arrays)
        slots.push_back(slotValues[place]);
      Value made = formulas[group.parts.front()].build(builder, result, slots);
      value = value ? builder.create<SelectOp>(op.getLoc(), result, buildMask(builder, group), made, value) : made;
    }
    if (op->hasAttr(kAnnotatedAttrName) && value.getDefiningOp())
      value.getDefiningOp()->setAttr(kAnnotatedAttrName, UnitAttr::get(op->getContext()));
    moveValueNames(op, value);
    op.getResult().replaceAllUsesWith(value);
    op->erase();
  }

private:
  /// Parts with the same operations; for each of their slots the index of its concatenated array.
  struct Group {
    SmallVector<unsigned> parts;
    SmallVector<unsigned> arrays;
  };
  /// The values to concatenate, by part; null if the array is not used for a part.
  struct SlotArray {
    SmallVector<Value> values;
  };

  bool match() {
    if (isPerDevice(op) || !result.getSharding() || !result.getSharding().getUnreduced().empty() ||
        result.getSharding().getDims()[dim].getAxes().empty() || result.getNumElements() == 0)
      return trace.skip(op, "it does not concatenate along a sharded dimension");
    int64_t begin = 0;
    for (Value part : op.getOperands()) {
      begins.push_back(begin);
      begin += typeOf(part).getDimSize(dim);
      if (!formulas.emplace_back(part, dim, op).match() || formulas.back().getSlots().empty())
        return trace.skip(op, "operand ", formulas.size() - 1, " is not computed by element from arrays, for it alone");
      unsigned place = formulas.size() - 1;
      auto group = llvm::find_if(
          groups, [&](const Group &other) { return formulas[other.parts.front()].isSame(formulas[place]); });
      if (group == groups.end())
        group = groups.insert(groups.end(), Group());
      group->parts.push_back(place);
    }
    begins.push_back(begin);
    if (llvm::none_of(formulas, [](const OperandExpression &formula) { return formula.computes(); }))
      return trace.skip(op, "nothing is computed between the slices and it");
    // Positions of other parts may be zero, and an integer division by zero would trap.
    if (groups.size() > 1 && llvm::any_of(formulas, [](const OperandExpression &formula) { return formula.mayStop(); }))
      return trace.skip(op, "an integer division may divide by zero at the positions of other parts");
    // The group with the most elements is computed first, and the others are selected over it.
    llvm::sort(groups, [&](const Group &a, const Group &b) {
      return std::pair(-sizeOf(a), a.parts.front()) < std::pair(-sizeOf(b), b.parts.front());
    });
    return true;
  }

  int64_t sizeOf(const Group &group) const {
    int64_t size = 0;
    for (unsigned part : group.parts)
      size += begins[part + 1] - begins[part];
    return size;
  }

  /// The moves from the values to their ranges of the result.
  SmallVector<ArrayMove> listMoves(const SlotArray &slotArray) const {
    SmallVector<ArrayMove> moves;
    for (auto [part, value] : llvm::enumerate(slotArray.values)) {
      if (!value)
        continue;
      ArrayMove move{value, {}};
      for (int64_t size : result.getShape())
        move.dims.push_back({0, 1, 0, size});
      move.dims[dim] = {-begins[part], 1, begins[part], begins[part + 1]};
      moves.push_back(move);
    }
    return moves;
  }

  /// Gives each slot a concatenated array: that of another group's slot if both together are one move of one array.
  bool concatenateSlots() {
    for (Group &group : groups) {
      size_t count = formulas[group.parts.front()].getSlots().size();
      for (size_t slot = 0; slot < count; ++slot) {
        std::optional<unsigned> place;
        for (unsigned i = 0; i < arrays.size() && !place; ++i) {
          SlotArray both = arrays[i];
          bool isFree = !llvm::is_contained(group.arrays, i);
          for (unsigned part : group.parts) {
            isFree = isFree && !both.values[part];
            both.values[part] = formulas[part].getSlots()[slot];
          }
          if (isFree && matchConcatenatedSlices(listMoves(both), dim)) {
            arrays[i] = both;
            place = i;
          }
        }
        if (!place) {
          place = arrays.size();
          arrays.emplace_back().values.resize(formulas.size());
          for (unsigned part : group.parts)
            arrays.back().values[part] = formulas[part].getSlots()[slot];
        }
        group.arrays.push_back(*place);
      }
    }
    // The array is padded with zeros around the values, not between them.
    bool areAdjacent = llvm::all_of(arrays, [](const SlotArray &slotArray) {
      auto isValid = [](Value value) { return static_cast<bool>(value); };
      auto first = llvm::find_if(slotArray.values, isValid);
      auto last = std::find_if_not(first, slotArray.values.end(), isValid);
      return std::none_of(last, slotArray.values.end(), isValid);
    });
    return areAdjacent || trace.skip(op, "parts with the same operations are not adjacent");
  }

  void add(Sent &sent, ArrayType from, ArrayType to, const std::vector<spmd::DimMove> &moves) const {
    double bytes = getExchangeBytes(mesh, from, to, moves);
    if (bytes == 0)
      return;
    sent.bytes += bytes;
    LinkRates rates = getExchangeRates(model, mesh, from, to, moves);
    sent.seconds += model.seconds(model.costOf("exchange", rates, bytes, 0), mesh.deviceCount());
    ++sent.exchanges;
  }

  bool isWorthIt() const {
    Sent before, behind;
    llvm::SetVector<Operation *> slices;
    for (const OperandExpression &formula : formulas)
      for (Value slot : formula.getSlots())
        if (auto slice = slot.getDefiningOp<SliceOp>(); slice && needsExchange(slice))
          slices.insert(slice);
    for (Operation *slice : slices) {
      ArrayMove move = cast<SliceOp>(slice).getMoves().parts[0];
      add(before, typeOf(move.source), typeOf(slice->getResult(0)), move.dims);
    }
    for (const ArrayMove &part : op.getMoves().parts)
      add(before, typeOf(part.source), result, part.dims);
    for (const SlotArray &slotArray : arrays) {
      SmallVector<ArrayMove> moves = listMoves(slotArray);
      if (std::optional<ConcatenatedSlices> all = matchConcatenatedSlices(moves, dim))
        moves = {all->move};
      for (const ArrayMove &move : moves) {
        ArrayType from = typeOf(move.source);
        add(behind, from, result.withElementType(from.getElementType()), move.dims);
      }
    }
    bool isLess = behind.bytes < before.bytes || (behind.bytes == before.bytes && behind.exchanges < before.exchanges);
    auto elements = static_cast<double>(result.getLocalBytes(mesh) / spmd::byteSize(result.getDType()));
    double beside = 0; // Computed elements that are not selected.
    for (const Group &group : groups) {
      auto own = static_cast<double>(sizeOf(group)) / static_cast<double>(result.getDimSize(dim));
      beside += formulas[group.parts.front()].getCost() * elements * (1 - own);
    }
    if (!isLess)
      return trace.skip(op, "the concatenated arrays send ", asCount(behind.bytes), " bytes in ", behind.exchanges,
                        " exchanges, the parts ", asCount(before.bytes), " in ", before.exchanges);
    double saved = before.seconds - behind.seconds, computing = beside * kBytesPerUnit / model.memoryPerSecond;
    return saved > computing || trace.skip(op, "the exchanges save ", asTime(saved),
                                           ", elements that are not selected take ", asTime(computing));
  }

  Value build(OpBuilder &builder, const SlotArray &slotArray) const {
    SmallVector<Value> values;
    SmallVector<int64_t> low(result.getRank()), high(result.getRank()), none(result.getRank());
    for (auto [part, value] : llvm::enumerate(slotArray.values)) {
      if (value)
        values.push_back(value);
      else
        (values.empty() ? low : high)[dim] += begins[part + 1] - begins[part];
    }
    Location loc = op.getLoc();
    ArrayType type = result.withElementType(typeOf(values.front()).getElementType());
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] -= low[dim] + high[dim];
    ArrayType some = type.withShape(shape).withSharding(type.getSharding());
    Value array = values.size() == 1 ? values[0] : builder.create<ConcatenateOp>(loc, some, values, dim).getResult();
    if (some == type)
      return array;
    ArrayType scalar = type.withShape({}).withSharding(ShardingAttr::getReplicated(type.getContext(), 0));
    Value zero = builder.create<ConstantOp>(loc, scalar, Scalar());
    return builder.create<PadOp>(loc, type, array, zero, low, high, none);
  }

  Value buildMask(OpBuilder &builder, const Group &group) const {
    Location loc = op.getLoc();
    ArrayType index = result.withElementType(getPositionType(builder.getContext(), result.getDimSize(dim)));
    ArrayType flag = result.withElementType(builder.getI1Type());
    Value at = builder.create<IotaOp>(loc, index, dim), mask;
    auto compare = [&](ComparisonDirection direction, int64_t bound) -> Value {
      Value number = builder.create<ConstantOp>(loc, index, Scalar::ofInt(bound));
      return builder.create<CompareOp>(loc, flag, at, number, direction);
    };
    for (unsigned part : group.parts) {
      Value own;
      if (begins[part] > 0)
        own = compare(ComparisonDirection::ge, begins[part]);
      if (begins[part + 1] < result.getDimSize(dim)) {
        Value below = compare(ComparisonDirection::lt, begins[part + 1]);
        own = own ? builder.create<AndOp>(loc, flag, own, below).getResult() : below;
      }
      mask = mask ? builder.create<OrOp>(loc, flag, mask, own).getResult() : own;
    }
    return mask;
  }

  mutable ConcatenateOp op;
  int64_t dim;
  ArrayType result;
  spmd::MeshShape mesh;
  const CostModel &model;
  std::vector<OperandExpression> formulas; ///< By part.
  SmallVector<int64_t> begins;             ///< By part, and the dimension's size at the end.
  std::vector<Group> groups;
  std::vector<SlotArray> arrays;
};

class ConcatenateFirstPass : public impl::ConcatenateFirstBase<ConcatenateFirstPass> {
  void runOnOperation() override {
    CostModel model = CostModel::of(getOperation()).forGoal();
    SmallVector<ConcatenateOp> ops;
    getOperation().walk([&](ConcatenateOp op) { ops.push_back(op); });
    for (ConcatenateOp op : ops)
      ConcatenationRewriter(op, model).run();
    for (auto func : getOperation().getOps<func::FuncOp>())
      eraseDeadOps(func);
  }
};

} // namespace
} // namespace spmdc
