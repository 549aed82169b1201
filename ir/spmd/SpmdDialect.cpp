//===- SpmdDialect.cpp - the spmd dialect, and its element types ----------===//

#include "ir/spmd/SpmdTypes.h"

#include "ir/interfaces/Tensor.h"
#include "ir/spmd/CollectiveBroadcast.h"
#include "ir/spmd/SpmdOps.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "ir/spmd/SpmdEnums.cpp.inc"
#include "ir/spmd/SpmdOpsDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/spmd/SpmdOpsAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/spmd/SpmdOpsTypes.cpp.inc"

namespace spmdc {

void SpmdDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/spmd/SpmdOpsAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "ir/spmd/SpmdOpsTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/spmd/SpmdOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/spmd/CollectiveBroadcast.cpp.inc"
      >();
}

LogicalResult SpmdDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() != kMeshAttrName)
    return success();
  if (!isa<ModuleOp>(op))
    return op->emitOpError("has a 'spmd.mesh'; only a module has one");
  if (!isa<MeshAttr>(attribute.getValue()))
    return op->emitOpError("'spmd.mesh' must be a #spmd.mesh attribute");
  return success();
}

MeshAttr getMesh(Operation *op) {
  for (Operation *parent = op; parent; parent = parent->getParentOp())
    if (auto mesh = parent->getAttrOfType<MeshAttr>(kMeshAttrName))
      return mesh;
  return MeshAttr::get(op->getContext(), "", {});
}

Type getElementType(MLIRContext *context, spmd::DType dtype) {
  Builder b(context);
  switch (dtype) {
  case spmd::DType::F64:
    return b.getF64Type();
  case spmd::DType::F32:
    return b.getF32Type();
  case spmd::DType::BF16:
    return b.getBF16Type();
  case spmd::DType::F16:
    return b.getF16Type();
  case spmd::DType::I64:
    return b.getI64Type();
  case spmd::DType::I32:
    return b.getI32Type();
  case spmd::DType::I8:
    return b.getIntegerType(8);
  case spmd::DType::U32:
    return b.getIntegerType(32, /*isSigned=*/false);
  case spmd::DType::U8:
    return b.getIntegerType(8, /*isSigned=*/false);
  case spmd::DType::Bool:
    return b.getI1Type();
  case spmd::DType::Key:
    return KeyType::get(context);
  }
  llvm_unreachable("unknown dtype");
}

spmd::DType getDType(Type type) {
  if (type.isF64())
    return spmd::DType::F64;
  if (type.isF32())
    return spmd::DType::F32;
  if (type.isBF16())
    return spmd::DType::BF16;
  if (type.isF16())
    return spmd::DType::F16;
  if (isa<KeyType>(type))
    return spmd::DType::Key;
  auto intType = cast<IntegerType>(type);
  switch (intType.getWidth()) {
  case 1:
    return spmd::DType::Bool;
  case 8:
    return intType.isUnsigned() ? spmd::DType::U8 : spmd::DType::I8;
  case 32:
    return intType.isUnsigned() ? spmd::DType::U32 : spmd::DType::I32;
  default:
    return spmd::DType::I64;
  }
}

bool isUnsigned(Type elementType) { return elementType.isUnsignedInteger(); }

} // namespace spmdc
