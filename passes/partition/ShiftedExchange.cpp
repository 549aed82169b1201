//===- ShiftedExchange.cpp - slices and pads of cut dimensions ------------===//

#include "passes/partition/ShiftedExchange.h"

#include "ir/array/LocalBuilder.h"
#include "passes/partition/Conditions.h"
#include "passes/partition/FactorAxes.h"

using namespace mlir;

namespace spmdc {
namespace {

std::vector<int64_t> shapeOf(ArrayType type) { return {type.getShape().begin(), type.getShape().end()}; }

/// Where each device finds its whole piece of the result in its own piece of the operand, if that is the same on all.
std::optional<SmallVector<int64_t>> getLocalStart(ArrayType from, ArrayType to, ArrayRef<int64_t> shift,
                                                  MeshAttr meshAttr) {
  spmd::MeshShape mesh = meshAttr.toValue();
  spmd::Sharding source = from.getShardingOrOpen().toValue(), target = to.getShardingOrOpen().toValue();
  ArrayType localFrom = from.getLocal(meshAttr), localTo = to.getLocal(meshAttr);
  std::optional<SmallVector<int64_t>> start;
  for (int64_t device = 0; device < mesh.deviceCount(); ++device) {
    std::vector<spmd::ShardRange> has = spmd::ownedRanges(mesh, shapeOf(from), source, device);
    std::vector<spmd::ShardRange> needs = spmd::ownedRanges(mesh, shapeOf(to), target, device);
    if (llvm::any_of(needs, [](const spmd::ShardRange &range) { return range.size == 0; }))
      continue;
    SmallVector<int64_t> own;
    for (size_t d = 0; d < has.size(); ++d) {
      own.push_back(needs[d].start + shift[d] - has[d].start);
      bool isHere = own[d] >= 0 && own[d] + needs[d].size <= has[d].size &&
                    own[d] + localTo.getDimSize(d) <= localFrom.getDimSize(d);
      if (!isHere)
        return std::nullopt;
    }
    if (start && *start != own)
      return std::nullopt;
    start = std::move(own);
  }
  return start;
}

/// The whole axes of which either sharding names a part.
AxesAttr getNamedAxes(ArrayType from, ArrayType to, MeshAttr meshAttr) {
  MLIRContext *context = from.getContext();
  SmallVector<AxisRefAttr> axes;
  for (const spmd::MeshAxis &axis : meshAttr.toValue().axes) {
    auto isNamed = [&](ArrayType type) {
      return llvm::any_of(type.getShardingOrOpen().getDims(), [&](DimShardingAttr dim) {
        return llvm::any_of(dim.getAxes(), [&](AxisRefAttr ref) { return ref.getName() == axis.name; });
      });
    };
    if (isNamed(from) || isNamed(to))
      axes.push_back(AxisRefAttr::get(context, axis.name, 1, 0));
  }
  return AxesAttr::get(context, axes);
}

/// What lies outside of the operand is zero after an exchange; here it becomes the scalar that it should be.
Value fillOutside(OpBuilder &builder, Location loc, Value moved, Value fill, ArrayType from, ArrayType to,
                  ArrayRef<int64_t> shift) {
  LocalBuilder local(builder, loc);
  ArrayRef<int64_t> shape = arrayTypeOf(moved).getShape();
  Value isInside;
  for (int64_t d = 0; d < to.getRank(); ++d) {
    if (shift[d] >= 0 && to.getDimSize(d) + shift[d] <= from.getDimSize(d))
      continue;
    // Positions in the operand.
    Value first = local.add(local.shardStart(to.getDimSize(d), to.getShardingOrOpen().getDims()[d].getAxes()),
                            local.splat({}, shift[d]));
    Value mask = local.isWithin(local.countFrom(first, shape[d]), local.splat({}, from.getDimSize(d)));
    mask = local.broadcast(mask, shape, {d});
    isInside = isInside ? builder.create<AndOp>(loc, isInside, mask).getResult() : mask;
  }
  return isInside ? local.select(isInside, moved, local.broadcast(fill, shape)) : moved;
}

/// Zero as an exchange makes it: +0.
bool isPlainZero(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant || constant.getValue().getNumElements() != 1)
    return false;
  if (isa<FloatType>(constant.getValue().getElementType()))
    return constant.getValue().getSplatValue<APFloat>().isPosZero();
  return constant.getValue().getSplatValue<APInt>().isZero();
}

} // namespace

bool needsExchange(const ShardingRule &rule, ArrayType from, ArrayType to) {
  spmd::Sharding source = from.getShardingOrOpen().toValue(), target = to.getShardingOrOpen().toValue();
  for (size_t d = 0; d < source.dims.size(); ++d) {
    bool isCut = !source.dims[d].empty();
    if (source.dims[d] != target.dims[d] || (isCut && !canCut(rule.factors[rule.operands[0][d][0]])))
      return true;
  }
  return false;
}

Value buildShiftedExchange(OpBuilder &builder, ShardingRuleOpInterface op, ValueRange operands, ArrayType from,
                           MeshAttr mesh) {
  Location loc = op->getLoc();
  auto to = cast<ArrayType>(op->getResult(0).getType());
  ArrayType local = to.getLocal(mesh);
  SmallVector<int64_t> shift = *op.getShift();
  if (std::optional<SmallVector<int64_t>> start = getLocalStart(from, to, shift, mesh)) {
    SmallVector<int64_t> limits, strides(local.getRank(), 1);
    for (auto [begin, size] : llvm::zip(*start, local.getShape()))
      limits.push_back(begin + size);
    return builder.create<SliceOp>(loc, local, operands[0], *start, limits, strides);
  }
  std::string why =
      (op->getName().stripDialect() + " takes " + from.str() + " to " + to.str() +
       ": devices send one another the elements that their pieces do not share" + whyForCondition(op->getResult(0)))
          .str();
  Value moved =
      builder.create<ExchangeOp>(loc, local, operands[0], getNamedAxes(from, to, mesh), TypeAttr::get(from),
                                 TypeAttr::get(to), builder.getDenseI64ArrayAttr(shift), builder.getStringAttr(why));
  if (operands.size() < 2 || isPlainZero(op->getOperand(1)))
    return moved;
  return fillOutside(builder, loc, moved, operands[1], from, to, shift);
}

} // namespace spmdc
