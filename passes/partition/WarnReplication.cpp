//===- WarnReplication.cpp - warns of arrays that become replicated -------===//

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

/// Whether devices hold different shards of the array: an axis of one device does not shard it.
bool isSharded(ArrayType type, MeshAttr mesh) {
  return llvm::any_of(type.getShardingOrOpen().getDims(), [&](DimShardingAttr dim) {
    return llvm::any_of(dim.getAxes(), [&](AxisRefAttr axis) { return axis.toValue().sizeIn(mesh.toValue()) > 1; });
  });
}

bool namesAxes(ArrayType type) {
  return llvm::any_of(type.getShardingOrOpen().getDims(), [](DimShardingAttr dim) { return !dim.getAxes().empty(); });
}

/// Whether the operation's results are arrays of at least `elements` elements that are replicated on every mesh.
bool givesReplicated(Operation *op, int64_t elements) {
  return op->getNumResults() && llvm::all_of(op->getResultTypes(), [&](Type type) {
           auto array = dyn_cast<ArrayType>(type);
           return array && !namesAxes(array) && array.getNumElements() >= elements;
         });
}

/// Whether the user annotated the sharding of the operation's result. If a reshard behind it has the same annotation,
/// that is the annotation of the reshard's result instead.
bool isAnnotated(Operation *op) {
  std::optional<Location> annotation = getAnnotationRange(op->getLoc());
  return annotation && llvm::none_of(op->getUsers(), [&](Operation *user) {
           return isa<ReshardOp>(user) && getAnnotationRange(user->getLoc()) == annotation;
         });
}

/// Whether all values that are computed from the array are as large and replicated, and end in values that the user
/// annotated as replicated.
bool isForAnnotatedReplicated(ReshardOp gathered) {
  llvm::SetVector<Operation *> users;
  auto addUsers = [&](Operation *op) {
    for (Operation *user : op->getUsers())
      users.insert(user->hasTrait<OpTrait::IsTerminator>() ? user->getParentOp() : user);
    return !op->use_empty();
  };
  if (!addUsers(gathered))
    return false;
  for (size_t i = 0; i < users.size(); ++i) {
    Operation *user = users[i];
    if (!givesReplicated(user, gathered.getType().getNumElements()))
      return false;
    // The results of a region do not tell everything that it does with the array.
    if (!isAnnotated(user) && (user->getNumRegions() || !addUsers(user)))
      return false;
  }
  return true;
}

/// The text that names the group of devices that share an array, in a shard_map over some of the axes; empty elsewhere.
/// Arrays differ between such groups.
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

/// Whether two reshards get one warning: the same types and reason at one place, because a function is called twice or
/// two operands need the array.
bool sharesWarning(ReshardOp a, ReshardOp b) {
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
      if (!isSharded(from, mesh) || isSharded(to, mesh) || !to.getShardingOrOpen().getUnreduced().empty() ||
          to.getBytes() < minBytes)
        return;
      // The user may have annotated a constraint or a returned value, or values that are computed from it.
      if (!namesAxes(to) && (isAnnotated(op) || isForAnnotatedReplicated(op)))
        return;
      auto known = llvm::find_if(gathered, [&](const Gathered &other) { return sharesWarning(op, other.first); });
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
    emitWarning(op.getLoc()) << arrays << " replicated on every device" << groupOf(op) << ", " << bytes << " each"
                             << why;
  }
};

} // namespace
} // namespace spmdc
