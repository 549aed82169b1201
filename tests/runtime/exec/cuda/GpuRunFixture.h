//===- GpuRunFixture.h - runs with values given one by one ------*- C++ -*-===//
#pragma once

#include "tests/programs/support/Case.h"
#include "tests/runtime/exec/cuda/GpuJobHelper.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace spmd::test {

class GpuRunFixture : public testing::Test {
protected:
  GpuRunFixture() { spmdc::loadDialects(context); }

  /// A vector of f32.
  spmdc::Tensor floats(std::initializer_list<double> values) {
    spmdc::Tensor tensor({static_cast<int64_t>(values.size())}, spmdc::getElementType(&context, DType::F32));
    size_t i = 0;
    for (double value : values)
      tensor.elements[i++] = spmdc::Scalar::ofFloat(value);
    return tensor;
  }

  std::vector<double> download(const spmdc::CompiledProgram &program, const spmdc::CompiledProgram::Buffers &buffers,
                               size_t result = 0) {
    std::string problem;
    mlir::FailureOr<mlir::SmallVector<spmdc::Tensor>> all = program.download(context, buffers, problem);
    EXPECT_EQ(problem, "");
    std::vector<double> values;
    if (mlir::succeeded(all))
      for (spmdc::Scalar element : (*all)[result].elements)
        values.push_back(element.f);
    return values;
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  std::string error;
};

} // namespace spmd::test
