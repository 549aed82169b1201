//===- OpInterfaces.cpp - interfaces of all operations --------------------===//

#include "ir/interfaces/OpInterfaces.h"

namespace spmdc {

mlir::Value cloneWithLocalTypes(mlir::OpBuilder &builder, mlir::Operation *op, mlir::ValueRange operands,
                                ArrayType localResult) {
  mlir::OperationState state(op->getLoc(), op->getName(), operands, mlir::TypeRange(localResult), op->getAttrs());
  return builder.create(state)->getResult(0);
}

} // namespace spmdc

#include "ir/interfaces/OpInterfaces.cpp.inc"
