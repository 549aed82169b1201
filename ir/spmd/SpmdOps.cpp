//===- SpmdOps.cpp - constraints, resharding, collectives -----------------===//

#include "ir/spmd/SpmdOps.h"
#include "ir/spmd/GroupAxes.h"

#include "ir/spmd/ReducePrecision.h"
#include "runtime/sharding/RingBytes.h"

#include <numeric>

using namespace mlir;

namespace spmdc {
namespace {

/// "f32[8] and f32[4]": the two types of a failed check.
InFlightDiagnostic emitTypeMismatch(Operation *op, const Twine &what, ArrayType expected, ArrayType actual) {
  return op->emitOpError() << what << ": expected " << expected.str() << ", got " << actual.str();
}

LogicalResult verifySameArray(Operation *op, ArrayType operand, ArrayType result) {
  if (operand.getShape() != result.getShape() || operand.getElementType() != result.getElementType())
    return emitTypeMismatch(op, "may change only the sharding", operand.withoutSharding(), result.withoutSharding());
  return success();
}

std::vector<int64_t> axisSizes(MeshAttr mesh, AxesAttr axes) {
  spmd::MeshShape shape = mesh.toValue();
  std::vector<int64_t> sizes;
  for (const spmd::AxisRef &axis : axes.toValues())
    sizes.push_back(axis.sizeIn(shape));
  return sizes;
}

LogicalResult verifyDim(Operation *op, int64_t dim, ArrayType type) {
  if (dim < 0 || dim >= type.getRank())
    return op->emitOpError() << "has no dimension " << dim << " in " << type.str();
  return success();
}

/// Ignores shardings: they are along automatic axes of a manual region, over which the collective does not run.
bool isSameArray(ArrayType lhs, ArrayType rhs) { return lhs.withoutSharding() == rhs.withoutSharding(); }

/// The operand's type with dimension `dim` sharded over the axes.
ArrayType cut(Operation *op, ArrayType type, int64_t dim, AxesAttr axes) {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = spmd::localDimSize(shape[dim], axisSizes(getMesh(op), axes));
  return type.withShape(shape);
}

} // namespace

LogicalResult verifyAxes(Operation *op, AxesAttr axes) {
  spmd::MeshShape mesh = getMesh(op).toValue();
  for (const spmd::AxisRef &axis : axes.toValues()) {
    int index = mesh.indexOf(axis.name);
    if (index < 0)
      return op->emitOpError() << "names axis '" << axis.name << "', which the mesh does not have";
    if (!axis.isFullAxis() && mesh.axes[index].size % (axis.preSize * axis.size) != 0)
      return op->emitOpError() << "part " << axis.str() << " does not divide axis '" << axis.name << "' of size "
                               << mesh.axes[index].size;
  }
  return success();
}

double groupSize(MeshAttr mesh, AxesAttr axes) {
  double size = 1;
  for (int64_t axis : axisSizes(mesh, axes))
    size *= static_cast<double>(axis);
  return size;
}

//===----------------------------------------------------------------------===//
// Global view
//===----------------------------------------------------------------------===//

LogicalResult ConstraintOp::verify() { return verifySameArray(*this, getOperand().getType(), getType()); }

ShardingRule ConstraintOp::getShardingRule() { return ShardingRule::elementwise(getType().getShape(), 1); }

/// The cotangent of an annotated value gets the same sharding.
SmallVector<Value> ConstraintOp::buildCotangents(OpBuilder &builder, Location loc, Value cotangent, ArrayRef<bool>) {
  return {builder.create<ConstraintOp>(loc, getType(), cotangent, /*derived=*/true)};
}

LogicalResult ReshardOp::verify() {
  // A reshard that reduces partial sums rounds them, and one that creates partial sums widens them.
  ArrayType operand = getOperand().getType(), result = getType();
  if (mayHoldPartialSums(operand, result.getElementType()) || mayHoldPartialSums(result, operand.getElementType()))
    operand = operand.withElementType(result.getElementType());
  return verifySameArray(*this, operand, result);
}

ShardingRule ReshardOp::getShardingRule() { return ShardingRule::elementwise(getType().getShape(), 1); }

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

LogicalResult AllReduceOp::verify() {
  if (!isSameArray(getOperand().getType(), getType()))
    return emitTypeMismatch(*this, "result must have the operand's type", getOperand().getType(), getType());
  return verifyAxes(*this, getAxes());
}

double AllReduceOp::getWireBytes(MeshAttr mesh) {
  return spmd::allReduceBytes(groupSize(mesh, getAxes()), getType().getBytes());
}

LogicalResult AllGatherOp::verify() {
  if (failed(verifyAxes(*this, getAxes())) || failed(verifyDim(*this, getDim(), getType())))
    return failure();
  ArrayType shardType = cut(*this, getType(), getDim(), getAxes());
  if (!isSameArray(shardType, getOperand().getType()))
    return emitTypeMismatch(*this, "operand must be a shard of the result", shardType, getOperand().getType());
  return success();
}

double AllGatherOp::getWireBytes(MeshAttr mesh) {
  return spmd::gatherBytes(groupSize(mesh, getAxes()), getType().getBytes());
}

LogicalResult AllSliceOp::verify() {
  if (failed(verifyAxes(*this, getAxes())) || failed(verifyDim(*this, getDim(), getOperand().getType())))
    return failure();
  ArrayType shardType = cut(*this, getOperand().getType(), getDim(), getAxes());
  if (!isSameArray(shardType, getType()))
    return emitTypeMismatch(*this, "result must be a shard of the operand", shardType, getType());
  return success();
}

double AllSliceOp::getWireBytes(MeshAttr) { return 0; }

LogicalResult ReduceScatterOp::verify() {
  if (failed(verifyAxes(*this, getAxes())) || failed(verifyDim(*this, getDim(), getOperand().getType())))
    return failure();
  ArrayType shardType = cut(*this, getOperand().getType(), getDim(), getAxes());
  if (!isSameArray(shardType, getType()))
    return emitTypeMismatch(*this, "result must be a shard of the operand", shardType, getType());
  return success();
}

double ReduceScatterOp::getWireBytes(MeshAttr mesh) {
  return spmd::gatherBytes(groupSize(mesh, getAxes()), getOperand().getType().getBytes());
}

LogicalResult AllToAllOp::verify() {
  ArrayType operand = getOperand().getType();
  if (failed(verifyAxes(*this, getAxes())) || failed(verifyDim(*this, getSplit(), operand)) ||
      failed(verifyDim(*this, getConcat(), operand)))
    return failure();
  if (getSplit() == getConcat())
    return emitOpError("splits and concatenates the same dimension");
  if (operand.getRank() != getType().getRank())
    return emitTypeMismatch(*this, "rank", operand, getType());
  // Both sides are shards of the array in which neither dimension is sharded.
  SmallVector<int64_t> whole(operand.getShape());
  whole[getConcat()] = getType().getDimSize(getConcat());
  ArrayType globalType = operand.withShape(whole);
  if (!isSameArray(cut(*this, globalType, getConcat(), getAxes()), operand))
    return emitTypeMismatch(*this, "operand must be a shard along the concatenated dimension",
                            cut(*this, globalType, getConcat(), getAxes()), operand);
  if (!isSameArray(cut(*this, globalType, getSplit(), getAxes()), getType()))
    return emitTypeMismatch(*this, "result must be a shard along the split dimension",
                            cut(*this, globalType, getSplit(), getAxes()), getType());
  return success();
}

double AllToAllOp::getWireBytes(MeshAttr mesh) {
  return spmd::gatherBytes(groupSize(mesh, getAxes()), getOperand().getType().getBytes());
}

LogicalResult CollectivePermuteOp::verify() {
  if (!isSameArray(getOperand().getType(), getType()))
    return emitTypeMismatch(*this, "result must have the operand's type", getOperand().getType(), getType());
  if (failed(verifyAxes(*this, getAxes())))
    return failure();
  auto group = static_cast<int64_t>(groupSize(getMesh(*this), getAxes()));
  ArrayRef<int64_t> pairs = getPairs();
  if (pairs.size() % 2)
    return emitOpError("pairs must be [source, target, ...]");
  SmallVector<bool> isSource(group), isTarget(group);
  for (size_t i = 0; i < pairs.size(); ++i) {
    SmallVector<bool> &seen = i % 2 ? isTarget : isSource;
    if (pairs[i] < 0 || pairs[i] >= group)
      return emitOpError() << "position " << pairs[i] << " is outside the group of " << group;
    if (seen[pairs[i]])
      return emitOpError() << "position " << pairs[i] << " occurs twice as a " << (i % 2 ? "target" : "source");
    seen[pairs[i]] = true;
  }
  return success();
}

double CollectivePermuteOp::getWireBytes(MeshAttr mesh) {
  double senders = 0;
  ArrayRef<int64_t> pairs = getPairs();
  for (size_t i = 0; i + 1 < pairs.size(); i += 2)
    senders += pairs[i] != pairs[i + 1];
  return senders / groupSize(mesh, getAxes()) * getType().getBytes();
}

LogicalResult ExchangeOp::verify() {
  MeshAttr mesh = getMesh(*this);
  auto source = llvm::cast<ArrayType>(getGlobal()), target = llvm::cast<ArrayType>(getTarget());
  bool isReshape = source.getElementType() == target.getElementType() && source.getNumElements() > 0 &&
                   source.getNumElements() == target.getNumElements() && target.getRank() > 0;
  if (!getDimMoves() && !isReshape && source.withoutSharding() != target.withoutSharding())
    return emitTypeMismatch(*this, "must keep the elements and their order", source.withoutSharding(),
                            target.withoutSharding());
  auto rank = static_cast<size_t>(source.getRank());
  if (getDimMoves() && (source.getElementType() != target.getElementType() || target.getRank() != source.getRank() ||
                        getDimMoves()->size() != rank))
    return emitOpError() << "must give a move for each dimension and keep the element type; it maps " << source.str()
                         << " to " << target.str() << " with " << getDimMoves()->size() << " moves";
  for (auto [move, size] : llvm::zip(getMoves(), target.getShape()))
    if (move.stride == 0 || move.begin < 0 || move.begin > move.end || move.end > size)
      return emitOpError() << "moves elements " << move.begin << " to " << move.end << " of " << size << " in steps of "
                           << move.stride;
  spmd::Sharding cut = target.getShardingOrOpen().toValue();
  for (auto [move, axes, size] : llvm::zip(getMoves(), cut.dims, target.getShape())) {
    int64_t windows = 1;
    for (const spmd::AxisRef &axis : axes)
      windows *= axis.sizeIn(mesh.toValue());
    if (move.length < 0 || (move.length > 0 && move.length * windows != size))
      return emitOpError() << "splits " << size << " elements into " << windows << " windows of " << move.length;
    if (move.length > 0 && (move.stride < 0 || move.step < 0 || move.base < 0))
      return emitOpError() << "has windows with a negative stride: strided by " << move.stride << ", for " << move.base
                           << " by " << move.step;
  }
  for (auto [move, size] : llvm::zip(getMoves(), source.getShape())) {
    if (move.block < 1 || size % move.block != 0)
      return emitOpError() << "takes " << size << " elements in blocks of " << move.block;
    if (move.wraps && (move.stride != 1 || move.block != 1 || move.dilation != 1))
      return emitOpError() << "wraps around in steps of " << move.stride << " and blocks of " << move.block
                           << ", dilated by " << move.dilation;
    if (move.dilation < 1 || std::gcd(move.stride, move.dilation) != 1)
      return emitOpError() << "dilates by " << move.dilation << " in steps of " << move.stride;
  }
  ArrayType shardType = getLocalSource(mesh.toValue(), source, getMoves());
  if (shardType != getOperand().getType())
    return emitTypeMismatch(*this, "operand must be the local shard", shardType, getOperand().getType());
  if (target.getLocal(mesh) != getType())
    return emitTypeMismatch(*this, "result must be the local shard", target.getLocal(mesh), getType());
  return verifyAxes(*this, getAxes());
}

std::vector<spmd::DimMove> ExchangeOp::getMoves() {
  std::vector<spmd::DimMove> moves;
  if (std::optional<ArrayAttr> attrs = getDimMoves())
    for (auto [move, size] : llvm::zip(attrs->getAsRange<DimMoveAttr>(), llvm::cast<ArrayType>(getTarget()).getShape()))
      moves.push_back(move.toValue(size));
  return moves;
}

ArrayType getLocalSource(const spmd::MeshShape &mesh, ArrayType source, const std::vector<spmd::DimMove> &moves) {
  return ArrayType::get(spmd::localSourceShape(mesh, source.toShardedShape(), moves), source.getElementType());
}

double getExchangeBytes(const spmd::MeshShape &mesh, ArrayType source, ArrayType target,
                        const std::vector<spmd::DimMove> &moves) {
  double elements = spmd::missingElements(mesh, source.toShardedShape(), target.toShardedShape(), moves);
  return elements * static_cast<double>(spmd::byteSize(source.getDType()));
}

double ExchangeOp::getWireBytes(MeshAttr meshAttr) {
  spmd::MeshShape mesh = meshAttr.toValue();
  return getExchangeBytes(mesh, llvm::cast<ArrayType>(getGlobal()), llvm::cast<ArrayType>(getTarget()), getMoves()) /
         static_cast<double>(mesh.deviceCount());
}

//===----------------------------------------------------------------------===//
// Coordinates
//===----------------------------------------------------------------------===//

/// Verifies a scalar position along a dimension; i64 allows for long dimensions.
static LogicalResult verifyPositionScalar(Operation *op, ArrayType type, AxesAttr axes) {
  Type elementType = type.getElementType();
  if (type.getRank() != 0 || (!elementType.isSignlessInteger(32) && !elementType.isSignlessInteger(64)))
    return op->emitOpError() << "result must be i32[] or i64[], got " << type.str();
  return verifyAxes(op, axes);
}

LogicalResult ShardStartOp::verify() { return verifyPositionScalar(*this, getType(), getAxes()); }

LogicalResult ShardSizeOp::verify() { return verifyPositionScalar(*this, getType(), getAxes()); }

LogicalResult AxisIndexOp::verify() {
  if (getType().getRank() != 0 || !getType().getElementType().isSignlessInteger(32))
    return emitOpError() << "result must be i32[], got " << getType().str();
  return verifyAxes(*this, getAxes());
}

} // namespace spmdc

#define GET_OP_CLASSES
#include "ir/spmd/SpmdOps.cpp.inc"
