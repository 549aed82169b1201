//===- GpuIntrinsicsHelper.cpp - llvm.nvvm.* on this machine --------------===//
//
// Approximate instructions are answered exactly: what the code makes of them may only be better on this machine.
//
//===----------------------------------------------------------------------===//

#include "tests/passes/gpu/GpuIntrinsicsHelper.h"

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>

namespace spmdc {
namespace {

float flush(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

template <typename To, typename From> To saturate(From value) {
  if (std::isnan(value))
    return 0;
  if (value <= static_cast<From>(std::numeric_limits<To>::min()))
    return std::numeric_limits<To>::min();
  if (value >= static_cast<From>(std::numeric_limits<To>::max()))
    return std::numeric_limits<To>::max();
  return static_cast<To>(value);
}

template <typename T, typename Function> T rounded(int mode, Function compute) {
  int before = std::fegetround();
  std::fesetround(mode);
  volatile T result = compute();
  std::fesetround(before);
  return result;
}

} // namespace

std::vector<GpuIntrinsic> getArithmeticIntrinsics() {
  std::vector<GpuIntrinsic> all;
  auto add = [&](const char *name, auto function) { all.push_back({name, reinterpret_cast<void *>(+function)}); };
  add("fma.rn.f", [](float x, float y, float z) { return std::fma(x, y, z); });
  add("fma.rn.d", [](double x, double y, double z) { return std::fma(x, y, z); });
  add("fma.rn.ftz.f", [](float x, float y, float z) { return flush(std::fma(flush(x), flush(y), flush(z))); });
  add("saturate.f", [](float x) { return std::isnan(x) ? 0.0f : std::fmin(std::fmax(x, 0.0f), 1.0f); });
  add("saturate.ftz.f", [](float x) { return std::isnan(x) ? 0.0f : flush(std::fmin(std::fmax(x, 0.0f), 1.0f)); });
  add("fma.rm.f", [](float x, float y, float z) {
    return rounded<float>(FE_DOWNWARD, [&] {
      volatile float a = x, b = y, c = z;
      return std::fma(a, b, c);
    });
  });
  add("ex2.approx.f", [](float x) { return std::exp2(x); });
  add("ex2.approx.ftz.f", [](float x) { return flush(std::exp2(flush(x))); });
  add("ex2.approx.d", [](double x) { return std::exp2(x); });
  add("lg2.approx.f", [](float x) { return std::log2(x); });
  add("lg2.approx.ftz.f", [](float x) { return flush(std::log2(flush(x))); });
  add("lg2.approx.d", [](double x) { return std::log2(x); });
  add("rcp.rn.f", [](float x) { return 1.0f / x; });
  add("rcp.rn.d", [](double x) { return 1.0 / x; });
  add("rcp.approx.ftz.f", [](float x) { return flush(1.0f / flush(x)); });
  add("rcp.approx.ftz.d", [](double x) { return 1.0 / x; });
  add("sqrt.f", [](float x) { return std::sqrt(x); });
  add("sqrt.rn.f", [](float x) { return std::sqrt(x); });
  add("sqrt.rn.d", [](double x) { return std::sqrt(x); });
  add("sqrt.approx.f", [](float x) { return std::sqrt(x); });
  add("sqrt.approx.ftz.f", [](float x) { return flush(std::sqrt(flush(x))); });
  add("rsqrt.approx.f", [](float x) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x))); });
  add("rsqrt.approx.ftz.f", [](float x) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(flush(x)))); });
  add("rsqrt.approx.d", [](double x) { return 1.0 / std::sqrt(x); });
  add("sin.approx.f", [](float x) { return std::sin(x); });
  add("cos.approx.f", [](float x) { return std::cos(x); });
  add("fabs.f", [](float x) { return std::fabs(x); });
  add("fabs.ftz.f", [](float x) { return std::fabs(flush(x)); });
  add("fabs.d", [](double x) { return std::fabs(x); });
  add("floor.f", [](float x) { return std::floor(x); });
  add("floor.d", [](double x) { return std::floor(x); });
  add("ceil.f", [](float x) { return std::ceil(x); });
  add("ceil.d", [](double x) { return std::ceil(x); });
  add("trunc.f", [](float x) { return std::trunc(x); });
  add("trunc.d", [](double x) { return std::trunc(x); });
  // To the nearest, ties to even.
  add("round.f", [](float x) { return std::nearbyint(x); });
  add("round.d", [](double x) { return std::nearbyint(x); });
  add("fmin.f", [](float x, float y) { return std::fmin(x, y); });
  add("fmax.f", [](float x, float y) { return std::fmax(x, y); });
  add("fmin.d", [](double x, double y) { return std::fmin(x, y); });
  add("fmax.d", [](double x, double y) { return std::fmax(x, y); });
  add("add.rn.f", [](float x, float y) { return x + y; });
  add("add.rn.d", [](double x, double y) { return x + y; });
  add("mul.rn.f", [](float x, float y) { return x * y; });
  add("mul.rn.d", [](double x, double y) { return x * y; });
  add("add.rz.f", [](float x, float y) { return rounded<float>(FE_TOWARDZERO, [&] { return x + y; }); });
  add("div.rn.f", [](float x, float y) { return x / y; });
  add("div.rn.d", [](double x, double y) { return x / y; });
  add("div.approx.f", [](float x, float y) { return x / y; });
  add("f2i.rn", [](float x) { return saturate<int32_t>(std::nearbyint(x)); });
  add("f2i.rz", [](float x) { return saturate<int32_t>(x); });
  add("f2i.rn.ftz", [](float x) { return saturate<int32_t>(std::nearbyint(flush(x))); });
  add("f2i.rz.ftz", [](float x) { return saturate<int32_t>(flush(x)); });
  add("f2ui.rz", [](float x) { return saturate<uint32_t>(x); });
  add("d2i.rn", [](double x) { return saturate<int32_t>(std::nearbyint(x)); });
  add("d2i.rz", [](double x) { return saturate<int32_t>(x); });
  add("d2ll.rn", [](double x) { return saturate<int64_t>(std::nearbyint(x)); });
  add("d2ll.rz", [](double x) { return saturate<int64_t>(x); });
  add("i2d.rn", [](int32_t x) { return static_cast<double>(x); });
  add("ui2d.rn", [](uint32_t x) { return static_cast<double>(x); });
  add("ll2d.rn", [](int64_t x) { return static_cast<double>(x); });
  add("ull2d.rn", [](uint64_t x) { return static_cast<double>(x); });
  add("i2f.rn", [](int32_t x) { return static_cast<float>(x); });
  add("d2i.lo", [](double x) { return static_cast<int32_t>(std::bit_cast<int64_t>(x)); });
  add("d2i.hi", [](double x) { return static_cast<int32_t>(std::bit_cast<int64_t>(x) >> 32); });
  add("lohi.i2d",
      [](uint32_t low, uint32_t high) { return std::bit_cast<double>(static_cast<uint64_t>(high) << 32 | low); });
  add("bitcast.f2i", [](float x) { return std::bit_cast<int32_t>(x); });
  add("bitcast.i2f", [](int32_t x) { return std::bit_cast<float>(x); });
  add("bitcast.d2ll", [](double x) { return std::bit_cast<int64_t>(x); });
  add("bitcast.ll2d", [](int64_t x) { return std::bit_cast<double>(x); });
  add("mulhi.i", [](int32_t x, int32_t y) { return static_cast<int32_t>(static_cast<int64_t>(x) * y >> 32); });
  add("mulhi.ui", [](uint32_t x, uint32_t y) { return static_cast<uint32_t>(static_cast<uint64_t>(x) * y >> 32); });
  add("mulhi.ull",
      [](uint64_t x, uint64_t y) { return static_cast<uint64_t>(static_cast<unsigned __int128>(x) * y >> 64); });
  return all;
}

} // namespace spmdc
