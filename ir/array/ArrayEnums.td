//===- ArrayEnums.td - enumerations of the array dialect ------*- tablegen -*-===//
#ifndef SPMDC_ARRAY_ENUMS
#define SPMDC_ARRAY_ENUMS

include "mlir/IR/EnumAttr.td"

def Array_ComparisonDirection : I32EnumAttr<"ComparisonDirection", "which comparison", [
    I32EnumAttrCase<"eq", 0>, I32EnumAttrCase<"ne", 1>, I32EnumAttrCase<"lt", 2>, I32EnumAttrCase<"le", 3>,
    I32EnumAttrCase<"gt", 4>, I32EnumAttrCase<"ge", 5>]> {
  let cppNamespace = "::spmdc";
}

#endif
