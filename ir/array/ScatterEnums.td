//===- ScatterEnums.td - the kinds of scatters ----------------*- tablegen -*-===//
#ifndef SPMDC_SCATTER_ENUMS
#define SPMDC_SCATTER_ENUMS

include "mlir/IR/EnumAttr.td"

def Array_ScatterKind : I32EnumAttr<"ScatterKind", "how an element is combined with an update", [
    I32EnumAttrCase<"replace", 0>, I32EnumAttrCase<"prod", 1>, I32EnumAttrCase<"max", 2>, I32EnumAttrCase<"min", 3>,
    I32EnumAttrCase<"and_", 4, "and">, I32EnumAttrCase<"or_", 5, "or">]> {
  let cppNamespace = "::spmdc";
}

#endif
