//===- CollectiveBroadcast.cpp - a broadcast from a run-time root ---------===//

#include "ir/spmd/CollectiveBroadcast.h"
#include "ir/spmd/GroupAxes.h"

#include "runtime/sharding/RingBytes.h"

using namespace mlir;

namespace spmdc {

LogicalResult CollectiveBroadcastOp::verify() {
  if (getOperand().getType() != getType())
    return emitOpError() << "result must have the operand's type: expected " << getOperand().getType().str() << ", got "
                         << getType().str();
  if (ArrayType root = getRoot().getType(); root.getRank() != 0 || !root.getElementType().isSignlessInteger(32))
    return emitOpError() << "root must be i32[], got " << root.str();
  return verifyAxes(*this, getAxes());
}

double CollectiveBroadcastOp::getWireBytes(MeshAttr mesh) {
  return spmd::broadcastBytes(groupSize(mesh, getAxes()), static_cast<double>(getType().getBytes()));
}

} // namespace spmdc

#define GET_OP_CLASSES
#include "ir/spmd/CollectiveBroadcast.cpp.inc"
