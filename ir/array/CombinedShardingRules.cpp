//===- CombinedShardingRules.cpp - scans on sharded dimensions ------------===//
//
// cumulative and arg_reduce along a sharded dimension: each device computes its shard, and the devices exchange as much
// data as one element of that dimension has, not the entire array.
//
//===----------------------------------------------------------------------===//

#include "ir/array/LocalBuilder.h"
#include "ir/array/ScalarEvaluation.h"
#include "ir/spmd/ReducePrecision.h"
#include "runtime/sharding/RingBytes.h"

using namespace mlir;

namespace spmdc {
namespace {

/// `NAME runs along a dimension sharded over 'a': WHAT`.
StringAttr reason(OpBuilder &b, StringRef name, AxesAttr axes, StringRef what) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << name << " runs along a dimension sharded over " << spmd::quotedNames(axes.toValues()) << ": " << what;
  return b.getStringAttr(text);
}

} // namespace

//===----------------------------------------------------------------------===//
// arg_reduce
//===----------------------------------------------------------------------===//

ShardingRule ArgReduceOp::getShardingRule() {
  ShardingRule rule;
  ValueFactors operand, result;
  for (int64_t d = 0; d < getOperand().getType().getRank(); ++d) {
    bool isReduced = d == static_cast<int64_t>(getDim());
    operand.push_back({rule.addFactor(getOperand().getType().getDimSize(d),
                                      isReduced ? FactorKind::Combined : FactorKind::PassThrough)});
    if (!isReduced)
      result.push_back(operand.back());
  }
  rule.operands.push_back(operand);
  rule.results.push_back(result);
  return rule;
}

TypedAttr ArgReduceOp::getPaddingValue(unsigned) {
  Type elementType = getOperand().getType().getElementType();
  return scalarAttr(elementType,
                    getReductionIdentity(elementType, getIsMax() ? ReductionKind::max : ReductionKind::min));
}

double ArgReduceOp::getCombiningBytes(int64_t group, ArrayType localResult) {
  // Two all_reduces: one for the extreme element, one for its index.
  auto elements = static_cast<double>(localResult.getNumElements());
  auto bytes =
      static_cast<double>(spmd::byteSize(getOperand().getType().getDType()) + spmd::byteSize(localResult.getDType()));
  return spmd::allReduceBytes(static_cast<double>(group), elements * bytes);
}

Value ArgReduceOp::createLocal(OpBuilder &b, ValueRange operands, ArrayType, ArrayType localResult) {
  auto dim = static_cast<int64_t>(getDim());
  Value x = operands[0];
  Value index = b.create<ArgReduceOp>(getLoc(), localResult, x, getIsMax(), getDim());
  AxesAttr axes = AxesAttr::get(getContext(), axesOf(getOperand(), dim));
  if (axes.getAxes().empty())
    return index;
  // The first device with the extreme element contributes its index; the index of every other device is too large.
  LocalBuilder local(b, getLoc());
  ReductionKind kind = getIsMax() ? ReductionKind::max : ReductionKind::min;
  Value own = createReduce(b, getLoc(), x, kind, {dim});
  Value all = b.create<AllReduceOp>(getLoc(), own.getType(), own, kind, axes,
                                    reason(b, "arg_reduce", axes, "the devices find the extreme element"));
  Value isHere = local.compare(own, all, ComparisonDirection::eq);
  if (isa<FloatType>(getOperand().getType().getElementType())) {
    Value isNan = b.create<AndOp>(getLoc(), local.compare(own, own, ComparisonDirection::ne),
                                  local.compare(all, all, ComparisonDirection::ne));
    isHere = b.create<OrOp>(getLoc(), isHere, isNan);
  }
  // Positions of a long dimension are i64 in the program already: `holdsPositions`.
  Value start =
      b.create<ShardStartOp>(getLoc(), localResult.withShape({}), getOperand().getType().getDimSize(dim), axes);
  index = local.offset(index, start);
  Value answer =
      local.select(isHere, index,
                   b.create<ConstantOp>(getLoc(), localResult,
                                        getReductionIdentity(localResult.getElementType(), ReductionKind::min)));
  return b.create<AllReduceOp>(
      getLoc(), localResult, answer, ReductionKind::min, axes,
      reason(b, "arg_reduce", axes, "the devices find the first index of the extreme element"));
}

//===----------------------------------------------------------------------===//
// cumulative
//===----------------------------------------------------------------------===//

ShardingRule CumulativeOp::getShardingRule() {
  ShardingRule rule;
  ValueFactors value;
  auto dim = static_cast<int64_t>(getDim());
  for (int64_t d = 0; d < getType().getRank(); ++d) {
    FactorKind kind = d == dim ? FactorKind::Combined : FactorKind::PassThrough;
    if (getContinued() && (d == dim || d + 1 == dim))
      kind = FactorKind::NeedReplication;
    value.push_back({rule.addFactor(getType().getDimSize(d), kind)});
  }
  rule.operands.push_back(value);
  rule.results.push_back(value);
  return rule;
}

TypedAttr CumulativeOp::getPaddingValue(unsigned) {
  Type elementType = getType().getElementType();
  // The neutral value of a float sum is -0: -0 + x is x, for -0 too.
  bool isFloatSum = getKind() == ReductionKind::sum && isa<FloatType>(elementType);
  return scalarAttr(elementType, isFloatSum ? Scalar::ofFloat(-0.0) : getReductionIdentity(elementType, getKind()));
}

double CumulativeOp::getCombiningBytes(int64_t group, ArrayType localResult) {
  int64_t size = std::max<int64_t>(1, localResult.getDimSize(getDim()));
  // The total of a shard is sent before it is rounded.
  if (isHalfFloat(localResult.getElementType()))
    localResult = localResult.withElementType(Float32Type::get(getContext()));
  auto total = static_cast<double>(localResult.getBytes() / size), count = static_cast<double>(group);
  return spmd::gatherBytes(count, count * total);
}

Value CumulativeOp::createLocal(OpBuilder &b, ValueRange operands, ArrayType, ArrayType localResult) {
  auto dim = static_cast<int64_t>(getDim());
  AxesAttr axes = AxesAttr::get(getContext(), axesOf(getOperand(), dim));
  int64_t size = localResult.getDimSize(dim);
  if (axes.getAxes().empty() || size == 0)
    return b.create<CumulativeOp>(getLoc(), localResult, operands[0], getKind(), getDim(), getReversed(),
                                  getContinued());
  LocalBuilder local(b, getLoc());
  // Half precision is rounded once, at the end.
  bool isNarrow = isHalfFloat(localResult.getElementType());
  ArrayType type = isNarrow ? localResult.withElementType(b.getF32Type()) : localResult;
  Value x = isNarrow ? b.create<ConvertOp>(getLoc(), type, operands[0]).getResult() : operands[0];
  Value own = b.create<CumulativeOp>(getLoc(), type, x, getKind(), getDim(), getReversed());

  // The last element is the total of the shard, since padding has the neutral value.
  SmallVector<int64_t> starts(type.getRank(), 0), limits(type.getShape()), strides(type.getRank(), 1);
  starts[dim] = getReversed() ? 0 : size - 1;
  limits[dim] = starts[dim] + 1;
  SmallVector<int64_t> totalShape(type.getShape()), totalsShape(type.getShape());
  totalShape[dim] = 1;
  totalsShape[dim] = static_cast<int64_t>(groupSize(getMesh(getOperation()), axes));
  Value total = b.create<SliceOp>(getLoc(), type.withShape(totalShape), own, starts, limits, strides);
  Value totals =
      b.create<AllGatherOp>(getLoc(), type.withShape(totalsShape), total, dim, axes,
                            reason(b, "cumulative", axes,
                                   getReversed() ? "each device needs the totals of the shards after its own"
                                                 : "each device needs the totals of the shards before its own"));
  Value sums = b.create<CumulativeOp>(getLoc(), totals.getType(), totals, getKind(), getDim(), getReversed());

  Value index = b.create<AxisIndexOp>(getLoc(), local.indexType(), axes);
  SmallVector<Value> first(type.getRank(), local.splat({}, 0));
  first[dim] = local.clamp(local.subtract(index, local.splat({}, getReversed() ? -1 : 1)), totalsShape[dim] - 1);
  Value before = b.create<DynamicSliceOp>(getLoc(), sums, first, totalShape);
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  Value result = createCombination(b, getLoc(), getKind(), local.broadcast(before, type.getShape(), dims), own);
  Value isFirst =
      local.compare(index, local.splat({}, getReversed() ? totalsShape[dim] - 1 : 0), ComparisonDirection::eq);
  result = local.select(local.broadcast(isFirst, type.getShape()), own, result);
  return isNarrow ? b.create<ConvertOp>(getLoc(), localResult, result).getResult() : result;
}

} // namespace spmdc
