//===- Splats.h - numbers that arrays have everywhere -----------*- C++ -*-===//
#pragma once

#include "ir/array/PartialSums.h"

#include <optional>

namespace spmdc {

/// Returns the float that a constant has everywhere, also behind broadcasts; nullopt for other values.
inline std::optional<double> findSplat(mlir::Value value) {
  auto constant = getBroadcastSource(value).getDefiningOp<ConstantOp>();
  auto elements = constant ? mlir::dyn_cast<mlir::SplatElementsAttr>(constant.getValue()) : mlir::SplatElementsAttr();
  if (!elements || !mlir::isa<mlir::FloatType>(elements.getElementType()))
    return std::nullopt;
  return elements.getSplatValue<llvm::APFloat>().convertToDouble();
}

} // namespace spmdc
