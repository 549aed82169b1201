//===- SpmdEnums.td - enumerations of the spmd dialect --------*- tablegen -*-===//
#ifndef SPMDC_SPMD_ENUMS
#define SPMDC_SPMD_ENUMS

include "mlir/IR/EnumAttr.td"

/// How partial results are combined. NaN wins in max and min, as in JAX.
def Spmd_ReductionKind : I32EnumAttr<"ReductionKind", "how elements are combined", [
    I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"prod", 1>, I32EnumAttrCase<"max", 2>, I32EnumAttrCase<"min", 3>,
    I32EnumAttrCase<"and_", 4, "and">, I32EnumAttrCase<"or_", 5, "or">]> {
  let cppNamespace = "::spmdc";
}

#endif
