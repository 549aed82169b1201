//===- ArrayShardingRules.cpp - sharding rules of array operations --------===//
//
// The sharding rule of every operation that is not element-wise, the padding values of reductions over uneven
// dimensions, and the local form of operations whose attributes contain sizes.
//
//===----------------------------------------------------------------------===//

#include "ir/array/LocalBuilder.h"
#include "ir/array/ScalarEvaluation.h"

#include <numeric>

using namespace mlir;

namespace spmdc {
namespace {

/// Identity factors for the dimensions of a shape, appended to the rule.
ValueFactors addFactors(ShardingRule &rule, ArrayRef<int64_t> shape, FactorKind kind = FactorKind::PassThrough) {
  ValueFactors value;
  for (int64_t size : shape)
    value.push_back({rule.addFactor(size, kind)});
  return value;
}

/// True if the sizes of two dimensions are so close that most elements which move between them stay on their device.
bool isComparable(int64_t x, int64_t y) { return std::min(x, y) > 1 && 8 * std::min(x, y) >= std::max(x, y); }

/// The role of a dimension in an operation.
enum class DimRole { PassesThrough, IsReplicated, Moves };

/// The rule of an operation whose operand and result agree in all dimensions that pass through. Dimensions along which
/// elements move get the same sharding, too, so that adjacent elements stay on one device, unless one is a small part
/// of the other: then both are replicated. Each element of the result stands for `scale` elements of the operand, which
/// are `dilation` apart.
ShardingRule movementRule(ArrayType operand, ArrayType result, function_ref<DimRole(int64_t)> roleOf,
                          ArrayRef<int64_t> scales = {}, ArrayRef<int64_t> dilations = {}) {
  ShardingRule rule;
  ValueFactors from, to;
  for (int64_t d = 0; d < operand.getRank(); ++d) {
    int64_t before = operand.getDimSize(d), after = result.getDimSize(d);
    DimRole role = roleOf(d);
    int64_t scale = scales.empty() ? 1 : scales[d], dilation = dilations.empty() ? 1 : dilations[d];
    if (role == DimRole::Moves && !isComparable(before / scale * dilation, after))
      role = DimRole::IsReplicated;
    if (role == DimRole::IsReplicated) {
      from.push_back({rule.addFactor(before, FactorKind::NeedReplication)});
      to.push_back({rule.addFactor(after, FactorKind::NeedReplication)});
      continue;
    }
    bool moves = role == DimRole::Moves;
    from.push_back({rule.addFactor(after, moves ? FactorKind::Permutation : FactorKind::PassThrough)});
    to.push_back(from.back());
  }
  rule.operands.push_back(from);
  rule.results.push_back(to);
  return rule;
}

/// Moves in which every element keeps its position.
std::vector<spmd::DimMove> identityMoves(ArrayType type) {
  std::vector<spmd::DimMove> dims;
  for (int64_t size : type.getShape())
    dims.push_back({0, 1, 0, size});
  return dims;
}

} // namespace

ShardingRule ConstantOp::getShardingRule() {
  // Each device materializes a splat in any sharding; another constant is replicated and sliced without communication.
  bool isSplat = cast<DenseElementsAttr>(getValue()).isSplat();
  ShardingRule rule;
  rule.results.push_back(
      addFactors(rule, getType().getShape(), isSplat ? FactorKind::PassThrough : FactorKind::NeedReplication));
  return rule;
}

Value ConstantOp::createLocal(OpBuilder &builder, ValueRange, ArrayType, ArrayType localResult) {
  auto value = cast<DenseElementsAttr>(getValue());
  if (localResult.getShape() == getType().getShape())
    return builder.create<ConstantOp>(getLoc(), localResult, value);
  return builder.create<ConstantOp>(getLoc(), localResult, value.resizeSplat(localResult.getTensorType()));
}

ShardingRule IotaOp::getShardingRule() {
  ShardingRule rule;
  rule.results.push_back(addFactors(rule, getType().getShape()));
  return rule;
}

Value IotaOp::createLocal(OpBuilder &builder, ValueRange, ArrayType globalResult, ArrayType localResult) {
  ShardingAttr sharding = globalResult.getShardingOrOpen();
  ArrayRef<AxisRefAttr> axes = sharding.getDims()[getDim()].getAxes();
  if (axes.empty())
    return builder.create<IotaOp>(getLoc(), localResult, getDimAttr());
  // Counts in integers and converts at the end: position + start in a narrow float would be rounded twice.
  int64_t size = globalResult.getDimSize(getDim());
  ArrayType counts = localResult.withElementType(getPositionType(getContext(), size));
  LocalBuilder local(builder, getLoc());
  Value position = local.offset(builder.create<IotaOp>(getLoc(), counts, getDimAttr()), local.shardStart(size, axes));
  return counts == localResult ? position : builder.create<ConvertOp>(getLoc(), localResult, position);
}

ShardingRule BroadcastInDimOp::getShardingRule() {
  ShardingRule rule;
  ValueFactors result = addFactors(rule, getType().getShape()), operand;
  for (auto [index, dim] : llvm::enumerate(getDims())) {
    bool isRepeated = getOperand().getType().getDimSize(index) != getType().getDimSize(dim);
    operand.push_back(isRepeated ? DimFactors() : result[dim]);
  }
  rule.operands.push_back(operand);
  rule.results.push_back(result);
  return rule;
}

ShardingRule ReshapeOp::getShardingRule() {
  // Iterates over both shapes from the major end and splits off common factors. If the remaining sizes have no common
  // divisor (6, 4 against 4, 6 after the common 2), all dimensions up to the next point where the products agree must
  // be replicated.
  ShardingRule rule;
  ArrayRef<int64_t> from = getOperand().getType().getShape(), to = getType().getShape();
  ValueFactors operand(from.size()), result(to.size());
  size_t i = 0, j = 0;
  int64_t in = 1, out = 1; // the remaining sizes of dimensions i - 1 and j - 1
  auto addReplicated = [&](DimFactors &dim, int64_t size) {
    if (size > 1)
      dim.push_back(rule.addFactor(size, FactorKind::NeedReplication));
  };
  if (getType().getNumElements() == 0) {
    for (size_t d = 0; d < from.size(); ++d)
      addReplicated(operand[d], from[d]);
    for (size_t d = 0; d < to.size(); ++d)
      addReplicated(result[d], to[d]);
    rule.operands.push_back(operand);
    rule.results.push_back(result);
    return rule;
  }
  while (true) {
    while (in == 1 && i < from.size())
      in = from[i++];
    while (out == 1 && j < to.size())
      out = to[j++];
    if (in == 1 && out == 1)
      break;
    int64_t common = std::gcd(in, out);
    if (common > 1) {
      int64_t factor = rule.addFactor(common);
      operand[i - 1].push_back(factor);
      result[j - 1].push_back(factor);
      in /= common;
      out /= common;
      continue;
    }
    int64_t inProduct = in, outProduct = out;
    addReplicated(operand[i - 1], in);
    addReplicated(result[j - 1], out);
    while (inProduct != outProduct) {
      if (inProduct < outProduct) {
        addReplicated(operand[i], from[i]);
        inProduct *= from[i++];
      } else {
        addReplicated(result[j], to[j]);
        outProduct *= to[j++];
      }
    }
    in = out = 1;
  }
  rule.operands.push_back(operand);
  rule.results.push_back(result);
  return rule;
}

ShardingRule TransposeOp::getShardingRule() {
  ShardingRule rule;
  ValueFactors operand = addFactors(rule, getOperand().getType().getShape()), result;
  for (int64_t dim : getPerm())
    result.push_back(operand[dim]);
  rule.operands.push_back(operand);
  rule.results.push_back(result);
  return rule;
}

ShardingRule SliceOp::getShardingRule() {
  ArrayType operand = getOperand().getType();
  auto roleOf = [&](int64_t d) {
    bool coversDim = getStarts()[d] == 0 && getLimits()[d] == operand.getDimSize(d) && getStrides()[d] == 1;
    return coversDim ? DimRole::PassesThrough : DimRole::Moves;
  };
  return movementRule(operand, getType(), roleOf, getStrides());
}

ArrayMoves SliceOp::getMoves() {
  std::vector<spmd::DimMove> dims = identityMoves(getType());
  for (size_t d = 0; d < dims.size(); ++d) {
    dims[d].shift = getStarts()[d];
    dims[d].stride = getStrides()[d];
  }
  return {{{getOperand(), dims}}, Value()};
}

/// For a kernel, copies of one array are a broadcast: no selection of an operand for each element.
Value ConcatenateOp::createLocal(OpBuilder &builder, ValueRange operands, ArrayType, ArrayType localResult) {
  if (operands.size() == 1 || !llvm::all_equal(operands))
    return builder.create<ConcatenateOp>(getLoc(), localResult, operands, getDim());
  auto type = cast<ArrayType>(operands.front().getType());
  SmallVector<int64_t> spread(type.getShape()), dims;
  spread.insert(spread.begin() + getDim(), static_cast<int64_t>(operands.size()));
  for (int64_t dim = 0; dim < static_cast<int64_t>(spread.size()); ++dim)
    if (dim != static_cast<int64_t>(getDim()))
      dims.push_back(dim);
  Value copies = builder.create<BroadcastInDimOp>(getLoc(), type.withShape(spread), operands.front(), dims);
  return builder.create<ReshapeOp>(getLoc(), localResult, copies);
}

Value SliceOp::createLocal(OpBuilder &builder, ValueRange operands, ArrayType, ArrayType localResult) {
  ArrayType global = getOperand().getType(), local = cast<ArrayType>(operands[0].getType());
  SmallVector<int64_t> limits(getLimits());
  for (int64_t d = 0; d < global.getRank(); ++d)
    if (local.getDimSize(d) != global.getDimSize(d))
      limits[d] = local.getDimSize(d);
  return builder.create<SliceOp>(getLoc(), localResult, operands[0], getStarts(), limits, getStrides());
}

ShardingRule PadOp::getShardingRule() {
  auto roleOf = [&](int64_t d) {
    bool coversDim = getLow()[d] == 0 && getHigh()[d] == 0 && getInterior()[d] == 0;
    return coversDim ? DimRole::PassesThrough : DimRole::Moves;
  };
  SmallVector<int64_t> dilations;
  for (int64_t interior : getInterior())
    dilations.push_back(interior + 1);
  ShardingRule rule = movementRule(getOperand().getType(), getType(), roleOf, {}, dilations);
  rule.operands.emplace_back();
  return rule;
}

ArrayMoves PadOp::getMoves() {
  std::vector<spmd::DimMove> dims = identityMoves(getType());
  for (size_t d = 0; d < dims.size(); ++d) {
    dims[d].shift = -getLow()[d];
    dims[d].dilation = getInterior()[d] + 1;
  }
  return {{{getOperand(), dims}}, getValue()};
}

ShardingRule ConcatenateOp::getShardingRule() {
  ShardingRule rule;
  auto joined = static_cast<int64_t>(getDim());
  ValueFactors result;
  for (int64_t d = 0; d < getType().getRank(); ++d)
    result.push_back(
        {rule.addFactor(getType().getDimSize(d), d == joined ? FactorKind::Permutation : FactorKind::PassThrough)});
  for (Value operand : getOperands()) {
    int64_t size = cast<ArrayType>(operand.getType()).getDimSize(joined);
    ValueFactors &factors = rule.operands.emplace_back(result);
    // Single elements and other small operands are replicated.
    if (!isComparable(size * static_cast<int64_t>(getOperands().size()), getType().getDimSize(joined)) || size <= 1)
      factors[joined] = {rule.addFactor(size, FactorKind::NeedReplication)};
  }
  rule.results.push_back(result);
  return rule;
}

ArrayMoves ConcatenateOp::getMoves() {
  ArrayMoves moves;
  int64_t offset = 0;
  for (Value operand : getOperands()) {
    std::vector<spmd::DimMove> dims = identityMoves(getType());
    int64_t size = cast<ArrayType>(operand.getType()).getDimSize(getDim());
    dims[getDim()] = {-offset, 1, offset, offset + size};
    moves.parts.push_back({operand, dims});
    offset += size;
  }
  return moves;
}

ShardingRule ReverseOp::getShardingRule() {
  return movementRule(getOperand().getType(), getType(), [&](int64_t d) {
    return llvm::is_contained(getDims(), d) ? DimRole::Moves : DimRole::PassesThrough;
  });
}

ArrayMoves ReverseOp::getMoves() {
  std::vector<spmd::DimMove> dims = identityMoves(getType());
  for (int64_t d : getDims())
    dims[d] = {getType().getDimSize(d) - 1, -1, 0, getType().getDimSize(d)};
  return {{{getOperand(), dims}}, Value()};
}

ShardingRule DotGeneralOp::getShardingRule() {
  ShardingRule rule;
  ArrayType lhs = getLhs().getType(), rhs = getRhs().getType();
  ValueFactors left(lhs.getRank()), right(rhs.getRank()), result;
  for (auto [l, r] : llvm::zip(getLhsBatch(), getRhsBatch())) {
    left[l] = right[r] = {rule.addFactor(lhs.getDimSize(l))};
    result.push_back(left[l]);
  }
  for (int64_t dim : getLhsFreeDims()) {
    left[dim] = {rule.addFactor(lhs.getDimSize(dim))};
    result.push_back(left[dim]);
  }
  for (int64_t dim : getRhsFreeDims()) {
    right[dim] = {rule.addFactor(rhs.getDimSize(dim))};
    result.push_back(right[dim]);
  }
  for (auto [l, r] : llvm::zip(getLhsContract(), getRhsContract()))
    left[l] = right[r] = {rule.addFactor(lhs.getDimSize(l), FactorKind::Reduction)};
  rule.operands = {left, right};
  rule.results = {result};
  return rule;
}

TypedAttr DotGeneralOp::getPaddingValue(unsigned operand) {
  // Both sides: 0 times what the other side's padding may hold (infinity, NaN) is not 0.
  return scalarAttr(getLhs().getType().getElementType(), Scalar());
}

ShardingRule ReduceOp::getShardingRule() {
  ShardingRule rule;
  ValueFactors operand, result;
  for (int64_t d = 0; d < getOperand().getType().getRank(); ++d) {
    bool isReduced = llvm::is_contained(getDims(), d);
    operand.push_back({rule.addFactor(getOperand().getType().getDimSize(d),
                                      isReduced ? FactorKind::Reduction : FactorKind::PassThrough)});
    if (!isReduced)
      result.push_back(operand.back());
  }
  rule.operands.push_back(operand);
  rule.results.push_back(result);
  return rule;
}

ReductionKind ReduceOp::getReductionKind() { return getKind(); }

TypedAttr ReduceOp::getPaddingValue(unsigned) {
  Type elementType = getOperand().getType().getElementType();
  return scalarAttr(elementType, getReductionIdentity(elementType, getKind()));
}

} // namespace spmdc
