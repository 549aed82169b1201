//===- GpuIntrinsicsHelper.cpp - GPU instructions on this machine ---------===//
//
// All arithmetic of libdevice and the NVPTX backend in llvm.nvvm.*, family by family: rounding modes are this
// machine's, `ftz` turns subnormal operands and results into zero. Approximate instructions are computed exactly, so
// results can only be more accurate on this machine.
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
struct Abs {
  template <typename T> T operator()(const volatile T *x) const { return std::fabs(x[0]); }
};
struct Floor {
  template <typename T> T operator()(const volatile T *x) const { return std::floor(x[0]); }
};
struct Ceil {
  template <typename T> T operator()(const volatile T *x) const { return std::ceil(x[0]); }
};
struct Trunc {
  template <typename T> T operator()(const volatile T *x) const { return std::trunc(x[0]); }
};
/// Ties to even.
struct Round {
  template <typename T> T operator()(const volatile T *x) const { return std::nearbyint(x[0]); }
};
struct Min {
  template <typename T> T operator()(const volatile T *x) const { return std::fmin(x[0], x[1]); }
};
struct Max {
  template <typename T> T operator()(const volatile T *x) const { return std::fmax(x[0], x[1]); }
};
struct Saturate {
  template <typename T> T operator()(const volatile T *x) const {
    T value = x[0];
    return std::isnan(value) ? T(0) : std::fmin(std::fmax(value, T(0)), T(1));
  }
};

template <typename T> T flush(T x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(T(0), x) : x; }

/// The result of `compute` in this rounding mode.
template <int Mode, typename Function> auto rounded(Function compute) {
  int before = std::fegetround();
  std::fesetround(Mode);
  volatile auto result = compute();
  std::fesetround(before);
  return result;
}

template <typename Op, int Mode, bool IsFlushed, typename T, typename... Ts> T compute(Ts... xs) {
  volatile T operands[] = {(IsFlushed ? flush(xs) : xs)...};
  T result = rounded<Mode>([&] { return Op()(static_cast<const volatile T *>(operands)); });
  return IsFlushed ? flush(result) : result;
}

/// `name.f`, `name.ftz.f`, `name.d`, of an operation with `Arity` operands.
template <typename Op, int Mode, int Arity> void addArithmetic(Table &table, const std::string &name) {
  auto addType = [&]<typename T, bool IsFlushed>(const std::string &suffix) {
    if constexpr (Arity == 1)
      table.add(name + suffix, [](T x) { return compute<Op, Mode, IsFlushed, T>(x); });
    else if constexpr (Arity == 2)
      table.add(name + suffix, [](T x, T y) { return compute<Op, Mode, IsFlushed, T>(x, y); });
    else
      table.add(name + suffix, [](T x, T y, T z) { return compute<Op, Mode, IsFlushed, T>(x, y, z); });
  };
  addType.template operator()<float, false>(".f");
  addType.template operator()<float, true>(".ftz.f");
  addType.template operator()<double, false>(".d");
  // Approximate instructions of double flush values that f32 would not; computed exactly, they need not.
  addType.template operator()<double, false>(".ftz.d");
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

/// To an integer: the nearest value, NaN to 0.
template <typename To, int Mode, bool IsFlushed, typename From> To toInteger(From value) {
  if (IsFlushed)
    value = flush(value);
  if (std::isnan(value))
    return 0;
  value = rounded<Mode>([&] {
    volatile From operand = value;
    return std::nearbyint(operand);
  });
  if (value <= static_cast<From>(std::numeric_limits<To>::min()))
    return std::numeric_limits<To>::min();
  if (value >= static_cast<From>(std::numeric_limits<To>::max()))
    return std::numeric_limits<To>::max();
  return static_cast<To>(value);
}

template <typename To, int Mode, typename From> To toFloat(From value) {
  return rounded<Mode>([&] {
    volatile From operand = value;
    return static_cast<To>(operand);
  });
}

template <int Mode> void addConversions(Table &table, const std::string &mode) {
  auto addIntegers = [&]<typename To>(const std::string &name, const std::string &letter) {
    table.add("f2" + name + mode, [](float x) { return toInteger<To, Mode, false>(x); });
    table.add("f2" + name + mode + ".ftz", [](float x) { return toInteger<To, Mode, true>(x); });
    table.add("d2" + name + mode, [](double x) { return toInteger<To, Mode, false>(x); });
    table.add(letter + "2f" + mode, [](To x) { return toFloat<float, Mode>(x); });
    table.add(letter + "2d" + mode, [](To x) { return toFloat<double, Mode>(x); });
  };
  addIntegers.template operator()<int32_t>("i", "i");
  addIntegers.template operator()<uint32_t>("ui", "ui");
  addIntegers.template operator()<int64_t>("ll", "ll");
  addIntegers.template operator()<uint64_t>("ull", "ull");
  table.add("d2f" + mode, [](double x) { return toFloat<float, Mode>(x); });
  table.add("d2f" + mode + ".ftz", [](double x) { return flush(toFloat<float, Mode>(x)); });
}

uint16_t toHalf(float x) { return std::bit_cast<uint16_t>(static_cast<_Float16>(x)); }

/// The bits of the nearest bf16, ties to even: by arithmetic on the value, not on its bits. NaN gives the same NaN as
/// PTX's cvt.rn.bf16.f32.
uint16_t toBf16(float x) {
  constexpr int kFraction = 7, kLowestExponent = -126, kHighestExponent = 127;
  if (std::isnan(x))
    return 0x7fff;
  if (std::isinf(x) || x == 0)
    return static_cast<uint16_t>(std::bit_cast<uint32_t>(x) >> 16);
  // The distance of adjacent numbers here; below the lowest exponent it is constant.
  int exponent = std::max(std::ilogb(x), kLowestExponent) - kFraction;
  double rounded = std::ldexp(std::nearbyint(std::ldexp(static_cast<double>(x), -exponent)), exponent);
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
  addRounded<kNearest>(table, ".rn");
  addRounded<FE_TOWARDZERO>(table, ".rz");
  addRounded<FE_DOWNWARD>(table, ".rm");
  addRounded<FE_UPWARD>(table, ".rp");
  addArithmetic<Div, kNearest, 2>(table, "div.approx");
  addArithmetic<Reciprocal, kNearest, 1>(table, "rcp.approx");
  addArithmetic<Sqrt, kNearest, 1>(table, "sqrt");
  addArithmetic<Sqrt, kNearest, 1>(table, "sqrt.approx");
  addArithmetic<ReciprocalSqrt, kNearest, 1>(table, "rsqrt.approx");
  addArithmetic<Exp2, kNearest, 1>(table, "ex2.approx");
  addArithmetic<Log2, kNearest, 1>(table, "lg2.approx");
  addArithmetic<Sin, kNearest, 1>(table, "sin.approx");
  addArithmetic<Cos, kNearest, 1>(table, "cos.approx");
  // Adds the largest error of NVIDIA's manual, up or down by a bit of the argument, so that tests find code that needs
  // more accuracy.
  auto approximateTanh = [](float x) {
    float error = std::bit_cast<uint32_t>(x) & 0x100 ? 0x1p-11F : -0x1p-11F;
    return compute<Tanh, kNearest, false, float>(x) * (1 + error);
  };
  table.add("tanh.approx.f", approximateTanh);   // The instruction, as inline assembly.
  table.add("tanh.approx.f32", approximateTanh); // libdevice's intrinsic.
  addArithmetic<Abs, kNearest, 1>(table, "fabs");
  addArithmetic<Floor, kNearest, 1>(table, "floor");
  addArithmetic<Ceil, kNearest, 1>(table, "ceil");
  addArithmetic<Trunc, kNearest, 1>(table, "trunc");
  addArithmetic<Round, kNearest, 1>(table, "round");
  addArithmetic<Min, kNearest, 2>(table, "fmin");
  addArithmetic<Max, kNearest, 2>(table, "fmax");
  addArithmetic<Saturate, kNearest, 1>(table, "saturate");
  table.add("f2h.rn", [](float x) { return toHalf(x); });
  table.add("f2bf16.rn", [](float x) { return toBf16(x); });
  table.add("f2h.rn.ftz", [](float x) { return toHalf(flush(x)); });
}

void addBits(Table &table) {
  table.add("d2i.lo", [](double x) { return static_cast<int32_t>(std::bit_cast<int64_t>(x)); });
  table.add("d2i.hi", [](double x) { return static_cast<int32_t>(std::bit_cast<int64_t>(x) >> 32); });
  table.add("lohi.i2d",
            [](uint32_t low, uint32_t high) { return std::bit_cast<double>(static_cast<uint64_t>(high) << 32 | low); });
  table.add("bitcast.f2i", [](float x) { return std::bit_cast<int32_t>(x); });
  table.add("bitcast.i2f", [](int32_t x) { return std::bit_cast<float>(x); });
  table.add("bitcast.d2ll", [](double x) { return std::bit_cast<int64_t>(x); });
  table.add("bitcast.ll2d", [](int64_t x) { return std::bit_cast<double>(x); });
  table.add("mulhi.i", [](int32_t x, int32_t y) { return static_cast<int32_t>(static_cast<int64_t>(x) * y >> 32); });
  table.add("mulhi.ui",
            [](uint32_t x, uint32_t y) { return static_cast<uint32_t>(static_cast<uint64_t>(x) * y >> 32); });
  table.add("mulhi.ll", [](int64_t x, int64_t y) { return static_cast<int64_t>(static_cast<__int128>(x) * y >> 64); });
  table.add("mulhi.ull",
            [](uint64_t x, uint64_t y) { return static_cast<uint64_t>(static_cast<unsigned __int128>(x) * y >> 64); });
  // |x - y| + z.
  table.add("sad.i", [](int32_t x, int32_t y, uint32_t z) {
    return static_cast<uint32_t>(x > y ? static_cast<int64_t>(x) - y : static_cast<int64_t>(y) - x) + z;
  });
  table.add("sad.ui", [](uint32_t x, uint32_t y, uint32_t z) { return (x > y ? x - y : y - x) + z; });
  // Byte i of the result is that of the eight bytes of y:x which nibble i of the selector names, or its sign.
  table.add("prmt", [](uint32_t x, uint32_t y, uint32_t selector) {
    uint64_t bytes = static_cast<uint64_t>(y) << 32 | x;
    uint32_t result = 0;
    for (unsigned i = 0; i < 4; ++i) {
      uint32_t nibble = selector >> (4 * i) & 15;
      uint32_t byte = static_cast<uint32_t>(bytes >> (8 * (nibble & 7))) & 255;
      if (nibble & 8)
        byte = byte & 128 ? 255 : 0;
      result |= byte << (8 * i);
    }
    return result;
  });
}

} // namespace

std::vector<GpuIntrinsic> getArithmeticIntrinsics() {
  Table table;
  addFloats(table);
  addBits(table);
  return std::move(table.all);
}

} // namespace spmdc
