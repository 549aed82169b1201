//===- EmulatedInstructionsTest.cpp - results of PTX instructions ---------===//
//
// Instructions of the emulator on operands at which they are special. Plain C++ computes the expected results from the
// semantics in NVIDIA's PTX ISA, mostly bit by bit as its pseudo code is written.
//
//===----------------------------------------------------------------------===//

#include "tests/passes/gpu/EmulatedKernelHelper.h"
#include "tests/passes/gpu/emulator/GpuEmulatorHelper.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

using namespace spmdc;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();

/// Runs statements that compute %rd9 from %rd1, %rd2, %rd3, their low halves %r1 to %r3 and, as floats, %f1 to %f3 and
/// %fd1 to %fd3.
class Statements {
public:
  explicit Statements(const std::string &body) : text(body), emulator(emulatedKernel(wrap(body)), problem) {
    EXPECT_EQ(problem, "") << body;
  }

  uint64_t operator()(uint64_t x, uint64_t y = 0, uint64_t z = 0) {
    uint64_t words[4] = {0, x, y, z};
    if (problem.empty())
      problem = emulator.launch("f", {.blockThreads = 1, .arguments = {words}, .buffers = {{words, sizeof(words)}}});
    EXPECT_EQ(problem, "") << text;
    return words[0];
  }
  uint32_t of32(uint64_t x, uint64_t y = 0, uint64_t z = 0) { return static_cast<uint32_t>((*this)(x, y, z)); }
  float ofFloats(float x, float y = 0, float z = 0) {
    return std::bit_cast<float>(
        of32(std::bit_cast<uint32_t>(x), std::bit_cast<uint32_t>(y), std::bit_cast<uint32_t>(z)));
  }
  uint64_t ofFloat(float x) { return (*this)(std::bit_cast<uint32_t>(x)); }
  uint64_t ofDouble(double x) { return (*this)(std::bit_cast<uint64_t>(x)); }

private:
  static std::string wrap(const std::string &body) {
    std::string all;
    for (const char *number : {"1", "2", "3"})
      all += std::string("ld.global.u64 %rd") + number + ", [%p+" + std::to_string(8 * (number[0] - '0')) +
             "];\ncvt.u32.u64 %r" + number + ", %rd" + number + ";\nmov.b32 %f" + number + ", %r" + number +
             ";\nmov.b64 %fd" + number + ", %rd" + number + ";\ncvt.u16.u32 %h" + number + ", %r" + number + ";\n";
    return all + body + "\nst.global.u64 [%p], %rd9;";
  }

  std::string text, problem;
  GpuEmulator emulator;
};

/// One instruction with a result of 32 bits in %r9.
Statements of(const std::string &instruction) { return Statements(instruction + ";\ncvt.u64.u32 %rd9, %r9;"); }
/// One with a result in %f9.
Statements toFloat(const std::string &instruction) {
  return Statements(instruction + ";\nmov.b32 %r9, %f9;\ncvt.u64.u32 %rd9, %r9;");
}
/// One with a result in %q9.
Statements toBool(const std::string &instruction) { return Statements(instruction + ";\nselp.u64 %rd9, 1, 0, %q9;"); }

const uint32_t kNumbers[] = {0, 1, 2, 5, 0x7fffffff, 0x80000000, 0x80000001, 0xdeadbeef, 0xffffffff};
const uint32_t kAmounts[] = {0, 1, 7, 16, 31, 32, 33, 40, 63, 64, 200, 255, 256, 0xffffffff};

} // namespace

TEST(EmulatedInstructions, ShiftsClampAtTheWidth) {
  Statements left = of("shl.b32 %r9, %r1, %r2"), right = of("shr.u32 %r9, %r1, %r2"),
             sign = of("shr.s32 %r9, %r1, %r2"), wide = Statements("shl.b64 %rd9, %rd1, %r2;"),
             wideSign = Statements("shr.s64 %rd9, %rd1, %r2;"),
             narrow = Statements("shl.b16 %h9, %h1, %r2;\ncvt.u64.u16 %rd9, %h9;");
  for (uint32_t x : kNumbers)
    for (uint32_t n : kAmounts) {
      EXPECT_EQ(left.of32(x, n), n > 31 ? 0 : x << n);
      EXPECT_EQ(right.of32(x, n), n > 31 ? 0 : x >> n);
      EXPECT_EQ(sign.of32(x, n), static_cast<uint32_t>(static_cast<int32_t>(x) >> (n > 31 ? 31 : n)));
      uint64_t both = static_cast<uint64_t>(x) << 32 | 0x12345678;
      EXPECT_EQ(wide(both, n), n > 63 ? 0 : both << n);
      EXPECT_EQ(wideSign(both, n), static_cast<uint64_t>(static_cast<int64_t>(both) >> (n > 63 ? 63 : n)));
      EXPECT_EQ(narrow(x, n), n > 15 ? 0 : (x & 0xffff) << n & 0xffff);
    }
}

TEST(EmulatedInstructions, FunnelShifts) {
  Statements left = of("shf.l.wrap.b32 %r9, %r1, %r2, %r3"), right = of("shf.r.wrap.b32 %r9, %r1, %r2, %r3"),
             leftClamp = of("shf.l.clamp.b32 %r9, %r1, %r2, %r3"),
             rightClamp = of("shf.r.clamp.b32 %r9, %r1, %r2, %r3");
  // The ISA: d = (b << n) | (a >> (32 - n)) and d = (b << (32 - n)) | (a >> n), where shifts by 32 give 0.
  auto shl = [](uint32_t x, uint32_t n) { return n > 31 ? 0 : x << n; };
  auto shr = [](uint32_t x, uint32_t n) { return n > 31 ? 0 : x >> n; };
  for (uint32_t n : kAmounts) {
    uint32_t low = 0x89abcdef, high = 0x01234567, wrapped = n & 31, clamped = std::min(n, 32u);
    EXPECT_EQ(left.of32(low, high, n), shl(high, wrapped) | shr(low, 32 - wrapped));
    EXPECT_EQ(right.of32(low, high, n), shl(high, 32 - wrapped) | shr(low, wrapped));
    EXPECT_EQ(leftClamp.of32(low, high, n), shl(high, clamped) | shr(low, 32 - clamped));
    EXPECT_EQ(rightClamp.of32(low, high, n), shl(high, 32 - clamped) | shr(low, clamped));
  }
}

// Carries of 32-bit words, as libdevice multiplies and adds wide numbers with them.
TEST(EmulatedInstructions, CarryChains) {
  Statements product("mad.lo.cc.u32 %r4, %r1, %r2, %r3;\nmadc.hi.u32 %r5, %r1, %r2, 0;\nmov.b64 %rd9, {%r4, %r5};"),
      sum("{ .reg .u32 a0, a1, b0, b1;\nmov.b64 {a0, a1}, %rd1;\nmov.b64 {b0, b1}, %rd2;\n"
          "add.cc.u32 a0, a0, b0;\naddc.u32 a1, a1, b1;\nmov.b64 %rd9, {a0, a1}; }"),
      difference("{ .reg .u32 a0, a1, b0, b1;\nmov.b64 {a0, a1}, %rd1;\nmov.b64 {b0, b1}, %rd2;\n"
                 "sub.cc.u32 a0, a0, b0;\nsubc.u32 a1, a1, b1;\nmov.b64 %rd9, {a0, a1}; }"),
      // The carry of three sums in turn: into the second one, out of it, into the third one.
      chain("add.cc.u32 %r4, %r1, %r2;\naddc.cc.u32 %r5, %r1, %r3;\naddc.u32 %r6, 0, 0;\nmov.b64 %rd9, {%r5, %r6};");
  for (uint64_t x : kNumbers)
    for (uint64_t y : kNumbers) {
      EXPECT_EQ(product(x, y, 0xfffffff0), x * y + 0xfffffff0);
      uint64_t a = x << 32 | y, b = y << 32 | x;
      EXPECT_EQ(sum(a, b), a + b);
      EXPECT_EQ(difference(a, b), a - b);
      EXPECT_EQ(chain(x, y, 0xffffffff), x + 0xffffffff + ((x + y) >> 32));
    }
}

TEST(EmulatedInstructions, Products) {
  Statements high = of("mul.hi.u32 %r9, %r1, %r2"), highSigned = of("mul.hi.s32 %r9, %r1, %r2"),
             wide("mul.wide.s32 %rd9, %r1, %r2;"), high64("mul.hi.s64 %rd9, %rd1, %rd2;"),
             high16("mul.hi.u16 %h9, %h1, %h2;\ncvt.u64.u16 %rd9, %h9;"), madWide("mad.wide.u32 %rd9, %r1, %r2, %rd3;");
  for (uint64_t x : kNumbers)
    for (uint64_t y : kNumbers) {
      auto product = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(x)) * static_cast<int32_t>(y));
      EXPECT_EQ(high.of32(x, y), static_cast<uint32_t>(x * y >> 32));
      EXPECT_EQ(highSigned.of32(x, y), static_cast<uint32_t>(product >> 32));
      EXPECT_EQ(wide(x, y), product);
      EXPECT_EQ(high16(x, y), (x & 0xffff) * (y & 0xffff) >> 16);
      EXPECT_EQ(madWide(x, y, UINT64_MAX), x * y - 1);
      auto a = static_cast<int64_t>(x << 32 | y), b = static_cast<int64_t>(y << 32 | x);
      EXPECT_EQ(high64(x << 32 | y, y << 32 | x), static_cast<uint64_t>(static_cast<__int128>(a) * b >> 64));
    }
}

// Two numbers of 16 bits in a register, which do not carry into each other (PTX 8.0, sm_90).
TEST(EmulatedInstructions, PairsOfIntegers) {
  Statements least = of("min.s16x2 %r9, %r1, %r2"), most = of("max.u16x2 %r9, %r1, %r2"),
             sum = of("add.u16x2 %r9, %r1, %r2");
  auto pair = [](uint32_t x, uint32_t y, auto combine) {
    auto part = [&](uint32_t shift) {
      return static_cast<uint16_t>(combine(static_cast<uint16_t>(x >> shift), static_cast<uint16_t>(y >> shift)));
    };
    return static_cast<uint32_t>(part(16)) << 16 | part(0);
  };
  for (uint32_t x : kNumbers)
    for (uint32_t y : kNumbers) {
      EXPECT_EQ(least.of32(x, y), pair(x, y, [](uint16_t a, uint16_t b) {
                  return std::min(static_cast<int16_t>(a), static_cast<int16_t>(b));
                }));
      EXPECT_EQ(most.of32(x, y), pair(x, y, [](uint16_t a, uint16_t b) { return std::max(a, b); }));
      EXPECT_EQ(sum.of32(x, y), pair(x, y, [](uint16_t a, uint16_t b) { return a + b; }));
    }
}

// The ISA leaves quotients by zero open; neither these nor the lowest number by -1 may end the process.
TEST(EmulatedInstructions, Quotients) {
  Statements quotient = of("div.s32 %r9, %r1, %r2"), remainder = of("rem.s32 %r9, %r1, %r2"),
             plain = of("div.u32 %r9, %r1, %r2"), plainRemainder = of("rem.u32 %r9, %r1, %r2");
  for (uint32_t x : kNumbers)
    for (uint32_t y : kNumbers) {
      auto a = static_cast<int64_t>(static_cast<int32_t>(x)), b = static_cast<int64_t>(static_cast<int32_t>(y));
      EXPECT_EQ(quotient.of32(x, y), y ? static_cast<uint32_t>(a / b) : UINT32_MAX);
      EXPECT_EQ(remainder.of32(x, y), y ? static_cast<uint32_t>(a % b) : x);
      EXPECT_EQ(plain.of32(x, y), y ? x / y : UINT32_MAX);
      EXPECT_EQ(plainRemainder.of32(x, y), y ? x % y : x);
    }
}

// The pseudo code of bfe and bfi.
TEST(EmulatedInstructions, FieldsOfBits) {
  Statements plain = of("bfe.u32 %r9, %r1, %r2, %r3"), extended = of("bfe.s32 %r9, %r1, %r2, %r3"),
             insert("bfi.b32 %r9, %r1, 0x5a5a5a5a, %r2, %r3;\ncvt.u64.u32 %rd9, %r9;");
  for (uint32_t x : kNumbers)
    for (uint32_t position : kAmounts)
      for (uint32_t length : kAmounts) {
        uint32_t at = position & 255, count = length & 255;
        bool sign = count != 0 && (x >> std::min(at + count - 1, 31u) & 1);
        uint32_t zeros = 0, signs = 0, inserted = 0x5a5a5a5a;
        for (uint32_t i = 0; i < 32; ++i) {
          bool isInside = i < count && at + i <= 31;
          zeros |= (isInside ? x >> (at + i) & 1 : 0) << i;
          signs |= (isInside ? x >> (at + i) & 1 : sign) << i;
          if (isInside)
            inserted = (inserted & ~(1u << (at + i))) | (x >> i & 1) << (at + i);
        }
        ASSERT_EQ(plain.of32(x, position, length), zeros) << x << " " << position << " " << length;
        ASSERT_EQ(extended.of32(x, position, length), signs) << x << " " << position << " " << length;
        ASSERT_EQ(insert.of32(x, position, length), inserted) << x << " " << position << " " << length;
      }
}

TEST(EmulatedInstructions, BytesAndCounts) {
  Statements permute = of("prmt.b32 %r9, %r1, %r2, %r3"), ones = of("popc.b64 %r9, %rd1"),
             zeros = of("clz.b32 %r9, %r1"), reversed = of("brev.b32 %r9, %r1"), find = of("bfind.u32 %r9, %r1"),
             findSigned = of("bfind.s32 %r9, %r1"), distance = of("bfind.shiftamt.u32 %r9, %r1"),
             sad = of("sad.s32 %r9, %r1, %r2, %r3");
  const uint8_t bytes[] = {0x11, 0x92, 0x33, 0xf4, 0x55, 0xe6, 0x77, 0x88};
  for (uint32_t selector : {0x3210u, 0x7654u, 0x0123u, 0xfedcu, 0xba98u, 0x4040u, 0xffff8888u}) {
    uint32_t expected = 0;
    for (int i = 0; i < 4; ++i) {
      uint32_t nibble = selector >> (4 * i) & 15, byte = bytes[nibble & 7];
      expected |= (nibble & 8 ? (byte & 128 ? 255u : 0u) : byte) << (8 * i);
    }
    EXPECT_EQ(permute.of32(0xf4339211, 0x8877e655, selector), expected);
  }
  for (uint32_t x : kNumbers) {
    uint32_t turned = 0;
    int highest = -1, highestOther = -1;
    for (int i = 0; i < 32; ++i) {
      turned |= (x >> i & 1) << (31 - i);
      highest = x >> i & 1 ? i : highest;
      highestOther = (x >> i & 1) != x >> 31 ? i : highestOther;
    }
    EXPECT_EQ(reversed.of32(x), turned);
    EXPECT_EQ(static_cast<int>(find.of32(x)), highest);
    EXPECT_EQ(static_cast<int>(findSigned.of32(x)), highestOther);
    EXPECT_EQ(static_cast<int>(distance.of32(x)), highest < 0 ? -1 : 31 - highest);
    EXPECT_EQ(static_cast<int>(zeros.of32(x)), 31 - highest);
    EXPECT_EQ(ones.of32(uint64_t{x} << 32 | x), 2u * std::popcount(x));
    EXPECT_EQ(sad.of32(x, 5, 10), static_cast<uint32_t>(std::abs(int64_t{static_cast<int32_t>(x)} - 5)) + 10);
  }
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

TEST(EmulatedInstructions, ExtremaOfNan) {
  Statements least = toFloat("min.f32 %f9, %f1, %f2"), most = toFloat("max.f32 %f9, %f1, %f2"),
             strict = toFloat("max.NaN.f32 %f9, %f1, %f2");
  EXPECT_EQ(least.ofFloats(kNan, 2), 2);
  EXPECT_EQ(least.ofFloats(2, kNan), 2);
  EXPECT_EQ(most.ofFloats(kNan, -kInfinity), -kInfinity);
  EXPECT_TRUE(std::isnan(most.ofFloats(kNan, kNan)));
  EXPECT_TRUE(std::isnan(strict.ofFloats(kNan, 2)) && std::isnan(strict.ofFloats(2, kNan)));
  EXPECT_EQ(strict.ofFloats(3, 2), 3);
  // -0 is less than 0.
  for (auto [x, y] : {std::pair(0.0f, -0.0f), {-0.0f, 0.0f}}) {
    EXPECT_TRUE(std::signbit(least.ofFloats(x, y)));
    EXPECT_FALSE(std::signbit(most.ofFloats(x, y)));
  }
}

TEST(EmulatedInstructions, SumsAreNotJoinedAndFmaIsOne) {
  float x = 1 + 0x1p-12f;
  // x * x has 24 bits behind the point, of which the last one is lost.
  EXPECT_EQ(toFloat("fma.rn.f32 %f9, %f1, %f1, %f2").ofFloats(x, -(1 + 0x1p-11f)), 0x1p-24f);
  EXPECT_EQ(toFloat("mul.rn.f32 %f8, %f1, %f1;\nadd.rn.f32 %f9, %f8, %f2").ofFloats(x, -(1 + 0x1p-11f)), 0);
}

// div.full is off by two units in the last place, here from the rounded quotient. Rounded to bf16 it is the quotient of
// two bf16 values, for all mantissas, also near the largest number; of subnormal ones ties may differ.
TEST(EmulatedInstructions, FullDivision) {
  Statements divide = toFloat("div.full.f32 %f9, %f1, %f2");
  auto toBf16 = [](double x) {
    auto bits = std::bit_cast<uint64_t>(x);
    // f64 has 45 bits more of the mantissa; subnormal numbers of bf16 are multiples of 2^-133.
    if (std::abs(x) < 0x1p-126)
      return std::nearbyint(x * 0x1p133) * 0x1p-133;
    return std::bit_cast<double>((bits + (1ull << 44) - 1 + (bits >> 45 & 1)) >> 45 << 45);
  };
  int different = 0;
  for (int a = 128; a < 256; ++a)
    for (int b = 128; b < 256; ++b)
      for (auto [up, down] : {std::pair(0, 0), {-60, 66}, {-60, 70}, {60, -67}}) {
        auto x = std::ldexp(static_cast<float>(a), up), y = std::ldexp(static_cast<float>(b), down);
        double exact = static_cast<double>(x) / y, actual = divide.ofFloats(x, y);
        ASSERT_NEAR(actual, exact, std::max(exact * 0x1.4p-22, 0x1.4p-148)) << x << " " << y;
        bool isTie = exact < 0x1p-126 && std::fmod(exact, 0x1p-133) == 0x1p-134;
        ASSERT_NEAR(toBf16(actual), toBf16(exact), isTie ? 0x1p-133 : 0) << x << " " << y;
        different += static_cast<float>(exact) != static_cast<float>(actual);
      }
  EXPECT_GT(different, 10000);
  EXPECT_EQ(divide.ofFloats(1, 0), kInfinity);
  EXPECT_TRUE(std::isnan(divide.ofFloats(0, 0)));
  EXPECT_TRUE(std::signbit(divide.ofFloats(0, -3)));
}

TEST(EmulatedInstructions, RoundingModes) {
  float tiny = 0x1p-30f, above = std::nextafter(1.0f, 2.0f), below = std::nextafter(1.0f, 0.0f);
  EXPECT_EQ(toFloat("add.rn.f32 %f9, %f1, %f2").ofFloats(1, tiny), 1);
  EXPECT_EQ(toFloat("add.rp.f32 %f9, %f1, %f2").ofFloats(1, tiny), above);
  EXPECT_EQ(toFloat("sub.rm.f32 %f9, %f1, %f2").ofFloats(1, tiny), below);
  EXPECT_EQ(toFloat("sub.rz.f32 %f9, %f1, %f2").ofFloats(1, tiny), below);
  EXPECT_EQ(toFloat("add.rz.f32 %f9, %f1, %f2").ofFloats(-1, tiny), -below);
  EXPECT_EQ(toFloat("fma.rm.f32 %f9, %f1, %f2, %f3").ofFloats(1, 1, -tiny), below);
}

TEST(EmulatedInstructions, SubnormalNumbersAreFlushedOnlyIfAsked) {
  float subnormal = 0x1p-130f;
  EXPECT_EQ(toFloat("mul.rn.f32 %f9, %f1, %f2").ofFloats(subnormal, 2), 0x1p-129f);
  EXPECT_EQ(toFloat("mul.rn.ftz.f32 %f9, %f1, %f2").ofFloats(subnormal, 0x1p100f), 0);
  EXPECT_EQ(toFloat("mul.rn.ftz.f32 %f9, %f1, %f2").ofFloats(0x1p-100f, 0x1p-30f), 0);
  EXPECT_TRUE(std::signbit(toFloat("add.ftz.f32 %f9, %f1, %f2").ofFloats(-subnormal, -0.0f)));
}

// Of f64, the upper 32 bits of the operand and of the result alone.
TEST(EmulatedInstructions, CoarseReciprocal) {
  Statements reciprocal("rcp.approx.ftz.f64 %fd9, %fd1;\nmov.b64 %rd9, %fd9;");
  EXPECT_EQ(reciprocal.ofDouble(4), std::bit_cast<uint64_t>(0.25));
  constexpr uint64_t kUpper = 0xffffffff00000000;
  double third = std::bit_cast<double>(std::bit_cast<uint64_t>(1 / 3.0) & kUpper);
  EXPECT_EQ(reciprocal.ofDouble(3), std::bit_cast<uint64_t>(third));
  EXPECT_EQ(reciprocal.ofDouble(3 + 0x1p-40), std::bit_cast<uint64_t>(third));
}

TEST(EmulatedInstructions, Comparisons) {
  auto holds = [](const std::string &name, float x, float y) {
    return toBool("setp." + name + ".f32 %q9, %f1, %f2")(std::bit_cast<uint32_t>(x), std::bit_cast<uint32_t>(y)) != 0;
  };
  struct {
    const char *name;
    bool less, equal, greater, unordered;
  } table[] = {{"eq", false, true, false, false}, {"ne", true, false, true, false},  {"lt", true, false, false, false},
               {"le", true, true, false, false},  {"gt", false, false, true, false}, {"ge", false, true, true, false},
               {"equ", false, true, false, true}, {"neu", true, false, true, true},  {"ltu", true, false, false, true},
               {"leu", true, true, false, true},  {"gtu", false, false, true, true}, {"geu", false, true, true, true},
               {"num", true, true, true, false},  {"nan", false, false, false, true}};
  for (const auto &row : table) {
    EXPECT_EQ(holds(row.name, 1, 2), row.less) << row.name;
    EXPECT_EQ(holds(row.name, 0.0f, -0.0f), row.equal) << row.name;
    EXPECT_EQ(holds(row.name, 2, 1), row.greater) << row.name;
    EXPECT_EQ(holds(row.name, kNan, 1), row.unordered) << row.name;
    EXPECT_EQ(holds(row.name, 1, kNan), row.unordered) << row.name;
  }
  EXPECT_EQ(toBool("setp.lt.s32 %q9, %r1, %r2")(UINT32_MAX, 0), 1u);
  EXPECT_EQ(toBool("setp.lt.u32 %q9, %r1, %r2")(UINT32_MAX, 0), 0u);
  EXPECT_EQ(toBool("setp.ne.u32 %q8, %r1, 0;\nsetp.gt.and.s32 %q9, %r1, %r2, !%q8")(5, 3), 0u);
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

TEST(EmulatedInstructions, FloatsToIntegers) {
  Statements down = of("cvt.rzi.s32.f32 %r9, %f1"), nearest = of("cvt.rni.s32.f32 %r9, %f1"),
             floor = of("cvt.rmi.s32.f32 %r9, %f1"), plain = of("cvt.rzi.u32.f32 %r9, %f1"),
             wide("cvt.rzi.s64.f32 %rd9, %f1;"), byte = of("cvt.rzi.s8.f32 %r9, %f1"),
             fromDouble = of("cvt.rzi.s32.f64 %r9, %fd1");
  for (auto [value, truncated, rounded, lower] :
       {std::tuple(2.5f, 2, 2, 2), {3.5f, 3, 4, 3}, {-2.5f, -2, -2, -3}, {-0.5f, 0, 0, -1}}) {
    EXPECT_EQ(static_cast<int32_t>(down.ofFloat(value)), truncated);
    EXPECT_EQ(static_cast<int32_t>(nearest.ofFloat(value)), rounded);
    EXPECT_EQ(static_cast<int32_t>(floor.ofFloat(value)), lower);
  }
  // The nearest number of the type.
  EXPECT_EQ(down.ofFloat(1e20f), 0x7fffffffu);
  EXPECT_EQ(down.ofFloat(-kInfinity), 0x80000000u);
  EXPECT_EQ(plain.ofFloat(-5), 0u);
  EXPECT_EQ(plain.ofFloat(1e20f), 0xffffffffu);
  EXPECT_EQ(byte.ofFloat(-1000), 0xffffff80u);
  EXPECT_EQ(wide.ofFloat(kInfinity), static_cast<uint64_t>(INT64_MAX));
  // NaN is 0, or the highest bit if one of the types has 64 bits.
  EXPECT_EQ(down.ofFloat(kNan), 0u);
  EXPECT_EQ(plain.ofFloat(kNan), 0u);
  EXPECT_EQ(wide.ofFloat(kNan), uint64_t{1} << 63);
  EXPECT_EQ(fromDouble.ofDouble(kNan), 0x80000000u);
}

TEST(EmulatedInstructions, IntegersToIntegers) {
  EXPECT_EQ(Statements("cvt.s64.s32 %rd9, %r1;")(0x80000000), 0xffffffff80000000u);
  EXPECT_EQ(Statements("cvt.u64.u32 %rd9, %r1;")(0x80000000), 0x80000000u);
  EXPECT_EQ(of("cvt.s32.s8 %r9, %r1").of32(0x1280), 0xffffff80u);
  EXPECT_EQ(of("cvt.u32.u8 %r9, %r1").of32(0x1280), 0x80u);
  EXPECT_EQ(of("cvt.sat.s8.s32 %r9, %r1").of32(1000), 127u);
  EXPECT_EQ(of("cvt.sat.u8.s32 %r9, %r1").of32(static_cast<uint32_t>(-5)), 0u);
}

TEST(EmulatedInstructions, IntegersToFloats) {
  EXPECT_EQ(toFloat("cvt.rn.f32.s32 %f9, %r1").of32(0x7fffffff), std::bit_cast<uint32_t>(0x1p31f));
  EXPECT_EQ(toFloat("cvt.rz.f32.s32 %f9, %r1").of32(0x7fffffff), std::bit_cast<uint32_t>(0x1p31f - 128));
  EXPECT_EQ(toFloat("cvt.rp.f32.u32 %f9, %r1").of32(0xffffff01), std::bit_cast<uint32_t>(0x1p32f));
  EXPECT_EQ(toFloat("cvt.rn.f32.u64 %f9, %rd1").of32(UINT64_MAX), std::bit_cast<uint32_t>(0x1p64f));
  // Near the tie between 2^63 and the next bf16, 2^63 + 2^56; f64 does not have the last bit.
  Statements toBf16("cvt.rn.bf16.u64 %h9, %rd1;\ncvt.u64.u16 %rd9, %h9;");
  EXPECT_EQ(toBf16((uint64_t{1} << 63) + (uint64_t{1} << 55)), 0x5f00u);
  EXPECT_EQ(toBf16((uint64_t{1} << 63) + (uint64_t{1} << 55) + 1), 0x5f01u);
  EXPECT_EQ(toBf16(3), 0x4040u);
}

TEST(EmulatedInstructions, FloatsToFloats) {
  Statements saturated = toFloat("cvt.sat.f32.f32 %f9, %f1"), even = toFloat("cvt.rni.f32.f32 %f9, %f1");
  EXPECT_EQ(saturated.ofFloats(7), 1);
  EXPECT_EQ(saturated.ofFloats(-7), 0);
  EXPECT_EQ(saturated.ofFloats(0.25), 0.25);
  EXPECT_EQ(std::bit_cast<uint32_t>(saturated.ofFloats(kNan)), 0u);
  EXPECT_EQ(even.ofFloats(2.5), 2);
  EXPECT_EQ(even.ofFloats(-3.5), -4);
  Statements toBf16("cvt.rn.bf16.f32 %h9, %f1;\ncvt.u64.u16 %rd9, %h9;"),
      pair("cvt.rn.bf16x2.f32 %r9, %f1, %f2;\ncvt.u64.u32 %rd9, %r9;"),
      toHalf("cvt.rn.f16.f32 %h9, %f1;\ncvt.u64.u16 %rd9, %h9;");
  // bf16 has the upper half of f32: 1 + 2^-8 is a tie, which goes to the even neighbour, and so is 1 + 3 * 2^-8.
  EXPECT_EQ(toBf16.ofFloat(1 + 0x1p-8f), 0x3f80u);
  EXPECT_EQ(toBf16.ofFloat(1 + 0x3p-8f), 0x3f82u);
  EXPECT_EQ(toBf16.ofFloat(1 + 0x1p-8f + 0x1p-20f), 0x3f81u);
  EXPECT_EQ(toBf16.ofFloat(std::numeric_limits<float>::max()), 0x7f80u);
  EXPECT_EQ(toBf16.ofFloat(kNan), 0x7fffu);
  EXPECT_EQ(pair(std::bit_cast<uint32_t>(1.0f), std::bit_cast<uint32_t>(2.0f)), 0x3f804000u);
  // f16: the largest number, half a unit above it, and the least subnormal one.
  EXPECT_EQ(toHalf.ofFloat(65519), 0x7bffu);
  EXPECT_EQ(toHalf.ofFloat(65520), 0x7c00u);
  EXPECT_EQ(toHalf.ofFloat(0x1p-24f), 1u);
}
