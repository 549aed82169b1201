//===- OwnShard.cpp - a device's own part of what it exchanges ------------===//

#include "passes/kernel/OwnShard.h"

#include "ir/interfaces/ShardingRule.h"

using namespace mlir;

namespace spmdc {
namespace {

/// The start along one dimension: of `size` elements in `shards` equal shards, to shards of `local` elements.
std::optional<int64_t> findStart(const spmd::DimMove &move, int64_t size, int64_t shards, int64_t local) {
  if (move.stride != 1 || move.dilation != 1 || move.block != 1 || move.wraps || size % shards != 0)
    return std::nullopt;
  int64_t own = size / shards;
  // From one shard to the next the operand advances `own` elements of the source; so must the result.
  int64_t advance = move.length == 0 ? local : move.base % shards == 0 ? move.base / shards * move.step : -1;
  if (shards > 1 && advance != own)
    return std::nullopt;
  int64_t start = -move.shift, last = (shards - 1) * local + start;
  bool isMoved = start >= 0 && start + own <= local && move.begin <= start && last + own <= move.end;
  return isMoved ? std::make_optional(start) : std::nullopt;
}

} // namespace

std::optional<SmallVector<int64_t>> findOwnShard(ExchangeOp op) {
  spmd::MeshShape mesh = getMesh(op).toValue();
  auto source = cast<ArrayType>(op.getGlobal()), target = cast<ArrayType>(op.getTarget());
  spmd::Sharding from = source.getShardingOrOpen().toValue(), to = target.getShardingOrOpen().toValue();
  std::vector<spmd::DimMove> moves = op.getMoves();
  if (moves.empty() || from.dims != to.dims)
    return std::nullopt;
  SmallVector<int64_t> starts;
  for (auto [d, move] : llvm::enumerate(moves)) {
    int64_t shards = 1;
    for (int64_t count : spmd::sizesOf(mesh, from.dims[d]))
      shards *= count;
    std::optional<int64_t> start =
        findStart(move, source.getDimSize(d), shards, cast<ArrayType>(op.getType()).getDimSize(d));
    if (!start)
      return std::nullopt;
    starts.push_back(*start);
  }
  return starts;
}

} // namespace spmdc
