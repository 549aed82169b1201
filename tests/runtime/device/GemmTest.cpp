//===- GemmTest.cpp - our own products, for each instruction set ----------===//
//
// Floats are small integers, whose sums are exact in f32 in any order. So every element is compared exactly, with a sum
// in double precision that is rounded by std::nearbyint.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/Amx.h"
#include "runtime/device/cpu/BlockedMatmul.h"

#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace spmd;

namespace {

/// Kernels for an instruction set, or for the matrix unit.
struct Level {
  CpuIsa isa = detectIsa();
  bool isAmx = false;
};

std::vector<Level> availableLevels() {
  std::vector<Level> levels;
  for (CpuIsa isa : {CpuIsa::Baseline, CpuIsa::Avx2, CpuIsa::Avx512, CpuIsa::Avx512Vnni})
    if (isa <= detectIsa())
      levels.push_back({isa});
  if (canUseAmx())
    levels.push_back({.isAmx = true});
  return levels;
}

std::unique_ptr<Matmul> create(const MatmulShape &shape, int threads, Level level) {
  if (level.isAmx)
    if (auto matmul = createAmxMatmul(shape, threads))
      return matmul;
  return createOwnMatmul(shape, threads, level.isa);
}

/// The float of `significand` bits of precision (the hidden one included) that is nearest to `value`.
double roundTo(double value, int significand, int leastExponent, double largest) {
  if (value == 0 || !std::isfinite(value))
    return value;
  int exponent = std::max(std::ilogb(value), leastExponent);
  double unit = std::ldexp(1.0, exponent - significand + 1);
  double rounded = std::nearbyint(value / unit) * unit;
  return std::fabs(rounded) > largest ? std::copysign(INFINITY, value) : rounded;
}

double roundTo(DType dtype, double value) {
  switch (dtype) {
  case DType::BF16:
    return roundTo(value, 8, -126, std::ldexp(255.0, 120));
  case DType::F16:
    return roundTo(value, 11, -14, 65504);
  case DType::F32:
    return roundTo(value, 24, -126, std::numeric_limits<float>::max());
  default:
    return value;
  }
}

/// Stores a value that the type represents exactly.
void store(DType dtype, char *data, int64_t i, double value) {
  float single = static_cast<float>(value);
  switch (dtype) {
  case DType::F64:
    return void(std::memcpy(data + 8 * i, &value, 8));
  case DType::F32:
    return void(std::memcpy(data + 4 * i, &single, 4));
  case DType::BF16:
    return void(std::memcpy(data + 2 * i, reinterpret_cast<const char *>(&single) + 2, 2));
  case DType::F16: {
    _Float16 half = static_cast<_Float16>(single);
    return void(std::memcpy(data + 2 * i, &half, 2));
  }
  default: {
    int64_t integer = static_cast<int64_t>(value);
    std::memcpy(data + i * byteSize(dtype), &integer, byteSize(dtype));
  }
  }
}

template <typename T> T read(const char *data, int64_t i) {
  T value;
  std::memcpy(&value, data + i * sizeof(T), sizeof(T));
  return value;
}

double load(DType dtype, const char *data, int64_t i) {
  switch (dtype) {
  case DType::F64:
    return read<double>(data, i);
  case DType::F32:
    return read<float>(data, i);
  case DType::BF16:
    return __builtin_bit_cast(float, uint32_t(read<uint16_t>(data, i)) << 16);
  case DType::F16:
    return static_cast<double>(read<_Float16>(data, i));
  case DType::I32:
    return read<int32_t>(data, i);
  case DType::I16:
    return read<int16_t>(data, i);
  case DType::U32:
    return read<uint32_t>(data, i);
  case DType::U16:
    return read<uint16_t>(data, i);
  case DType::I8:
    return read<int8_t>(data, i);
  default:
    return read<uint8_t>(data, i);
  }
}

/// The result of a sum of integers, which wraps.
double wrap(DType dtype, int64_t sum, bool any) {
  switch (dtype) {
  case DType::I32:
    return static_cast<int32_t>(sum);
  case DType::U32:
    return static_cast<uint32_t>(sum);
  case DType::I16:
    return static_cast<int16_t>(sum);
  case DType::U16:
    return static_cast<uint16_t>(sum);
  case DType::I8:
    return static_cast<int8_t>(sum);
  case DType::Bool:
    return any;
  default:
    return static_cast<uint8_t>(sum);
  }
}

/// The elements of an array of which a view sees the last one.
int64_t countArray(const OperandView &view) {
  int64_t last = view.offset;
  for (const ViewDigits *digits : {&view.batch, &view.rows, &view.columns})
    for (const ViewDigit &digit : *digits)
      last += (digit.size - 1) * digit.stride;
  return last + 1;
}

struct Operands {
  Operands(const MatmulShape &shape, double (*lhsAt)(int64_t), double (*rhsAt)(int64_t)) {
    int64_t lhsCount = shape.batch * shape.m * shape.k, rhsCount = shape.batch * shape.k * shape.n;
    if (!shape.lhsView.isEmpty())
      lhsCount = countArray(shape.lhsView);
    if (!shape.rhsView.isEmpty())
      rhsCount = countArray(shape.rhsView);
    lhs.resize(lhsCount * byteSize(shape.operand) + 1);
    rhs.resize(rhsCount * byteSize(shape.operand) + 1);
    for (int64_t i = 0; i < lhsCount; ++i)
      store(shape.operand, lhs.data(), i, lhsAt(i));
    for (int64_t i = 0; i < rhsCount; ++i)
      store(shape.operand, rhs.data(), i, rhsAt(i));
  }
  std::vector<char> lhs, rhs;
};

std::vector<char> multiply(const MatmulShape &shape, const Operands &operands, Level level, int threads) {
  auto matmul = create(shape, threads, level);
  std::vector<char> result(shape.batch * shape.m * shape.n * byteSize(shape.result) + 1, 0x55);
  std::vector<char> memory(matmul->getScratchBytes() + 128, 0x7f);
  char *scratch = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64;
  ParallelFor loop(threads, std::chrono::nanoseconds(0));
  matmul->run(loop, operands.lhs.data(), operands.rhs.data(), result.data(), scratch);
  EXPECT_EQ(result.back(), 0x55);
  return result;
}

/// Runs a product whose epilogue compares the rows with these, and overwrites them.
void expectRowsAreDoneOnce(const MatmulShape &shape, const Operands &operands, Level level, int threads,
                           const std::vector<char> &expected) {
  struct Epilogue {
    char *result;
    const std::vector<char> &expected;
    int64_t rowBytes;
    std::vector<std::atomic<int>> counts, wrong;
  };
  auto matmul = create(shape, threads, level);
  auto rows = static_cast<size_t>(shape.batch * shape.m);
  std::vector<char> result(expected.size()), memory(static_cast<size_t>(matmul->getScratchBytes()) + 128);
  char *scratch = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64;
  Epilogue epilogue{result.data(), expected, shape.n * byteSize(shape.result), std::vector<std::atomic<int>>(rows),
                    std::vector<std::atomic<int>>(rows)};
  ParallelFor loop(threads, std::chrono::nanoseconds(0));
  auto done = [](const void *context, int64_t begin, int64_t end) {
    auto &epilogue = *static_cast<Epilogue *>(const_cast<void *>(context));
    for (int64_t row = begin; row < end; ++row) {
      char *data = epilogue.result + row * epilogue.rowBytes;
      auto bytes = static_cast<size_t>(epilogue.rowBytes);
      epilogue.wrong[static_cast<size_t>(row)] =
          std::memcmp(data, epilogue.expected.data() + row * epilogue.rowBytes, bytes) != 0;
      std::memset(data, 0x33, bytes);
      ++epilogue.counts[static_cast<size_t>(row)];
    }
  };
  matmul->run(loop, operands.lhs.data(), operands.rhs.data(), result.data(), scratch, {done, &epilogue});
  for (size_t row = 0; row < rows; ++row) {
    EXPECT_EQ(epilogue.counts[row], 1) << "row " << row;
    EXPECT_EQ(epilogue.wrong[row], 0) << "row " << row;
  }
}

/// Where the element of a view is, or of an array itself with `columns` and `rows` in the order of `isTransposed`.
int64_t placeOf(const OperandView &view, int64_t rows, int64_t columns, bool isTransposed, int64_t batch, int64_t row,
                int64_t column) {
  if (view.isEmpty())
    return batch * rows * columns + (isTransposed ? column * rows + row : row * columns + column);
  int64_t place = view.offset;
  for (auto [digits, number] : {std::pair(&view.batch, batch), {&view.rows, row}, {&view.columns, column}}) {
    int64_t below = 1; // The count of the digits behind this one.
    for (size_t d = digits->size(); d-- > 0; below *= (*digits)[d].size)
      place += number / below % (*digits)[d].size * (*digits)[d].stride;
  }
  return place;
}

/// Returns the product by its definition, rounded once; NaN where it is.
double elementOf(const MatmulShape &shape, const Operands &operands, int64_t batch, int64_t row, int64_t column) {
  double sum = 0;
  bool any = false;
  for (int64_t l = 0; l < shape.k; ++l) {
    int64_t left = placeOf(shape.lhsView, shape.m, shape.k, shape.transposeLhs, batch, row, l);
    int64_t right = placeOf(shape.rhsView, shape.k, shape.n, shape.transposeRhs, batch, l, column);
    double product = load(shape.operand, operands.lhs.data(), left) * load(shape.operand, operands.rhs.data(), right);
    sum += product;
    any |= product != 0;
  }
  return isFloat(shape.result) ? roundTo(shape.result, sum) : wrap(shape.result, static_cast<int64_t>(sum), any);
}

/// `isSubnormal`: one side is, which counts as zero on the matrix unit.
void expectProduct(const MatmulShape &shape, const Operands &operands, bool isSubnormal = false) {
  std::vector<double> elements;
  for (int64_t i = 0; i < shape.batch * shape.m * shape.n; ++i)
    elements.push_back(elementOf(shape, operands, i / (shape.m * shape.n), i / shape.n % shape.m, i % shape.n));
  for (Level level : availableLevels()) {
    std::vector<char> result = multiply(shape, operands, level, 1);
    bool isFlushed = isSubnormal && create(shape, 1, level)->getMethod() == "own, amx";
    for (int64_t i = 0; i < shape.batch * shape.m * shape.n; ++i) {
      double expected = isFlushed ? 0 : elements[static_cast<size_t>(i)];
      double actual = load(shape.result, result.data(), i);
      if (!(actual == expected || (std::isnan(actual) && std::isnan(expected)))) {
        ADD_FAILURE() << dtypeName(shape.operand) << " to " << dtypeName(shape.result) << ", " << shape.batch << " of "
                      << shape.m << " x " << shape.n << " x " << shape.k << (shape.transposeLhs ? " T" : " N")
                      << (shape.transposeRhs ? "T" : "N") << ", views " << shape.lhsView.str() << " and "
                      << shape.rhsView.str() << (level.isAmx ? ", matrix unit" : ", level ")
                      << static_cast<int>(level.isa) << ": element " << i << " is " << actual << ", should be "
                      << expected;
        return;
      }
    }
    EXPECT_EQ(multiply(shape, operands, level, 3), result) << "three threads";
  }
}

const std::pair<DType, DType> types[] = {
    {DType::F64, DType::F64}, {DType::F32, DType::F32},  {DType::BF16, DType::BF16}, {DType::BF16, DType::F32},
    {DType::F16, DType::F16}, {DType::F16, DType::F32},  {DType::I32, DType::I32},   {DType::I8, DType::I8},
    {DType::I8, DType::I32},  {DType::U8, DType::U8},    {DType::U8, DType::I32},    {DType::U8, DType::U32},
    {DType::I16, DType::I16}, {DType::I16, DType::I32},  {DType::U16, DType::U16},   {DType::U16, DType::I32},
    {DType::U16, DType::U32}, {DType::Bool, DType::Bool}};

double smallLhs(int64_t i) { return static_cast<double>(i * 7 % 5 - 2); }
double smallRhs(int64_t i) { return static_cast<double>(i * 11 % 7 - 3); }
double bitLhs(int64_t i) { return i % 11 == 0; }
double bitRhs(int64_t i) { return i % 7 == 0; }

Operands smallOperands(const MatmulShape &shape) {
  return shape.operand == DType::Bool ? Operands(shape, bitLhs, bitRhs)
         : isUnsigned(shape.operand)  ? Operands(
                                           shape, +[](int64_t i) { return static_cast<double>(i * 37 % 256); },
                                           +[](int64_t i) { return static_cast<double>(i * 91 % 256); })
                                     : Operands(shape, smallLhs, smallRhs);
}

// Each size around a unit (4), a tile (12 x 32) and a vector; none, and one.
TEST(Gemm, EveryInstructionSetAgreesWithTheDefinition) {
  struct Sizes {
    int64_t batch, m, n, k;
  };
  const Sizes sizes[] = {{1, 0, 3, 3},    {1, 3, 0, 3},     {2, 5, 6, 0},     {0, 5, 6, 4},    {1, 1, 1, 1},
                         {1, 1, 70, 9},   {1, 70, 1, 9},    {1, 37, 3, 67},   {1, 4, 33, 66},  {1, 5, 5, 5},
                         {1, 16, 16, 64}, {1, 33, 40, 128}, {2, 48, 49, 200}, {1, 12, 32, 64}, {1, 13, 33, 65},
                         {1, 11, 31, 63}, {3, 25, 67, 18},  {1, 17, 64, 2},   {9, 8, 8, 8},    {70, 4, 4, 4},
                         {7, 13, 17, 33}, {3, 64, 32, 64},  {2, 65, 32, 64},  {4, 1, 1, 1},    {40, 9, 16, 5},
                         {3, 64, 64, 64}, {3, 9, 50, 30},   {2, 33, 63, 64},  {5, 7, 34, 3},   {1, 50, 2, 3},
                         {1, 21, 4, 31},  {1, 2, 19, 16},   {1, 3, 18, 97}};
  for (auto [operand, result] : types)
    for (const Sizes &s : sizes)
      for (bool transposeLhs : {false, true})
        for (bool transposeRhs : {false, true}) {
          MatmulShape shape{s.batch, s.m, s.n, s.k, transposeLhs, transposeRhs, operand, result};
          expectProduct(shape, smallOperands(shape));
          if (HasFailure())
            return;
        }
}

// Few rows, and few columns: tiles of eight, four, two and one of them; lines around a vector, four columns, and the
// depth of a panel (8 or 16).
TEST(Gemm, FewRowsAndFewColumns) {
  for (auto [operand, result] : types)
    for (int64_t few : {2, 3, 4, 7, 8, 15, 16, 17})
      for (auto [lines, k] : {std::pair<int64_t, int64_t>{37, 33}, {131, 130}, {64, 64}, {9, 128}})
        for (bool transpose : {false, true}) {
          MatmulShape rows{1, few, lines, k, false, transpose, operand, result};
          expectProduct(rows, smallOperands(rows));
          MatmulShape columns{1, lines, few, k, transpose, false, operand, result};
          expectProduct(columns, smallOperands(columns));
          MatmulShape both{2, few, lines, k, true, transpose, operand, result};
          expectProduct(both, smallOperands(both));
          if (HasFailure())
            return;
        }
}

// More than one block of k and one group of columns: the sums between blocks are not rounded.
TEST(Gemm, SumsOfManyBlocksAreRoundedOnce) {
  for (auto [operand, result] : types)
    for (bool transpose : {false, true}) {
      MatmulShape shape{1, 15, 150, 2310, transpose, !transpose, operand, result};
      expectProduct(shape, smallOperands(shape));
      shape = {2, 7, 140, 1029, transpose, transpose, operand, result};
      expectProduct(shape, smallOperands(shape));
      if (HasFailure())
        return;
    }
}

// A matrix times itself, transposed: the same bits as a product of two equal matrices, and each row is reported once,
// when it is complete. An epilogue may change it in place at once.
TEST(Gemm, SymmetricResultsAreComputedByHalf) {
  struct Sizes {
    int64_t batch, m, k;
  };
  std::mt19937 random(11);
  for (auto [operand, result] : types)
    for (const Sizes &s :
         {Sizes{1, 128, 64}, Sizes{1, 131, 1100}, Sizes{2, 200, 70}, Sizes{13, 129, 65}, Sizes{1, 1200, 64}})
      for (bool transposeLhs : {false, true}) {
        MatmulShape shape{s.batch, s.m, s.m, s.k, transposeLhs, !transposeLhs, operand, result};
        Operands operands(shape, smallLhs, smallLhs);
        for (int64_t i = 0; isFloat(operand) && i < s.batch * s.m * s.k; ++i)
          store(operand, operands.lhs.data(), i, std::uniform_real_distribution(-1.0, 1.0)(random));
        operands.rhs = operands.lhs;
        for (Level level : availableLevels()) {
          std::vector<char> expected = multiply(shape, operands, level, 1);
          MatmulShape gram = shape;
          gram.isGram = true;
          std::string method = create(gram, 1, level)->getMethod();
          ASSERT_TRUE(method == "own, symmetric" || (level.isAmx && method == "own, amx")) << method;
          for (int threads : {1, 3}) {
            ASSERT_EQ(multiply(gram, operands, level, threads), expected)
                << dtypeName(operand) << " to " << dtypeName(result) << ", " << s.batch << " of " << s.m << " by "
                << s.k << (transposeLhs ? ", TN, " : ", NT, ") << threads << " threads";
            expectRowsAreDoneOnce(gram, operands, level, threads, expected);
          }
        }
      }
}

// Overlapping patches, heads between positions and features, gaps, rows that are all the same.
TEST(Gemm, OperandsAreReadWhereTheyAre) {
  std::mt19937 random(7);
  auto below = [&](int64_t limit) { return static_cast<int64_t>(random() % static_cast<uint64_t>(limit)); };
  for (int trial = 0; trial < 12; ++trial)
    for (auto [operand, result] : types) {
      auto digits = [&](int64_t most) {
        ViewDigits list;
        for (int64_t count = below(4); count > 0; --count)
          list.push_back({1 + below(most), std::array<int64_t, 5>{0, 1, 2, 7, 30}[below(5)]});
        if (below(3) > 0)
          list.push_back({1 + below(40), 1});
        return list;
      };
      MatmulShape shape;
      shape.operand = operand;
      shape.result = result;
      shape.lhsView = {below(5), digits(2), digits(5), digits(6)};
      shape.rhsView = {below(5), shape.lhsView.batch, shape.lhsView.columns, digits(5)};
      for (ViewDigit &digit : shape.rhsView.rows)
        digit.stride = below(9);
      shape.batch = countOf(shape.lhsView.batch);
      shape.m = countOf(shape.lhsView.rows);
      shape.k = countOf(shape.lhsView.columns);
      shape.n = countOf(shape.rhsView.columns);
      if (shape.batch * shape.m * shape.n * shape.k > 1 << 19)
        continue;
      // Each side alone, too.
      MatmulShape left = shape, right = shape;
      left.rhsView = right.lhsView = {};
      left.transposeRhs = right.transposeLhs = below(2);
      for (const MatmulShape &one : {shape, left, right})
        expectProduct(one, smallOperands(one));
      if (HasFailure())
        return;
    }
}

// The patches of a convolution of 3 x 3 in rows of 20 positions with 8 channels, and its gradient, with more than a
// block of k. Three threads divide its columns.
TEST(Gemm, ConvolutionsByViews) {
  ViewDigits positions = {{6, 22 * 22 * 8}, {20, 22 * 8}, {20, 8}}, taps = {{3, 22 * 8}, {3, 8}, {8, 1}};
  for (auto [operand, result] : {types[0], types[1], types[2], types[8]}) {
    MatmulShape shape{1, 6 * 20 * 20, 20, 9 * 8, false, false, operand, result};
    shape.lhsView = {0, {}, positions, taps};
    expectProduct(shape, smallOperands(shape));
    shape = {1, 9 * 8, 20, 6 * 20 * 20, false, false, operand, result};
    shape.lhsView = {0, {}, taps, positions};
    expectProduct(shape, smallOperands(shape));
    shape = {1, 20, 9 * 8, 6 * 20 * 20, false, false, operand, result};
    shape.rhsView = {0, {}, positions, taps};
    expectProduct(shape, smallOperands(shape));
  }
}

// -128 has no positive counterpart, and 128 is the offset of the packed left side.
TEST(Gemm, ExtremeBytesAreExact) {
  auto least = +[](int64_t) { return -128.0; };
  auto mixed = +[](int64_t i) { return i % 3 == 0 ? -128.0 : 127.0; };
  auto most = +[](int64_t) { return 255.0; };
  for (DType result : {DType::I32, DType::I8}) {
    MatmulShape shape{1, 14, 35, 2053, false, false, DType::I8, result};
    expectProduct(shape, Operands(shape, least, least));
    expectProduct(shape, Operands(shape, mixed, least));
    expectProduct(shape, Operands(shape, least, mixed));
  }
  for (DType result : {DType::I32, DType::U32, DType::U8}) {
    MatmulShape shape{1, 14, 35, 2053, true, true, DType::U8, result};
    expectProduct(shape, Operands(shape, most, most));
  }
}

// Subnormal operands are not flushed, halves overflow to infinity, and infinity times zero is NaN.
TEST(Gemm, SpecialFloats) {
  auto subnormal = +[](int64_t i) { return std::ldexp(static_cast<double>(i % 3 + 1), -133); };
  auto large = +[](int64_t i) { return std::ldexp(static_cast<double>(i % 4 - 1), 120); };
  auto subnormalHalf = +[](int64_t i) { return std::ldexp(static_cast<double>(i % 3 + 1), -24); };
  auto largeHalf = +[](int64_t i) { return static_cast<double>(i % 4 - 1) * 1024; };
  auto special = +[](int64_t i) {
    return i % 61 == 0 ? std::numeric_limits<double>::quiet_NaN() : i % 37 == 0 ? INFINITY : double(i % 3);
  };
  auto overflowing = +[](int64_t i) { return static_cast<double>(i % 2 ? 32768 : 4096); };
  for (auto [m, n] : {std::pair<int64_t, int64_t>{13, 35}, {2, 35}, {35, 1}, {35, 3}})
    for (bool transpose : {false, true}) {
      // Neighbours of a row or a column, which a vector reads with its last elements, are in no other product.
      MatmulShape single{1, m, n, 19, transpose, transpose, DType::F32, DType::F32};
      expectProduct(single, Operands(single, special, smallRhs));
      expectProduct(single, Operands(single, smallLhs, special));
      for (DType result : {DType::BF16, DType::F32}) {
        MatmulShape shape{1, m, n, 19, transpose, transpose, DType::BF16, result};
        expectProduct(shape, Operands(shape, subnormal, large), /*isSubnormal=*/true);
        expectProduct(shape, Operands(shape, special, smallRhs));
        // Results that are subnormal.
        expectProduct(shape, Operands(shape, subnormal, smallRhs), /*isSubnormal=*/true);
      }
      for (DType result : {DType::F16, DType::F32}) {
        MatmulShape shape{1, m, n, 19, transpose, transpose, DType::F16, result};
        expectProduct(shape, Operands(shape, subnormalHalf, largeHalf));
        expectProduct(shape, Operands(shape, subnormalHalf, smallRhs));
        expectProduct(shape, Operands(shape, special, smallRhs));
        expectProduct(shape, Operands(shape, overflowing, overflowing));
      }
    }
}

// Blocks of rows and columns of the matrix unit, and their edges. The sums are exact, so the vector kernels' bits are
// the same.
TEST(Gemm, MatrixUnitAgreesWithVectorsAcrossBlocks) {
  if (!canUseAmx())
    GTEST_SKIP() << "this CPU has no matrix unit";
  for (auto [operand, result] : types)
    for (bool transpose : {false, true})
      for (MatmulShape shape :
           {MatmulShape{1, 530, 1100, 65}, {3, 150, 90, 130}, {1, 40, 50, 4150}, {9, 33, 31, 2100}}) {
        shape.transposeLhs = transpose;
        shape.transposeRhs = transpose == (shape.batch == 1);
        shape.operand = operand;
        shape.result = result;
        Operands operands = smallOperands(shape);
        std::vector<char> expected = multiply(shape, operands, {}, 1);
        for (int threads : {1, 3})
          ASSERT_EQ(multiply(shape, operands, {.isAmx = true}, threads), expected)
              << dtypeName(operand) << " to " << dtypeName(result) << ", " << shape.batch << " of " << shape.m << " x "
              << shape.n << " x " << shape.k << ", " << threads << " threads";
      }
}

} // namespace
