//===- WarnReplication.cpp - no silent gathering of whole arrays ----------===//

#include "ir/array/ArrayOps.h"
#include "ir/spmd/Location.h"
#include "passes/partition/Passes.h"
#include "runtime/support/ByteText.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_WARNREPLICATION
#include "passes/partition/Passes.h.inc"

namespace {

bool isCut(ArrayType type) {
  return llvm::any_of(type.getShardingOrOpen().getDims(), [](DimShardingAttr dim) { return !dim.getAxes().empty(); });
}

/// Whether a person wrote that the result of the operation lies whole on every device.
bool isWrittenWhole(Operation *op) {
  return getMark(op->getLoc()) && llvm::all_of(op->getResultTypes(), [](Type type) {
           auto array = dyn_cast<ArrayType>(type);
           return array && !isCut(array);
         });
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
      // The annotation of a constraint, of the value that an operation makes of it, or of what is returned.
      if (getMark(op.getLoc()) || (!op->use_empty() && llvm::all_of(op->getUsers(), isWrittenWhole)))
        return;
      std::string bytes = spmd::bytesText(static_cast<double>(to.getBytes()));
      std::string why = op.getWhy() ? ": " + op.getWhy()->str() : "";
      emitWarning(op.getLoc()) << from.str() << " is gathered whole onto every device, " << bytes << " each" << why;
    });
  }
};

} // namespace
} // namespace spmdc
