//===- SpmdBase.td - meshes, shardings, and the array type ----*- tablegen -*-===//

#ifndef SPMDC_SPMD_BASE
#define SPMDC_SPMD_BASE

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/DialectBase.td"
include "ir/spmd/SpmdEnums.td"

def Spmd_Dialect : Dialect {
  let name = "spmd";
  let cppNamespace = "::spmdc";
  let summary = "Meshes, shardings, constraints and collectives";
  let description = [{
    The description of distribution. The mesh is the module's attribute `spmd.mesh`; a sharding is part of an array's
    type and prints in the language's syntax; collectives name mesh axes. Semantics are Shardy's.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
}

class Spmd_Attr<string cppName, string attrMnemonic> : AttrDef<Spmd_Dialect, cppName> {
  let mnemonic = attrMnemonic;
}

def Spmd_AxisRefAttr : Spmd_Attr<"AxisRef", "axis"> {
  let summary = "A mesh axis, or a part of one (Shardy: sub-axis)";
  let description = [{
    `a` is the full axis; `a:(2)4` the part of size 4 after a major part of 2, as Shardy prints sub-axes.

    Constraints: preSize >= 1; size >= 2, or 0 for the full axis (then preSize is 1); preSize * size divides the
    axis's size (checked where the mesh is known).
  }];
  let parameters = (ins StringRefParameter<>:$name, "int64_t":$preSize, "int64_t":$size);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [AttrBuilder<(ins "::llvm::StringRef":$name), [{ return $_get($_ctxt, name, 1, 0); }]>];
  let extraClassDeclaration = [{
    bool isFullAxis() const { return getSize() == 0; }
    ::spmd::AxisRef toValue() const;
    /// The number of shards over the axis; 1 if the mesh has no such axis.
    int64_t sizeIn(const ::spmd::MeshShape &mesh) const;
    /// `a` or `a:(2)4`.
    std::string str() const;
  }];
}

def Spmd_AxesAttr : Spmd_Attr<"Axes", "axes"> {
  let summary = "A list of axes, major to minor";
  let description = "Prints as `<a, b:(2)4>`. No axis (or part of one) is named twice.";
  let parameters = (ins ArrayRefParameter<"AxisRefAttr">:$axes);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    std::vector<::spmd::AxisRef> toValues() const;
    bool empty() const { return getAxes().empty(); }
  }];
}

def Spmd_DimMoveAttr : Spmd_Attr<"DimMove", "move"> {
  let summary = "Which source element each element of a dimension is, in an exchange (DimMoves.h)";
  let description = [{
    `#spmd.move<shift = 2, stride = 3>`: target element i is source element 2 + 3 * i. Parameters with their defaults
    are not printed. runtime/sharding/DimMoves.h defines them: `begin` and `end` (-1: the end of the target's dimension)
    are the range, `length`, `step` and `base` a window, `block`, `wraps` and `dilation` the layout of the source.
  }];
  let parameters = (ins DefaultValuedParameter<"int64_t", "0">:$shift, DefaultValuedParameter<"int64_t", "1">:$stride,
                        DefaultValuedParameter<"int64_t", "0">:$begin, DefaultValuedParameter<"int64_t", "-1">:$end,
                        DefaultValuedParameter<"int64_t", "0">:$length, DefaultValuedParameter<"int64_t", "0">:$step,
                        DefaultValuedParameter<"int64_t", "0">:$base, DefaultValuedParameter<"int64_t", "1">:$block,
                        DefaultValuedParameter<"bool", "false">:$wraps,
                        DefaultValuedParameter<"int64_t", "1">:$dilation);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    /// The move along a target dimension of `size` elements.
    static DimMoveAttr fromValue(::mlir::MLIRContext *context, const ::spmd::DimMove &move, int64_t size);
    ::spmd::DimMove toValue(int64_t size) const;
  }];
}

def Spmd_DimShardingAttr : Spmd_Attr<"DimSharding", "dim"> {
  let summary = "The sharding of one dimension";
  let description = [{
    The axes that shard the dimension, major to minor; whether propagation may add more (open); and the priority of the
    annotation (0 wins over 1; -1: the default, which is 0).

    | the language | axes | closed |
    | --- | --- | --- |
    | `N` | none | no |
    | `N@_` | none | yes |
    | `N@a` | a | yes |
    | `N@(a, b)?` | a, b | no |
  }];
  let parameters = (ins ArrayRefParameter<"AxisRefAttr">:$axes, "bool":$isClosed,
                        DefaultValuedParameter<"int64_t", "-1">:$priority);
  let hasCustomAssemblyFormat = 1;
  let builders = [AttrBuilder<(ins "::llvm::ArrayRef<AxisRefAttr>":$axes, "bool":$isClosed),
                              [{ return $_get($_ctxt, axes, isClosed, -1); }]>];
  let extraClassDeclaration = [{
    bool empty() const { return getAxes().empty(); }
    /// The text after `@` in the language: `a`, `_`, `(a, b)?`, `a!1`; empty for an open dimension without axes.
    std::string str() const;
    /// Reads that text; fails on anything else.
    static ::mlir::FailureOr<DimShardingAttr> parseText(::mlir::MLIRContext *context, ::llvm::StringRef text);
  }];
}

def Spmd_ShardingAttr : Spmd_Attr<"Sharding", "sharding"> {
  let summary = "The sharding of an array";
  let description = [{
    One entry per dimension, and the axes over which the devices hold partial sums. An axis is used at most once.
  }];
  let parameters = (ins ArrayRefParameter<"DimShardingAttr">:$dims, ArrayRefParameter<"AxisRefAttr">:$unreduced);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return getDims().size(); }
    ::spmd::Sharding toValue() const;
    /// The same axes, with every dimension closed and without priorities.
    ShardingAttr getClosed() const;
    /// True if no dimension has an axis and nothing is unreduced.
    bool isReplicated() const;
    /// The sharding without axes.
    static ShardingAttr getReplicated(::mlir::MLIRContext *context, int64_t rank, bool isClosed = true);
    static ShardingAttr fromValue(::mlir::MLIRContext *context, const ::spmd::Sharding &sharding);
    /// True if the dimensions have the same axes; open dimensions may differ.
    bool hasSameAxes(ShardingAttr other) const;
  }];
}

def Spmd_MeshAttr : Spmd_Attr<"Mesh", "mesh"> {
  let summary = "The named device grid";
  let description = [{
    Axes with sizes, major to minor: `#spmd.mesh<m, a=4, b=2>`. Devices are numbered in row-major order.

    Constraints: sizes >= 1; names differ. A mesh without axes is one device.
  }];
  let parameters = (ins StringRefParameter<>:$name, ArrayRefParameter<"AxisRefAttr">:$axes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    ::spmd::MeshShape toValue() const;
    static MeshAttr fromValue(::mlir::MLIRContext *context, ::llvm::StringRef name, const ::spmd::MeshShape &mesh);
  }];
}

def Spmd_ArrayType : TypeDef<Spmd_Dialect, "Array"> {
  let mnemonic = "array";
  let summary = "An array: element type, shape, sharding";
  let description = [{
    `!spmd.array<f32[4096@a, 2048@b]>`. Global shape with the sharding in the language's syntax; text after `@` that is
    more than one name is quoted (`8@"(a, b)"`, `8@"a?"`), since MLIR's lexer ends a symbol there. Partial sums:
    `!spmd.array<f32[8@a] unreduced(b)>`. Without any sharding the array is open in all dimensions before propagation,
    and a per-device array after partitioning.

    Element types: those of runtime/support/DType.h, as MLIR's f64 ... i8 ui64 ... ui8 i1 and `!spmd.key`.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
                        OptionalParameter<"ShardingAttr">:$sharding);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [
    TypeBuilderWithInferredContext<(ins "::llvm::ArrayRef<int64_t>":$shape, "::mlir::Type":$elementType,
                                        CArg<"ShardingAttr", "{}">:$sharding),
      [{
        // One spelling for each type: an empty sharding is dropped.
        bool saysNothing = sharding && sharding.getUnreduced().empty() &&
                           ::llvm::all_of(sharding.getDims(), [](DimShardingAttr dim) {
                             return dim.empty() && !dim.getIsClosed() && dim.getPriority() < 0;
                           });
        return $_get(elementType.getContext(), shape, elementType, saysNothing ? ShardingAttr() : sharding);
      }]>];
  let skipDefaultBuilders = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return getShape().size(); }
    int64_t getDimSize(int64_t dim) const { return getShape()[dim]; }
    /// True if it is no larger than an array may be (runtime/support/ArraySize.h). All types of a program are; a type
    /// that a front end has not checked yet may not be.
    bool hasAllowedSize() const;
    int64_t getNumElements() const;
    /// Bytes of the global array; bool takes one byte for each element.
    int64_t getBytes() const;
    /// Bytes of a device's padded shard under `sharding`, or under the type's own. Creates no type.
    int64_t getLocalBytes(const ::spmd::MeshShape &mesh, ShardingAttr sharding) const;
    int64_t getLocalBytes(const ::spmd::MeshShape &mesh) const { return getLocalBytes(mesh, getSharding()); }
    ArrayType withSharding(ShardingAttr sharding) const;
    ArrayType withShape(::llvm::ArrayRef<int64_t> shape) const;      // without sharding
    ArrayType withElementType(::mlir::Type elementType) const;       // same sharding
    ArrayType withoutSharding() const { return withSharding({}); }
    /// The sharding, or an open one of every dimension if the type has none.
    ShardingAttr getShardingOrOpen() const;
    /// The padded per-device type under this type's sharding.
    ArrayType getLocal(MeshAttr mesh) const;

    /// The form that the arithmetic of shards takes (runtime/sharding).
    ::spmd::ShardedShape toShardedShape() const;
    ::spmd::DType getDType() const;
    /// The builtin tensor type of the same shape and element type, for constants.
    ::mlir::RankedTensorType getTensorType() const;
    /// f32[4096@a, 2048@(a, b)], in the language's syntax.
    std::string str() const;
  }];
}

def Spmd_KeyType : TypeDef<Spmd_Dialect, "Key"> {
  let mnemonic = "key";
  let summary = "A random key: two u32";
}

#endif
