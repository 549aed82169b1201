//===- ReshapeExchange.cpp - any reshape as one exchange ------------------===//

#include "passes/exchange/ReshapeExchange.h"

#include "passes/exchange/ArrayMoves.h"
#include "runtime/sharding/ReshapedShards.h"

using namespace mlir;

namespace spmdc {
namespace {

/// On larger meshes the elements that each device lacks are not counted, because that takes time for each device.
constexpr int64_t kManyDevices = 1024;
/// The largest number of runs of elements, of all devices together, that are compared.
constexpr int64_t kManyRuns = 1 << 18;
/// The largest number of dimensions of both shapes together: a copy has no more loops (runtime/collective/Movement.h).
constexpr int64_t kManyDims = 16;

} // namespace

bool canExchangeReshape(const spmd::MeshShape &mesh, ArrayType from, ArrayType to) {
  if (from.getNumElements() == 0 || from.getRank() == 0 || to.getRank() == 0 ||
      from.getRank() + to.getRank() > kManyDims || isUnreduced(from) || isUnreduced(to) ||
      mesh.deviceCount() > kManyDevices)
    return false;
  spmd::ShardedShape source = from.toShardedShape(), target = to.toShardedShape();
  return llvm::all_of(spmd::groupReshapedDims(source.shape, target.shape), [&](const spmd::ReshapedDims &dims) {
    int64_t runs = spmd::countRuns(mesh, source, dims.sourceBegin, dims.sourceEnd) +
                   spmd::countRuns(mesh, target, dims.targetBegin, dims.targetEnd);
    return runs <= kManyRuns / mesh.deviceCount();
  });
}

Value buildReshapeExchange(OpBuilder &builder, ReshapeOp op, Value local, ArrayType from, ArrayType to, MeshAttr mesh) {
  std::string why = whyExchange(cast<ShardingRuleOpInterface>(op.getOperation()), from, to);
  return buildExchange(builder, op.getLoc(), local, {op.getOperand(), {}}, from, to, mesh, why);
}

} // namespace spmdc
