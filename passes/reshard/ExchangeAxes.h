//===- ExchangeAxes.h - which devices an exchange joins ---------*- C++ -*-===//
#pragma once

#include "ir/spmd/SpmdOps.h"
#include "passes/cost/CostModel.h"

#include <vector>

namespace spmdc {

/// The axes of an exchange from an array to another: those along which some device sends to another
/// (spmd::exchangedAxes), so that devices wait for those alone from which they receive. Where none does, all that
/// either sharding names. Without moves the target is the source under another sharding or in another shape.
AxesAttr getExchangeAxes(ArrayType from, ArrayType to, const std::vector<spmd::DimMove> &moves, MeshAttr mesh);

/// The rates of the links along those axes: what the exchange will be priced by in reports, for choices before it is
/// there.
LinkRates getExchangeRates(const CostModel &model, const spmd::MeshShape &mesh, ArrayType from, ArrayType to,
                           const std::vector<spmd::DimMove> &moves);

} // namespace spmdc
