//===- ComplexRefusalsTest.cpp - messages about complex numbers -----------===//

#include "tests/frontend/stablehlo/RefusalsHelper.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace spmdc;
using ::testing::HasSubstr;

namespace {

/// A program whose %z is complex<f32>[8].
std::string complexProgram(const std::string &lines) {
  return program("%z = stablehlo.complex %x, %x : tensor<8xcomplex<f32>>\n" + lines);
}

TEST(ComplexRefusals, AProgramIsImported) {
  EXPECT_EQ(importErrors(complexProgram("%0 = stablehlo.exponential %z : tensor<8xcomplex<f32>>")), "");
}

TEST(ComplexRefusals, OperationsWithoutComplexNumbers) {
  EXPECT_THAT(importErrors(complexProgram("%0 = stablehlo.ceil %z : tensor<8xcomplex<f32>>")),
              HasSubstr("'stablehlo.ceil' takes complex numbers, for which it has no translation; write it with their "
                        "real and imaginary parts"));
  EXPECT_THAT(importErrors(complexProgram("%0 = stablehlo.compare LT, %z, %z : (tensor<8xcomplex<f32>>, "
                                          "tensor<8xcomplex<f32>>) -> tensor<8xi1>")),
              HasSubstr("'stablehlo.compare' orders complex numbers (LT), which have no order; compare their parts"));
  EXPECT_THAT(importErrors(complexProgram("%0 = stablehlo.bitcast_convert %z : (tensor<8xcomplex<f32>>) -> "
                                          "tensor<8x3xf32>")),
              HasSubstr("'stablehlo.bitcast_convert' has a result of other bits than its operand"));
  EXPECT_THAT(importErrors(complexProgram("%0 = stablehlo.custom_call @eig(%z) : (tensor<8xcomplex<f32>>) -> "
                                          "tensor<8xcomplex<f32>>")),
              HasSubstr("calls 'eig'"));
  EXPECT_THAT(importErrors(program("%0 = stablehlo.constant dense_resource<blob> : tensor<8xcomplex<f32>>")),
              HasSubstr("has no dense value in the text; export with the constants written out"));
}

TEST(ComplexRefusals, TypesThatDoNotFit) {
  EXPECT_THAT(importErrors(program("%0 = stablehlo.complex %x, %x : tensor<8xf32>")),
              HasSubstr("the result is a tensor of complex numbers"));
  EXPECT_THAT(importErrors(complexProgram("%0 = stablehlo.real %z : (tensor<8xcomplex<f32>>) -> tensor<4xf32>")),
              HasSubstr("has the result 'tensor<4xf32>', but its operands give 'tensor<8xf32>'"));
  EXPECT_THAT(importErrors(complexProgram("%0 = \"stablehlo.complex\"(%x, %y) : (tensor<8xf32>, tensor<8x4xf32>) -> "
                                          "tensor<8xcomplex<f32>>")),
              HasSubstr("has the result 'tensor<8xcomplex<f32>>', but its operands give"));
  EXPECT_THAT(
      importErrors(complexProgram("%0 = \"stablehlo.multiply\"(%z, %x) : (tensor<8xcomplex<f32>>, tensor<8xf32>) "
                                  "-> tensor<8xcomplex<f32>>")),
      HasSubstr("'stablehlo.multiply' has operands or results that are not complex beside complex ones"));
  EXPECT_THAT(importErrors("func.func @main(%x: tensor<8xf32>) -> tensor<8xcomplex<f32>> {\n"
                           "\"stablehlo.return\"() : () -> ()\n}"),
              HasSubstr("returns other types than it declares"));
  EXPECT_THAT(importErrors(complexProgram(
                  "%i = stablehlo.constant dense<(1.0, 0.0)> : tensor<complex<f32>>\n"
                  "%0 = stablehlo.reduce(%z init: %i) applies stablehlo.multiply across dimensions = [3] : "
                  "(tensor<8xcomplex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>")),
              HasSubstr("has dimensions or a region that do not fit its operands"));
}

TEST(ComplexRefusals, FourierTransforms) {
  struct Wrong {
    const char *line, *message;
  };
  for (auto [line, message] : std::vector<Wrong>{
           {"%0 = stablehlo.fft %z, type = DCT, length = [8] : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>",
            "'stablehlo.fft' is of the unknown type 'DCT'"},
           {"%0 = stablehlo.fft %z, type = RFFT, length = [8] : (tensor<8xcomplex<f32>>) -> tensor<5xcomplex<f32>>",
            "of type RFFT has operands or results of another type"},
           {"%0 = stablehlo.fft %z, type = IRFFT, length = [8] : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>",
            "of type IRFFT has operands or results of another type"},
           {"%0 = stablehlo.fft %z, type = FFT, length = [7] : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>",
            "has lengths that are not those of the last dimensions of its operand, one to three"},
           {"%0 = stablehlo.fft %z, type = FFT, length = [] : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>",
            "has lengths that are not"},
           {"%0 = stablehlo.fft %z, type = IRFFT, length = [8] : (tensor<8xcomplex<f32>>) -> tensor<8xf32>",
            "has lengths that are not"},
           {"%l = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<8xf32>) -> tensor<8x1048583xf32>\n"
            "%0 = stablehlo.fft %l, type = RFFT, length = [1048583] : (tensor<8x1048583xf32>) -> "
            "tensor<8x524292xcomplex<f32>>",
            "transforms 1048583 elements along a dimension; more than 1048576 must be a product of primes up to 127, "
            "so pad it with zeros"}})
    EXPECT_THAT(importErrors(complexProgram(line)), HasSubstr(message));
  EXPECT_THAT(importErrors(complexProgram("%0 = stablehlo.fft %x, type = RFFT, length = [8] : (tensor<8xf32>) -> "
                                          "tensor<8xcomplex<f32>>")),
              HasSubstr("has the result 'tensor<8xcomplex<f32>>', but its operands give 'tensor<5xf32>'"));
  // The attribute is the importer's own.
  for (const char *attribute : {"", " {spmdc.fft_dim = 0 : i64}"})
    EXPECT_THAT(importErrors(complexProgram(std::string("%0 = stablehlo.fft %x, type = FFT, length = [8]") + attribute +
                                            " : (tensor<8xf32>) -> tensor<8xf32>")),
                HasSubstr("of type FFT has operands or results of another type"));
}

} // namespace
