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

/// Whether devices hold different pieces of the array: an axis of one device cuts nothing.
bool isCut(ArrayType type, MeshAttr mesh) {
  return llvm::any_of(type.getShardingOrOpen().getDims(), [&](DimShardingAttr dim) {
    return llvm::any_of(dim.getAxes(), [&](AxisRefAttr axis) { return axis.toValue().sizeIn(mesh.toValue()) > 1; });
  });
}

bool namesAxes(ArrayType type) {
  return llvm::any_of(type.getShardingOrOpen().getDims(), [](DimShardingAttr dim) { return !dim.getAxes().empty(); });
}

/// Whether the operation gives arrays that are to lie whole on every device of any mesh, of at least as many elements.
bool givesWhole(Operation *op, int64_t elements) {
  return op->getNumResults() && llvm::all_of(op->getResultTypes(), [&](Type type) {
           auto array = dyn_cast<ArrayType>(type);
           return array && !namesAxes(array) && array.getNumElements() >= elements;
         });
}

/// Whether a person wrote how the operation's result is to lie. Where that is brought elsewhere for the same
/// annotation, what was written is how the reshard's result lies.
bool isWritten(Operation *op) {
  std::optional<Location> mark = getMark(op->getLoc());
  return mark && llvm::none_of(op->getUsers(), [&](Operation *user) {
           return isa<ReshardOp>(user) && getMark(user->getLoc()) == mark;
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
    if (!isWritten(maker) && (maker->getNumRegions() || !addUsers(maker)))
      return false;
  }
  return true;
}

/// Between the groups of a shard_map over some of the axes pieces differ: a group is the devices that share a piece.
std::string groupOf(Operation *op) {
  spmd::MeshShape mesh = getMesh(op).toValue(), shared = getAutomaticMesh(op);
  if (shared.deviceCount() == mesh.deviceCount())
    return "";
  std::string names;
  for (const spmd::MeshAxis &axis : shared.axes)
    if (axis.size > 1)
      names += (names.empty() ? "" : ", ") + axis.name;
  return " of each group along " + names;
}

struct Gathered {
  ReshardOp first;
  int count = 1;
};

/// Whether the same is to be said of both, of one place: of a function's that is called twice, or of two operands.
bool isSaidWith(ReshardOp a, ReshardOp b) {
  auto place = [](ReshardOp op) { return getSourcePosition(op.getLoc()); };
  bool isOnePlace = a.getLoc() == b.getLoc() || (place(a) && place(b) && place(a)->str() == place(b)->str());
  return isOnePlace && a.getOperand().getType() == b.getOperand().getType() && a.getWhyAttr() == b.getWhyAttr();
}

class WarnReplicationPass : public impl::WarnReplicationBase<WarnReplicationPass> {
public:
  using WarnReplicationBase::WarnReplicationBase;

private:
  void runOnOperation() override {
    std::vector<Gathered> gathered;
    getOperation().walk([&](ReshardOp op) {
      ArrayType from = op.getOperand().getType(), to = op.getType();
      MeshAttr mesh = getMesh(op);
      if (!isCut(from, mesh) || isCut(to, mesh) || !to.getShardingOrOpen().getUnreduced().empty() ||
          to.getBytes() < minBytes)
        return;
      // The annotation of a constraint or of what is returned, or of what is computed of it.
      if (!namesAxes(to) && (isWritten(op) || isForWrittenWhole(op)))
        return;
      auto known = llvm::find_if(gathered, [&](const Gathered &other) { return isSaidWith(op, other.first); });
      if (known == gathered.end())
        gathered.push_back({op});
      else
        ++known->count;
    });
    for (const Gathered &arrays : gathered)
      warn(arrays.first, arrays.count);
  }

  static void warn(ReshardOp op, int count) {
    ArrayType array = op.getOperand().getType();
    std::string arrays = count == 1 ? array.str() + " is" : std::to_string(count) + " arrays " + array.str() + " are";
    std::string bytes = spmd::bytesText(static_cast<double>(array.getBytes()));
    std::string why = op.getWhy() ? ": " + op.getWhy()->str() : "";
    emitWarning(op.getLoc()) << arrays << " gathered whole onto every device" << groupOf(op) << ", " << bytes << " each"
                             << why;
  }
};

} // namespace
} // namespace spmdc
