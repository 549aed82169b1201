//===- DimMoveAttr.cpp - element maps of a dimension as attributes --------===//

#include "ir/spmd/SpmdTypes.h"

namespace spmdc {

DimMoveAttr DimMoveAttr::fromValue(mlir::MLIRContext *context, const spmd::DimMove &move, int64_t size) {
  return get(context, move.shift, move.stride, move.begin, move.end == size ? -1 : move.end, move.length, move.step,
             move.base, move.block, move.wraps, move.dilation);
}

spmd::DimMove DimMoveAttr::toValue(int64_t size) const {
  return {getShift(), getStride(), getBegin(),   getEnd() == -1 ? size : getEnd(), getLength(), getStep(), getBase(),
          getBlock(), getWraps(),  getDilation()};
}

} // namespace spmdc
