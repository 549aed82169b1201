//===- OwnShard.h - a device's own part of what it exchanges ----*- C++ -*-===//
#pragma once

#include "ir/spmd/SpmdOps.h"

#include <optional>

namespace spmdc {

/// Where the result of an exchange holds the device's own operand, one start for each dimension; nullopt if it does
/// not, or not at the same place on all devices. Example: rows with a halo of one row on either side, [1, 0].
std::optional<llvm::SmallVector<int64_t>> findOwnShard(ExchangeOp op);

} // namespace spmdc
