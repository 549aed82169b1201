//===- WarnReplication.cpp - no silent gathering of whole arrays ----------===//

#include "ir/array/ArrayOps.h"
#include "ir/spmd/Location.h"
#include "passes/partition/Passes.h"
#include "runtime/support/ByteText.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_WARNREPLICATION
#include "passes/partition/Passes.h.inc"

namespace {

bool isCut(ArrayType type) {
  return llvm::any_of(type.getShardingOrOpen().getDims(), [](DimShardingAttr dim) { return !dim.getAxes().empty(); });
}

/// Whether the operation gives arrays that lie whole on every device, of at least as many elements.
bool givesWhole(Operation *op, int64_t elements) {
  return op->getNumResults() && llvm::all_of(op->getResultTypes(), [&](Type type) {
           auto array = dyn_cast<ArrayType>(type);
           return array && !isCut(array) && array.getNumElements() >= elements;
         });
}

/// Whether all that is computed of the array is as large, lies whole, and ends in values of which a person wrote so.
bool isForWrittenWhole(ReshardOp gathered) {
  llvm::SetVector<Operation *> makers;
  auto addUsers = [&](Operation *op) {
    for (Operation *user : op->getUsers())
      makers.insert(user->hasTrait<OpTrait::IsTerminator>() ? user->getParentOp() : user);
    return !op->use_empty();
  };
  if (!addUsers(gathered))
    return false;
  for (size_t i = 0; i < makers.size(); ++i) {
    Operation *maker = makers[i];
    if (!givesWhole(maker, gathered.getType().getNumElements()))
      return false;
    // What a region does with an array is not all to be seen in its results.
    if (!getMark(maker->getLoc()) && (maker->getNumRegions() || !addUsers(maker)))
      return false;
  }
  return true;
}

class WarnReplicationPass : public impl::WarnReplicationBase<WarnReplicationPass> {
public:
  using WarnReplicationBase::WarnReplicationBase;

private:
  void runOnOperation() override {
    getOperation().walk([&](ReshardOp op) {
      ArrayType from = op.getOperand().getType(), to = op.getType();
      if (!isCut(from) || isCut(to) || !to.getShardingOrOpen().getUnreduced().empty() || to.getBytes() < minBytes)
        return;
      MeshAttr mesh = getMesh(op);
      if (from.getLocal(mesh).getShape() == to.getLocal(mesh).getShape())
        return; // Over axes of one device.
      // The annotation of a constraint or of what is returned, or of what is computed of it.
      if (getMark(op.getLoc()) || isForWrittenWhole(op))
        return;
      std::string bytes = spmd::bytesText(static_cast<double>(to.getBytes()));
      std::string why = op.getWhy() ? ": " + op.getWhy()->str() : "";
      emitWarning(op.getLoc()) << from.str() << " is gathered whole onto every device, " << bytes << " each" << why;
    });
  }
};

} // namespace
} // namespace spmdc
