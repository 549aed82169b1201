//===- ExchangeAxes.h - the axes of an exchange -----------------*- C++ -*-===//
#pragma once

#include "ir/spmd/SpmdOps.h"
#include "passes/cost/CostModel.h"

#include <vector>

namespace spmdc {

/// The axes of an exchange from an array to another: those along which some device sends to another
/// (spmd::exchangedAxes), so that a device waits only for devices from which it receives. If no device sends, all axes
/// that either sharding names. Without moves the target is the source in another sharding or shape.
AxesAttr getExchangeAxes(ArrayType from, ArrayType to, const std::vector<spmd::DimMove> &moves, MeshAttr mesh);

/// The rates of the links along those axes, so that choices before the exchange exists use the price that reports will
/// show.
LinkRates getExchangeRates(const CostModel &model, const spmd::MeshShape &mesh, ArrayType from, ArrayType to,
                           const std::vector<spmd::DimMove> &moves);

} // namespace spmdc
