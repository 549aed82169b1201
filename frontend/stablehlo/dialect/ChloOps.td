//===- ChloOps.td - the operations of CHLO that exports hold --*- tablegen -*-===//
//
// CHLO has the functions that StableHLO composes of several operations; JAX exports some of them as they are.
//
//===----------------------------------------------------------------------===//

#ifndef SPMDC_CHLO_OPS
#define SPMDC_CHLO_OPS

include "mlir/IR/OpBase.td"

def Chlo_Dialect : Dialect {
  let name = "chlo";
  let cppNamespace = "::spmdc::chlo";
  let summary = "Functions of mathematics beside StableHLO's";
}

class Chlo_Op<string mnemonic> : Op<Chlo_Dialect, mnemonic>;

class Chlo_UnaryOp<string mnemonic> : Chlo_Op<mnemonic> {
  let arguments = (ins AnyRankedTensor:$operand);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
}

def Chlo_AcosOp : Chlo_UnaryOp<"acos">;
def Chlo_AcoshOp : Chlo_UnaryOp<"acosh">;
def Chlo_AsinOp : Chlo_UnaryOp<"asin">;
def Chlo_AsinhOp : Chlo_UnaryOp<"asinh">;
def Chlo_AtanOp : Chlo_UnaryOp<"atan">;
def Chlo_AtanhOp : Chlo_UnaryOp<"atanh">;
def Chlo_BesselI1eOp : Chlo_UnaryOp<"bessel_i1e">;
def Chlo_ConjOp : Chlo_UnaryOp<"conj">;
def Chlo_CoshOp : Chlo_UnaryOp<"cosh">;
def Chlo_DigammaOp : Chlo_UnaryOp<"digamma">;
def Chlo_ErfOp : Chlo_UnaryOp<"erf">;
def Chlo_ErfInvOp : Chlo_UnaryOp<"erf_inv">;
def Chlo_ErfcOp : Chlo_UnaryOp<"erfc">;
def Chlo_IsInfOp : Chlo_UnaryOp<"is_inf">;
def Chlo_IsNegInfOp : Chlo_UnaryOp<"is_neg_inf">;
def Chlo_IsPosInfOp : Chlo_UnaryOp<"is_pos_inf">;
def Chlo_LgammaOp : Chlo_UnaryOp<"lgamma">;
def Chlo_SinhOp : Chlo_UnaryOp<"sinh">;
def Chlo_SquareOp : Chlo_UnaryOp<"square">;
def Chlo_TanOp : Chlo_UnaryOp<"tan">;

class Chlo_BinaryOp<string mnemonic> : Chlo_Op<mnemonic> {
  let arguments = (ins AnyRankedTensor:$lhs, AnyRankedTensor:$rhs);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
}

def Chlo_NextAfterOp : Chlo_BinaryOp<"next_after">;
def Chlo_PolygammaOp : Chlo_BinaryOp<"polygamma">;
def Chlo_ZetaOp : Chlo_BinaryOp<"zeta">;

def Chlo_TopKOp : Chlo_Op<"top_k"> {
  let arguments = (ins AnyRankedTensor:$operand, I64Attr:$k);
  let results = (outs AnyRankedTensor:$values, AnyRankedTensor:$indices);
  let assemblyFormat = [{
    `(` $operand `,` `k` `=` $k `)` attr-dict `:` type($operand) `->` `(` type($values) `,` type($indices) `)`
  }];
}

#endif
