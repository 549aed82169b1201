//===- CentralDifferences.h - numerical gradients ---------------*- C++ -*-===//
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <vector>

namespace spmdc {

/// The elements of some arrays of f64.
using Numbers = std::vector<std::vector<double>>;

/// Compares the gradients of a function at `inputs` with its central differences there, element by element. The
/// function must be smooth within `step` on either side.
inline void expectCentralDifferences(const Numbers &gradients, Numbers inputs,
                                     const std::function<double(const Numbers &)> &function) {
  constexpr double step = 1e-5, tolerance = 1e-7;
  ASSERT_EQ(gradients.size(), inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    ASSERT_EQ(gradients[i].size(), inputs[i].size());
    for (size_t j = 0; j < inputs[i].size(); ++j) {
      double at = inputs[i][j];
      inputs[i][j] = at + step;
      double above = function(inputs);
      inputs[i][j] = at - step;
      double below = function(inputs);
      inputs[i][j] = at;
      double expected = (above - below) / (2 * step);
      EXPECT_NEAR(gradients[i][j], expected, tolerance * std::max(1.0, std::abs(expected)))
          << "argument " << i << " element " << j << " at " << at;
    }
  }
}

} // namespace spmdc
