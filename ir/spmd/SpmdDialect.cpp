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
  const spmd::DTypeInfo &info = spmd::infoOf(dtype);
  switch (info.kind) {
  case spmd::DTypeKind::Float:
    return dtype == spmd::DType::F64    ? Type(b.getF64Type())
           : dtype == spmd::DType::F32  ? Type(b.getF32Type())
           : dtype == spmd::DType::BF16 ? Type(b.getBF16Type())
                                        : Type(b.getF16Type());
  case spmd::DTypeKind::Signed:
    return b.getIntegerType(8 * info.bytes);
  case spmd::DTypeKind::Unsigned:
    return b.getIntegerType(8 * info.bytes, /*isSigned=*/false);
  case spmd::DTypeKind::Bool:
    return b.getI1Type();
  case spmd::DTypeKind::Key:
    return KeyType::get(context);
  }
  llvm_unreachable("unknown kind of type");
}

std::optional<spmd::DType> findDType(Type type) {
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
  auto intType = dyn_cast<IntegerType>(type);
  if (!intType || intType.isSigned())
    return std::nullopt;
  if (intType.isSignlessInteger() && intType.getWidth() == 1)
    return spmd::DType::Bool;
  auto kind = intType.isUnsigned() ? spmd::DTypeKind::Unsigned : spmd::DTypeKind::Signed;
  for (const spmd::DTypeInfo &info : spmd::kDTypes)
    if (info.kind == kind && 8 * info.bytes == intType.getWidth())
      return info.dtype;
  return std::nullopt;
}

spmd::DType getDType(Type type) {
  std::optional<spmd::DType> dtype = findDType(type);
  assert(dtype && "verified types are element types of the language");
  return *dtype;
}

bool isUnsigned(Type elementType) { return elementType.isUnsignedInteger(); }

} // namespace spmdc
