//===- MatchLibraryEpilogues.cpp - epilogues that cuBLASLt computes -------===//
//
// cuBLASLt scales a product, adds an array and a row, and applies gelu or multiplies by its gradient before it rounds
// and writes the result; a kernel of its own would read the product again. A product of bf16 [8192, 8192] with a gelu
// took 1.04 times as long as the product alone with such a kernel (benchmarks/RESULTS.md).
//
//===----------------------------------------------------------------------===//

#include "ir/spmd/DebugTrace.h"
#include "passes/gpu/Passes.h"
#include "passes/gpu/PointFunction.h"

#include <array>
#include <cmath>

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_MATCHLIBRARYEPILOGUES
#include "passes/gpu/Passes.h.inc"

namespace {

DebugTrace trace("match-library-epilogues", "computed by a kernel");

/// gelu with tanh, as jax.nn.gelu(approximate=True): 0.5 z (1 + tanh(kScale (z + kCubic z^3))).
constexpr double kScale = 0.79788456080286536, kCubic = 0.044715; // sqrt(2 / pi)
double gelu(double z) { return 0.5 * z * (1 + std::tanh(kScale * (z + kCubic * z * z * z))); }
double geluGradient(double z) {
  double t = std::tanh(kScale * (z + kCubic * z * z * z));
  return 0.5 * (1 + t) + 0.5 * z * (1 - t * t) * kScale * (1 + 3 * kCubic * z * z);
}

/// Far from 0, where gelu is the identity; its cube is far from overflow.
constexpr double kFar = 1e5;
/// Where functions are compared: gelu's tail, its minimum, both sides of 0, and far away. But for three of them they
/// are no numbers of f32, so that no difference with a constant of the program is zero there.
constexpr std::array<double, 16> kPoints = {-kFar, -291.7, -7.3, -4.1, -3.07, -2.2, -1.3, -0.75,
                                            -0.11, 0.0,    0.07, 0.43, 1.19,  2.6,  5.3,  kFar};
/// Relative error of evaluations in double precision.
constexpr double kExact = 1e-9;

/// A form with numbers of the inputs behind the product.
struct Form {
  llvm::StringLiteral function = "identity";
  double factor = 1, arrayFactor = 0;
  int32_t array = -1, bias = -1;
};

/// Compares an epilogue with the library's forms.
class Matcher {
public:
  explicit Matcher(const PointFunction &function) : function(function), inputs(function.getReads().size(), 0) {}

  /// Returns nullopt if the epilogue has none of the forms.
  std::optional<Form> match() {
    if (!findOperands())
      return std::nullopt;
    if (!function.hasTanh())
      return matchIdentity();
    std::optional<Form> gelu = matchGelu();
    return gelu ? gelu : matchGeluGradient();
  }

private:
  /// Finds the array and the row; there may be one of each.
  bool findOperands() {
    for (auto [i, read] : llvm::enumerate(function.getReads())) {
      int32_t &operand = read == PointFunction::Read::Row ? row : array;
      if (read == PointFunction::Read::Never || operand >= 0)
        return false;
      operand = static_cast<int32_t>(i);
    }
    return true;
  }

  double at(double product, double ofArray, double ofRow) {
    if (array >= 0)
      inputs[static_cast<size_t>(array)] = ofArray;
    if (row >= 0)
      inputs[static_cast<size_t>(row)] = ofRow;
    return function.evaluate(product, inputs);
  }

  /// Calls with all combinations of points; false if one call returns false.
  template <typename Function> bool holdsEverywhere(Function holds) {
    ArrayRef<double> points(kPoints), none(points[9]);
    for (double product : points)
      for (double ofArray : array < 0 ? none : points)
        for (double ofRow : row < 0 ? none : points)
          if (!holds(product, ofArray, ofRow))
            return false;
    return true;
  }

  /// The library adds a row without a factor.
  std::optional<Form> makeForm(llvm::StringLiteral name, double factor, double arrayFactor, double rowFactor) {
    bool isValid =
        std::isfinite(factor) && factor != 0 && (array < 0 || (std::isfinite(arrayFactor) && arrayFactor != 0));
    if (!isValid || (row >= 0 && std::abs(rowFactor - 1) > kExact))
      return std::nullopt;
    return Form{name, factor, array < 0 ? 0 : arrayFactor, array, row};
  }

  std::optional<Form> matchIdentity() {
    std::optional<Form> form = makeForm("identity", at(1, 0, 0), at(0, 1, 0), at(0, 0, 1));
    if (!form || !holdsEverywhere([&](double product, double ofArray, double ofRow) {
          double scaled = form->factor * product, added = form->arrayFactor * ofArray;
          double bias = row < 0 ? 0 : ofRow, magnitude = std::abs(scaled) + std::abs(added) + std::abs(bias);
          return std::abs(at(product, ofArray, ofRow) - (scaled + added + bias)) <= kExact * magnitude;
        }))
      return std::nullopt;
    return form;
  }

  std::optional<Form> matchGelu() {
    // Far from 0, gelu(factor * x) is factor * x on one side, and 0 on the other one.
    auto slope = [](auto along) { return (along(kFar) - along(-kFar)) / kFar; };
    std::optional<Form> form =
        makeForm("gelu", slope([&](double x) { return at(x, 0, 0); }), slope([&](double x) { return at(0, x, 0); }),
                 slope([&](double x) { return at(0, 0, x); }));
    if (!form || !holdsEverywhere([&](double product, double ofArray, double ofRow) {
          double z = form->factor * product + form->arrayFactor * ofArray + (row < 0 ? 0 : ofRow);
          return std::abs(at(product, ofArray, ofRow) - gelu(z)) <= toleranceOf(z);
        }))
      return std::nullopt;
    return form;
  }

  /// The constants of a gelu of bf16 are rounded to bf16: it is off by 1 % at -3, and by up to 4 % below -4, where it
  /// is less than 0.0001. The gelu with erf, which the library does not have, is off by 10 % at -3.
  static double toleranceOf(double z) { return (z < 0 ? 0.04 : 0.004) * std::abs(gelu(z)) + 1e-6; }

  std::optional<Form> matchGeluGradient() {
    if (array < 0 || row >= 0)
      return std::nullopt;
    std::optional<Form> form = makeForm("gelu_gradient", at(1, kFar, 0), 1, 1);
    // The same constants change the gradient by at most 0.002; that of x * sigmoid(1.702 x) differs by 0.012.
    constexpr double kTolerance = 0.004;
    if (!form || !holdsEverywhere([&](double product, double z, double) {
          double scaled = form->factor * product, value = at(product, z, 0);
          return std::abs(value - product * at(1, z, 0)) <= kExact * std::abs(scaled) &&
                 std::abs(value - scaled * geluGradient(z)) <= kTolerance * std::abs(scaled);
        }))
      return std::nullopt;
    form->arrayFactor = 0;
    return form;
  }

  const PointFunction &function;
  SmallVector<double> inputs;
  int32_t array = -1, row = -1; ///< Numbers of inputs; -1: none.
};

class MatchLibraryEpiloguesPass : public impl::MatchLibraryEpiloguesBase<MatchLibraryEpiloguesPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    getOperation().walk([&](plan::MatmulOp product) {
      if (product.getEpilogue())
        match(product, symbols.lookup<plan::KernelOp>(*product.getEpilogue()));
    });
  }

  static bool match(plan::MatmulOp product, plan::KernelOp kernel) {
    Type element = product.getType().getElementType();
    Type operand = cast<ArrayType>(product.getLhs().getType()).getElementType();
    auto isNarrow = [](Type type) { return type.isF16() || type.isBF16(); };
    if ((!isNarrow(element) && !element.isF32()) || (!isNarrow(operand) && !operand.isF32()))
      return trace.skip(product, "cuBLASLt has no epilogues for ", product.getType());
    for (Value extra : product.getExtras())
      if (cast<ArrayType>(extra.getType()).getElementType() != element)
        return trace.skip(product, "an input has another type than the result (", extra.getType(), ")");
    std::optional<PointFunction> function = PointFunction::of(kernel, static_cast<int64_t>(product.getN()));
    if (!function)
      return trace.skip(product, "the epilogue reads or computes more than sums, products and tanh of its element");
    std::optional<Form> form = Matcher(*function).match();
    if (!form)
      return trace.skip(product, "the epilogue is no sum, gelu, or gradient of a gelu");
    if (!isNarrow(element) && !isExactInF32(*form))
      return trace.skip(product, "its f32 results would have other bits");
    // cuBLASLt's alignment of a leading dimension of that array.
    constexpr uint64_t kGradientColumns = 8;
    if (form->function == "gelu_gradient" && product.getN() % kGradientColumns != 0)
      return trace.skip(product, "rows of the gelu's operand have ", product.getN(),
                        " elements, which is no multiple of 8");
    Builder b(product.getContext());
    product.setLibraryEpilogueAttr(
        plan::LibraryEpilogueAttr::get(product.getContext(), form->function, b.getF64FloatAttr(form->factor),
                                       b.getF64FloatAttr(form->arrayFactor), form->array, form->bias));
    return true;
  }

  /// Whether one addition is all that is computed, with the bits of a kernel that adds. Results of 16 bits lose the
  /// rounding of the product, f32 would change in its last bits for little time: its products take longer.
  static bool isExactInF32(const Form &form) {
    bool isOneSum = form.array < 0 || (form.bias < 0 && std::abs(form.arrayFactor) == 1);
    return form.function == "identity" && std::abs(form.factor) == 1 && isOneSum;
  }
};

} // namespace
} // namespace spmdc
