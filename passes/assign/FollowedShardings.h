//===- FollowedShardings.h - shardings that follow others -------*- C++ -*-===//
#pragma once

#include "passes/strategy/StrategyCache.h"

namespace spmdc {

/// Computes the shardings of the values around an operation from that of one of them, so that the operation needs no
/// communication. Results are cached, since changes pass through the same operations many times.
class FollowedShardings {
public:
  explicit FollowedShardings(const spmd::MeshShape &mesh) : mesh(mesh) {}

  /// The sharding of `value`, the value with index `other` around the operation, if the value with index `self` has
  /// `sharding`; null if it does not follow. Indices count the operands, then the result.
  ShardingAttr find(const OperationFacts &facts, unsigned self, ShardingAttr sharding, unsigned other,
                    mlir::Value value);

private:
  /// `present`: the current sharding of the other value; null if it does not matter.
  ShardingAttr follow(const OperationFacts &facts, unsigned self, ShardingAttr sharding, unsigned other,
                      ShardingAttr present) const;

  const spmd::MeshShape &mesh;
  /// Keyed by the operation's fixed part and the arguments of `follow`. Not iterated: the order is not stable.
  llvm::DenseMap<std::tuple<const void *, unsigned, const void *, unsigned, const void *>, ShardingAttr> known;
};

} // namespace spmdc
