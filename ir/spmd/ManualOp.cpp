//===- ManualOp.cpp - pieces of a program that a person wrote per device --===//

#include "ir/spmd/SpmdOps.h"

using namespace mlir;

namespace spmdc {

/// Closed, whole on no partial sums, and cut evenly: a piece has no padding.
static LogicalResult verifySharded(ManualOp op, Type type, const Twine &what) {
  auto array = cast<ArrayType>(type);
  ShardingAttr sharding = array.getSharding();
  if (!sharding && array.getRank() == 0)
    return success();
  if (!sharding || !llvm::all_of(sharding.getDims(), [](DimShardingAttr dim) { return dim.getIsClosed(); }))
    return op.emitOpError() << what << " is " << array.str() << "; its sharding must be closed";
  if (!sharding.getUnreduced().empty())
    return op.emitOpError() << what << " is " << array.str() << ", a partial sum";
  spmd::MeshShape mesh = getMesh(op).toValue();
  for (auto [dim, axes] : llvm::enumerate(sharding.toValue().dims)) {
    int64_t pieces = 1;
    for (const spmd::AxisRef &axis : axes)
      pieces *= axis.sizeIn(mesh);
    if (array.getDimSize(dim) % pieces)
      return op.emitOpError() << what << " is " << array.str() << "; " << pieces << " devices do not divide dimension "
                              << dim;
  }
  return success();
}

LogicalResult ManualOp::verify() {
  for (auto [index, input] : llvm::enumerate(getInputs()))
    if (failed(verifySharded(*this, input.getType(), "operand " + Twine(index))))
      return failure();
  for (auto [index, output] : llvm::enumerate(getOutputs()))
    if (failed(verifySharded(*this, output.getType(), "result " + Twine(index))))
      return failure();
  return success();
}

LogicalResult ManualOp::verifyRegions() {
  MeshAttr mesh = getMesh(*this);
  Block &block = getBlock();
  if (block.getNumArguments() != getInputs().size())
    return emitOpError() << "has " << getInputs().size() << " operands, its body takes " << block.getNumArguments();
  for (auto [argument, input] : llvm::zip(block.getArguments(), getInputs()))
    if (ArrayType piece = cast<ArrayType>(input.getType()).getLocal(mesh); piece != argument.getType())
      return emitOpError() << "body takes " << cast<ArrayType>(argument.getType()).str() << " for a piece "
                           << piece.str();
  auto yield = dyn_cast<ManualYieldOp>(block.getTerminator());
  if (!yield || yield.getValues().size() != getNumResults())
    return emitOpError() << "body yields one value for each of " << getNumResults() << " results";
  for (auto [value, output] : llvm::zip(yield.getValues(), getOutputs()))
    if (ArrayType piece = cast<ArrayType>(output.getType()).getLocal(mesh); piece != value.getType())
      return emitOpError() << "body yields " << cast<ArrayType>(value.getType()).str() << " for a piece "
                           << piece.str();
  return success();
}

} // namespace spmdc
