//===- FourierOp.td - the discrete Fourier transform ----------*- tablegen -*-===//
//
// Created by the importer of StableHLO; the language has no name for it, so it has no derivative. It has a file of its
// own, which few other files include.
//
//===----------------------------------------------------------------------===//

#ifndef SPMDC_FOURIER_OP
#define SPMDC_FOURIER_OP

include "ir/array/ArrayOps.td"

def Array_FftOp : Array_Op<"fft", [LinearOpInterface, DeclareOpInterfaceMethods<EvaluateOpInterface>]> {
  let summary = "Discrete Fourier transform along a dimension";
  let description = [{
    X[k] = sum over j of x[j] w^(j k) / divisor, with w = e^(-2 pi i / length), or e^(2 pi i / length) where `inverse`.
    Elements are f32 or f64. The last dimension has the real and the imaginary part of a number, or the number itself if
    it is real: an operand with one part is real, and so is a result with one part. Beside a real array, the other one
    has the frequencies 0 to length / 2 alone, the others being their conjugates. A transform from real numbers is not
    inverse, one to real numbers is; the latter ignores the imaginary parts of the frequencies 0 and length / 2.
    `array.fft %x dim 1 length 96 inverse divisor 96 : <f32[8, 49, 2]> -> <f32[8, 96, 1]>`
  }];
  let arguments = (ins Spmd_ArrayType:$operand, I64Attr:$dim, I64Attr:$length, UnitAttr:$inverse, I64Attr:$divisor);
  let assemblyFormat = [{
    $operand `dim` $dim `length` $length (`inverse` $inverse^)? `divisor` $divisor attr-dict `:` type($operand) `->`
    type($result)
  }];
  let extraClassDeclaration = [{
    /// The number of parts of an element, which is the size of the last dimension.
    int64_t getOperandParts() { return getOperand().getType().getShape().back(); }
    int64_t getResultParts() { return getType().getShape().back(); }
    /// The customary count: 5 n log2(n) for n complex numbers, half of it with a real side.
    double countFlops();
  }];
  let hasVerifier = 1;
}

#endif
