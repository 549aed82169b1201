//===- SpmdTypes.h - meshes, shardings, and the array type ------*- C++ -*-===//
//
// The attributes and types of the `spmd` dialect, without its operations; interfaces and the other dialects need only
// these.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/sharding/DimMoves.h"
#include "runtime/support/DType.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectImplementation.h"

#include "ir/spmd/SpmdEnums.h.inc"
#include "ir/spmd/SpmdOpsDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/spmd/SpmdOpsAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/spmd/SpmdOpsTypes.h.inc"

namespace spmdc {

/// The module attribute that holds the mesh.
inline constexpr llvm::StringLiteral kMeshAttrName = "spmd.mesh";
/// Argument and result attribute: the user's name of a parameter or result.
inline constexpr llvm::StringLiteral kNameAttrName = "spmd.name";
/// Argument and result attribute of a partitioned function: the global type with its sharding.
inline constexpr llvm::StringLiteral kGlobalTypeAttrName = "spmd.global";

/// Attribute of an operation of the propagated program: the user annotated its results, and no pass changes their
/// sharding.
inline constexpr llvm::StringLiteral kAnnotatedAttrName = "spmd.annotated";

/// The mesh of the module around an operation; a mesh without axes (one device) if none is declared.
MeshAttr getMesh(mlir::Operation *op);

/// The element type of a dtype, and back.
mlir::Type getElementType(mlir::MLIRContext *context, spmd::DType dtype);
spmd::DType getDType(mlir::Type elementType);
/// Nothing for a type that no array has.
std::optional<spmd::DType> findDType(mlir::Type type);

bool isUnsigned(mlir::Type elementType);

/// The type of a value that is an array.
inline ArrayType typeOf(mlir::Value value) { return llvm::cast<ArrayType>(value.getType()); }
/// The same without its sharding.
inline ArrayType plainTypeOf(mlir::Value value) { return typeOf(value).withoutSharding(); }
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) { return typeOf(value).getShape(); }

/// Whether devices hold partial sums of the array.
inline bool isUnreduced(ArrayType type) { return !type.getShardingOrOpen().getUnreduced().empty(); }
inline bool isUnreduced(mlir::Value value) { return isUnreduced(typeOf(value)); }

} // namespace spmdc
