//===- GpuIntrinsicsHelper.cpp - GPU instructions on this machine ---------===//
//
// Rounding modes are this machine's. Approximate instructions are computed exactly, so results can only be more
// accurate on this machine.
//
//===----------------------------------------------------------------------===//

#include "tests/passes/gpu/emulator/GpuIntrinsicsHelper.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>

namespace spmdc {
namespace {

class Table {
public:
  template <typename Function> void add(const std::string &name, Function function) {
    all.push_back({name, reinterpret_cast<void *>(+function)});
  }
  std::vector<GpuIntrinsic> all;
};

//===----------------------------------------------------------------------===//
// Arithmetic of floats
//===----------------------------------------------------------------------===//

// Operands are volatile, since the compiler assumes the default rounding mode.
struct Add {
  template <typename T> T operator()(const volatile T *x) const { return x[0] + x[1]; }
};
struct Sub {
  template <typename T> T operator()(const volatile T *x) const { return x[0] - x[1]; }
};
struct Mul {
  template <typename T> T operator()(const volatile T *x) const { return x[0] * x[1]; }
};
struct Div {
  template <typename T> T operator()(const volatile T *x) const { return x[0] / x[1]; }
};
struct Fma {
  template <typename T> T operator()(const volatile T *x) const { return std::fma(x[0], x[1], x[2]); }
};
struct Sqrt {
  template <typename T> T operator()(const volatile T *x) const { return std::sqrt(x[0]); }
};
struct Reciprocal {
  template <typename T> T operator()(const volatile T *x) const { return T(1) / x[0]; }
};
struct ReciprocalSqrt {
  template <typename T> T operator()(const volatile T *x) const {
    return static_cast<T>(1.0 / std::sqrt(static_cast<double>(x[0])));
  }
};
struct Exp2 {
  template <typename T> T operator()(const volatile T *x) const { return std::exp2(x[0]); }
};
struct Log2 {
  template <typename T> T operator()(const volatile T *x) const { return std::log2(x[0]); }
};
struct Sin {
  template <typename T> T operator()(const volatile T *x) const { return std::sin(x[0]); }
};
struct Cos {
  template <typename T> T operator()(const volatile T *x) const { return std::cos(x[0]); }
};
struct Tanh {
  template <typename T> T operator()(const volatile T *x) const { return std::tanh(x[0]); }
};
/// The result of `compute` in this rounding mode.
template <int Mode, typename Function> auto rounded(Function compute) {
  if constexpr (Mode == FE_TONEAREST)
    return compute();
  int before = std::fegetround();
  std::fesetround(Mode);
  volatile auto result = compute();
  std::fesetround(before);
  return result;
}

template <typename Op, int Mode, typename T, typename... Ts> T compute(Ts... xs) {
  volatile T operands[] = {xs...};
  return rounded<Mode>([&] { return Op()(static_cast<const volatile T *>(operands)); });
}

/// `name.f` and `name.d`, of an operation with `Arity` operands.
template <typename Op, int Mode, int Arity> void addArithmetic(Table &table, const std::string &name) {
  auto addType = [&]<typename T>(const std::string &suffix) {
    if constexpr (Arity == 1)
      table.add(name + suffix, [](T x) { return compute<Op, Mode, T>(x); });
    else if constexpr (Arity == 2)
      table.add(name + suffix, [](T x, T y) { return compute<Op, Mode, T>(x, y); });
    else
      table.add(name + suffix, [](T x, T y, T z) { return compute<Op, Mode, T>(x, y, z); });
  };
  addType.template operator()<float>(".f");
  addType.template operator()<double>(".d");
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

template <typename To, int Mode, typename From> To toFloat(From value) {
  return rounded<Mode>([&] {
    volatile From operand = value;
    return static_cast<To>(operand);
  });
}

template <int Mode> void addConversions(Table &table, const std::string &mode) {
  auto addIntegers = [&]<typename From>(const std::string &name) {
    table.add(name + "2f" + mode, [](From x) { return toFloat<float, Mode>(x); });
    table.add(name + "2d" + mode, [](From x) { return toFloat<double, Mode>(x); });
  };
  addIntegers.template operator()<int32_t>("i");
  addIntegers.template operator()<uint32_t>("ui");
  addIntegers.template operator()<int64_t>("ll");
  addIntegers.template operator()<uint64_t>("ull");
  table.add("d2f" + mode, [](double x) { return toFloat<float, Mode>(x); });
}

uint16_t toHalf(double x) { return std::bit_cast<uint16_t>(static_cast<_Float16>(x)); }

/// The bits of the nearest bf16, ties to even: by arithmetic on the value, not on its bits. NaN gives the same NaN as
/// PTX's cvt.rn.bf16.f32.
uint16_t toBf16(double x) {
  constexpr int kFraction = 7, kLowestExponent = -126, kHighestExponent = 127;
  if (std::isnan(x))
    return 0x7fff;
  if (std::isinf(x) || x == 0)
    return static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(x)) >> 16);
  // The distance of adjacent numbers here; below the lowest exponent it is constant.
  int exponent = std::max(std::ilogb(x), kLowestExponent) - kFraction;
  double rounded = std::ldexp(std::nearbyint(std::ldexp(x, -exponent)), exponent);
  if (std::fabs(rounded) >= std::ldexp(1.0, kHighestExponent + 1))
    rounded = std::copysign(HUGE_VAL, rounded);
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(rounded)) >> 16);
}

//===----------------------------------------------------------------------===//
// Families
//===----------------------------------------------------------------------===//

template <int Mode> void addRounded(Table &table, const std::string &mode) {
  addArithmetic<Add, Mode, 2>(table, "add" + mode);
  addArithmetic<Sub, Mode, 2>(table, "sub" + mode);
  addArithmetic<Mul, Mode, 2>(table, "mul" + mode);
  addArithmetic<Div, Mode, 2>(table, "div" + mode);
  addArithmetic<Fma, Mode, 3>(table, "fma" + mode);
  addArithmetic<Sqrt, Mode, 1>(table, "sqrt" + mode);
  addArithmetic<Reciprocal, Mode, 1>(table, "rcp" + mode);
  addConversions<Mode>(table, mode);
}

void addFloats(Table &table) {
  constexpr int kNearest = FE_TONEAREST;
  addRounded<FE_TOWARDZERO>(table, ".rz");
  addRounded<FE_DOWNWARD>(table, ".rm");
  addRounded<FE_UPWARD>(table, ".rp");
  addArithmetic<ReciprocalSqrt, kNearest, 1>(table, "rsqrt.approx");
  addArithmetic<Exp2, kNearest, 1>(table, "ex2.approx");
  addArithmetic<Log2, kNearest, 1>(table, "lg2.approx");
  addArithmetic<Sin, kNearest, 1>(table, "sin.approx");
  addArithmetic<Cos, kNearest, 1>(table, "cos.approx");
  // Adds the largest error of NVIDIA's manual, up or down by a bit of the argument, so that tests find code that needs
  // more accuracy.
  auto approximateTanh = [](float x) {
    float error = std::bit_cast<uint32_t>(x) & 0x100 ? 0x1p-11F : -0x1p-11F;
    return compute<Tanh, kNearest, float>(x) * (1 + error);
  };
  table.add("tanh.approx.f", approximateTanh);
  // Two units in the last place, up or down.
  auto divideFully = [](float x, float y) {
    float quotient = compute<Div, kNearest, float>(x, y);
    float limit = (std::bit_cast<uint32_t>(x) ^ std::bit_cast<uint32_t>(y)) & 0x10000 ? HUGE_VALF : 0.0F;
    if (quotient == 0 || !std::isfinite(quotient))
      return quotient;
    limit = std::copysign(limit, quotient);
    return std::nextafter(std::nextafter(quotient, limit), limit);
  };
  table.add("div.full.f", divideFully);
  table.add("d2h.rn", [](double x) { return toHalf(x); });
  table.add("d2bf16.rn", [](double x) { return toBf16(x); });
}

} // namespace

std::vector<GpuIntrinsic> getArithmeticIntrinsics() {
  Table table;
  addFloats(table);
  return std::move(table.all);
}

} // namespace spmdc
