//===- DerivativesTestHelper.h - a derivative and its cases -----*- C++ -*-===//
//
// A case is a function of the array dialect, run by DerivativesTest.cpp. The cases of each kind of operation are in a
// separate file, which ends in DIFFERENTIATE(KIND, CASES).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/ir/support/CentralDifferences.h"
#include "tests/ir/support/IrTest.h"

#include <random>
#include <set>

namespace spmdc {

struct DerivativeCase {
  const char *name;
  /// The body: arguments are %x, %y, %z, the result is %r.
  const char *body;
  std::vector<const char *> arguments; ///< `f64[2, 3]`.
  const char *result;
  /// The range of arguments, whose elements are distinct and at least 0.05 apart; `isSigned`: of either sign.
  double low = 0.3, high = 2;
  bool isSigned = false;
  /// Whether the second derivative exists in a neighbourhood (and is worth differencing).
  bool isSmooth = true;
};

void PrintTo(const DerivativeCase &test, std::ostream *os);

/// The cases of all files.
std::vector<DerivativeCase> &allDerivativeCases();

class DerivativesTest : public IrTest, public ::testing::WithParamInterface<DerivativeCase> {
protected:
  void SetUp() override;

  /// A function of the case's arguments: the weighted sum (`order` 0), its gradients (1), or the gradients of the
  /// weighted sum of those (2).
  std::string program(int order);
  /// The differentiated program as text; null after a failed expectation.
  mlir::OwningOpRef<mlir::ModuleOp> compile(const std::string &text);
  /// The elements of each result at `inputs`.
  Numbers evaluate(mlir::ModuleOp module, const Numbers &inputs);

  Numbers inputs;

private:
  /// Elements that are at least a twentieth apart, so that no kink is between two of them.
  std::vector<double> random(size_t count, double low, double high, bool isSigned);

  std::mt19937_64 engine{20};
  std::set<long> taken;
};

inline std::string nameOfDerivative(const ::testing::TestParamInfo<DerivativeCase> &info) { return info.param.name; }

} // namespace spmdc

#define DIFFERENTIATE(KIND, CASES)                                                                                     \
  INSTANTIATE_TEST_SUITE_P(KIND, DerivativesTest, ::testing::ValuesIn(CASES), nameOfDerivative);                       \
  [[maybe_unused]] const bool are##KIND##Listed =                                                                      \
      (allDerivativeCases().insert(allDerivativeCases().end(), std::begin(CASES), std::end(CASES)), true)
