//===- FollowedShardings.h - what follows from how a value lies -*- C++ -*-===//
#pragma once

#include "passes/strategy/StrategyCache.h"

namespace spmdc {

/// How the values around an operation lie if one of them lies so, and nothing is to be sent there; remembered, since
/// changes are carried through the same operations again and again.
class FollowedShardings {
public:
  explicit FollowedShardings(const spmd::MeshShape &mesh) : mesh(mesh) {}

  /// Of two different values around the operation, `self` lies as `sharding` says: how `value` follows, which is
  /// number `other`; null where it does not. (Operands are numbered, and the result comes behind them.)
  ShardingAttr find(const OperationFacts &signature, unsigned self, ShardingAttr sharding, unsigned other,
                    mlir::Value value);

private:
  /// `present`: how the other value lies now, if that matters.
  ShardingAttr follow(const OperationFacts &signature, unsigned self, ShardingAttr sharding, unsigned other,
                      ShardingAttr present) const;

  const spmd::MeshShape &mesh;
  /// By the operation's fixed part and the arguments of `follow`; only looked up.
  llvm::DenseMap<std::tuple<const void *, unsigned, const void *, unsigned, const void *>, ShardingAttr> known;
};

} // namespace spmdc
