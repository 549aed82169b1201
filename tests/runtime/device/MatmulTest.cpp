//===- MatmulTest.cpp - products against a plain triple loop --------------===//

#include "runtime/device/cpu/Matmul.h"
#include "runtime/device/cpu/Convert.h"
#include "runtime/device/cpu/CpuIsa.h"
#include "runtime/device/cpu/Dnnl.h"
#include "runtime/support/Error.h"
#include "tests/support/ElementTypes.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <mutex>
#include <random>

using namespace spmd;

namespace {

/// 64-byte aligned bytes.
struct Bytes {
  explicit Bytes(int64_t size) : storage(size + 128) {}
  char *data() { return storage.data() + (64 - reinterpret_cast<uintptr_t>(storage.data()) % 64) % 64; }
  std::vector<char> storage;
};

double load(DType dtype, const char *data, int64_t i) {
  switch (dtype) {
  case DType::F64:
    return reinterpret_cast<const double *>(data)[i];
  case DType::F32:
    return reinterpret_cast<const float *>(data)[i];
  case DType::BF16: {
    uint32_t bits = uint32_t(reinterpret_cast<const uint16_t *>(data)[i]) << 16;
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
  }
  case DType::F16:
    return static_cast<double>(reinterpret_cast<const _Float16 *>(data)[i]);
  default:
    ADD_FAILURE();
    return 0;
  }
}

int64_t loadInteger(DType dtype, const char *data, int64_t i) {
  switch (dtype) {
  case DType::I64:
    return reinterpret_cast<const int64_t *>(data)[i];
  case DType::I32:
    return reinterpret_cast<const int32_t *>(data)[i];
  case DType::U32:
    return reinterpret_cast<const uint32_t *>(data)[i];
  case DType::U64:
    return static_cast<int64_t>(reinterpret_cast<const uint64_t *>(data)[i]);
  case DType::I16:
    return reinterpret_cast<const int16_t *>(data)[i];
  case DType::U16:
    return reinterpret_cast<const uint16_t *>(data)[i];
  case DType::I8:
    return reinterpret_cast<const int8_t *>(data)[i];
  default:
    return reinterpret_cast<const uint8_t *>(data)[i];
  }
}

void fill(DType dtype, char *data, int64_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> real(-1, 1);
  for (int64_t i = 0; i < count; ++i) {
    if (dtype == DType::F64)
      reinterpret_cast<double *>(data)[i] = real(random);
    else if (dtype == DType::F32)
      reinterpret_cast<float *>(data)[i] = real(random);
    else if (dtype == DType::F16)
      reinterpret_cast<_Float16 *>(data)[i] = static_cast<_Float16>(real(random));
    else if (dtype == DType::BF16) {
      float value = real(random);
      uint32_t bits;
      std::memcpy(&bits, &value, 4);
      reinterpret_cast<uint16_t *>(data)[i] = static_cast<uint16_t>(bits >> 16);
    } else if (dtype == DType::Bool)
      data[i] = random() % 8 == 0;
    else {
      uint64_t bits = random();
      std::memcpy(data + i * byteSize(dtype), &bits, byteSize(dtype));
    }
  }
}

struct Product {
  std::vector<char> result;
  std::string method;
};

Product multiply(const MatmulShape &shape, std::shared_ptr<const Dnnl> library, int threads) {
  int64_t lhsCount = shape.batch * shape.m * shape.k, rhsCount = shape.batch * shape.k * shape.n;
  int64_t resultCount = shape.batch * shape.m * shape.n;
  Bytes lhs(lhsCount * byteSize(shape.operand)), rhs(rhsCount * byteSize(shape.operand));
  Bytes result(resultCount * byteSize(shape.result));
  fill(shape.operand, lhs.data(), lhsCount, 1);
  fill(shape.operand, rhs.data(), rhsCount, 2);
  std::memset(result.data(), 0x7f, resultCount * byteSize(shape.result));
  auto matmul = Matmul::create(shape, library, threads);
  Bytes scratch(matmul->getScratchBytes());
  ParallelFor loop(threads, std::chrono::nanoseconds(0));
  std::mutex mutex;
  std::vector<int> rowsSeen(shape.batch * shape.m);
  auto note = [&](int64_t begin, int64_t end) {
    std::lock_guard lock(mutex);
    for (int64_t i = begin; i < end; ++i)
      ++rowsSeen[i];
  };
  RowsDone done{[](const void *context, int64_t begin, int64_t end) {
                  (*static_cast<const decltype(note) *>(context))(begin, end);
                },
                &note};
  matmul->run(loop, lhs.data(), rhs.data(), result.data(), scratch.data(), done);
  for (int seen : rowsSeen)
    EXPECT_EQ(seen, 1) << "the epilogue must see each row once";

  std::string what = std::string(dtypeName(shape.operand)) + " " + std::to_string(shape.batch) + "x" +
                     std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" + std::to_string(shape.k) +
                     (shape.transposeLhs ? " T" : " N") + (shape.transposeRhs ? "T " : "N ") + matmul->getMethod();
  std::vector<double> left(lhsCount), right(rhsCount);
  std::vector<uint64_t> leftBits(lhsCount), rightBits(rhsCount);
  for (int64_t i = 0; i < lhsCount; ++i)
    isFloat(shape.operand) ? void(left[i] = load(shape.operand, lhs.data(), i))
                           : void(leftBits[i] = loadInteger(shape.operand, lhs.data(), i));
  for (int64_t i = 0; i < rhsCount; ++i)
    isFloat(shape.operand) ? void(right[i] = load(shape.operand, rhs.data(), i))
                           : void(rightBits[i] = loadInteger(shape.operand, rhs.data(), i));
  for (int64_t b = 0; b < shape.batch; ++b)
    for (int64_t i = 0; i < shape.m; ++i)
      for (int64_t j = 0; j < shape.n; ++j) {
        double sum = 0, magnitude = 0;
        uint64_t integer = 0;
        for (int64_t l = 0; l < shape.k; ++l) {
          int64_t li = b * shape.m * shape.k + (shape.transposeLhs ? l * shape.m + i : i * shape.k + l);
          int64_t ri = b * shape.k * shape.n + (shape.transposeRhs ? j * shape.k + l : l * shape.n + j);
          if (isFloat(shape.operand)) {
            double product = left[li] * right[ri];
            sum += product;
            magnitude += std::fabs(product);
          } else if (shape.operand == DType::Bool) {
            integer |= leftBits[li] & rightBits[ri];
          } else {
            integer += leftBits[li] * rightBits[ri];
          }
        }
        int64_t at = (b * shape.m + i) * shape.n + j;
        if (isFloat(shape.operand)) {
          double unit = shape.result == DType::F64    ? 1e-15
                        : shape.result == DType::F32  ? 1e-6
                        : shape.result == DType::BF16 ? 4e-3
                                                      : 5e-4;
          double actual = load(shape.result, result.data(), at);
          double bound = unit * std::fabs(sum) + 6e-7 * magnitude + 1e-30;
          if (shape.result == DType::F64)
            bound = 1e-14 * magnitude;
          if (!(std::fabs(actual - sum) <= bound)) {
            ADD_FAILURE() << what << ": element " << at << " is " << actual << ", should be " << sum;
            return {};
          }
        } else {
          int64_t actual = loadInteger(shape.result, result.data(), at);
          int64_t expected = 0;
          std::vector<char> narrow(8);
          std::memcpy(narrow.data(), &integer, 8);
          expected = loadInteger(shape.result, narrow.data(), 0);
          if (actual != expected) {
            ADD_FAILURE() << what << ": element " << at << " is " << actual << ", should be " << expected;
            return {};
          }
        }
      }
  char *data = result.data();
  return {std::vector<char>(data, data + resultCount * byteSize(shape.result)), matmul->getMethod()};
}

struct Sizes {
  int64_t batch, m, n, k;
};
const Sizes someSizes[] = {{1, 1, 1, 1},       {1, 5, 7, 3},     {1, 16, 16, 16},  {1, 130, 33, 65},
                           {1, 257, 1601, 40}, {1, 3, 300, 200}, {3, 20, 10, 30},  {9, 17, 19, 23},
                           {1, 150, 130, 140}, {1, 2, 1100, 37}, {1, 30, 1500, 70}};

TEST(Matmul, AgreesWithATripleLoopForAllTypes) {
  auto library = Dnnl::load();
  for (DType dtype : test::elementTypes())
    for (const Sizes &s : someSizes)
      for (bool transposeLhs : {false, true})
        for (bool transposeRhs : {false, true})
          for (const auto &lib : {library, std::shared_ptr<const Dnnl>()}) {
            if (!lib && !isFloat(dtype))
              continue;
            multiply({s.batch, s.m, s.n, s.k, transposeLhs, transposeRhs, dtype, dtype}, lib, 1);
            if (HasFailure())
              return;
          }
}

// More than one block of k, one band of rows and one group of columns, and a remainder of each.
TEST(Matmul, AgreesAcrossBlocks) {
  for (const Sizes &s : {Sizes{1, 25, 300, 1100}, Sizes{1, 990, 40, 530}, Sizes{2, 31, 530, 520}})
    for (DType dtype : {DType::F64, DType::F32, DType::I32, DType::I8, DType::Bool})
      for (bool transpose : {false, true})
        for (int threads : {1, 3}) {
          multiply({s.batch, s.m, s.n, s.k, transpose, !transpose, dtype, dtype}, nullptr, threads);
          multiply({s.batch, s.m, s.n, s.k, transpose, transpose, dtype, dtype}, nullptr, threads);
          if (HasFailure())
            return;
        }
}

// Wider results: halves into f32, bytes into i32.
TEST(Matmul, WidensWhereAsked) {
  auto library = Dnnl::load();
  for (const Sizes &s : someSizes) {
    multiply({s.batch, s.m, s.n, s.k, false, false, DType::BF16, DType::F32}, library, 1);
    multiply({s.batch, s.m, s.n, s.k, false, false, DType::F16, DType::F32}, nullptr, 1);
    multiply({s.batch, s.m, s.n, s.k, false, true, DType::I8, DType::I32}, library, 1);
    multiply({s.batch, s.m, s.n, s.k, true, false, DType::U8, DType::I32}, library, 1);
  }
  EXPECT_THROW(Matmul::create({1, 2, 2, 2, false, false, DType::Key, DType::Key}, library, 1), Error);
  EXPECT_THROW(Matmul::create({1, 2, 2, 2, false, false, DType::F32, DType::I32}, library, 1), Error);
}

// The number of threads determines which thread computes a block, never its bits.
TEST(Matmul, BitsDoNotDependOnThreads) {
  auto library = Dnnl::load();
  for (DType dtype : {DType::F32, DType::BF16, DType::F64})
    for (const Sizes &s : {Sizes{1, 300, 1700, 96}, Sizes{6, 140, 150, 130}, Sizes{40, 17, 19, 23},
                           Sizes{1, 7, 4000, 33}, Sizes{1, 1000, 70, 600}})
      for (const auto &lib : {library, std::shared_ptr<const Dnnl>()}) {
        MatmulShape shape{s.batch, s.m, s.n, s.k, false, true, dtype, dtype};
        Product one = multiply(shape, lib, 1);
        for (int threads : {2, 3})
          EXPECT_EQ(multiply(shape, lib, threads).result, one.result) << one.method << " " << threads << " threads";
      }
}

// The first product of a batch has the bits of the product alone: devices with other parts of a batch agree. Sizes are
// those at which another kernel takes over.
TEST(Matmul, BitsDoNotDependOnTheBatch) {
  for (auto library : {std::shared_ptr<const Dnnl>(), Dnnl::load()})
    for (DType operand : {DType::F32, DType::F64, DType::BF16})
      for (int64_t m : {1, 4, 5, 64, 65})
        for (int64_t n : {1, 2, 5, 64})
          for (int64_t k : {16, 64, 65})
            for (bool transposeLhs : {false, true})
              for (bool transposeRhs : {false, true}) {
                MatmulShape one{1, m, n, k, transposeLhs, transposeRhs, operand, operand}, many = one;
                many.batch = 3;
                Product alone = multiply(one, library, 1), batch = multiply(many, library, 2);
                batch.result.resize(alone.result.size());
                ASSERT_EQ(alone.result, batch.result)
                    << dtypeName(operand) << " " << m << " x " << n << " x " << k << " " << transposeLhs << transposeRhs
                    << ", " << alone.method << " and " << batch.method;
              }
}

TEST(Matmul, UsesTheLibraryWhereThereIsOne) {
  std::string whyNot;
  auto library = Dnnl::load(&whyNot);
  if (!library)
    GTEST_SKIP() << "oneDNN is not installed: " << whyNot;
  EXPECT_EQ(multiply({1, 8, 8, 8, false, false, DType::F32, DType::F32}, library, 1).method, "own, small");
  // Few rows or columns.
  EXPECT_EQ(multiply({1, 16, 400, 400, false, true, DType::F32, DType::F32}, library, 1).method, "own, unpacked");
  EXPECT_EQ(multiply({1, 400, 8, 800, false, false, DType::F32, DType::F32}, library, 1).method, "own, unpacked");
  bool isOwnFaster = detectIsa() == CpuIsa::Avx2;
  EXPECT_EQ(multiply({1, 20, 400, 400, false, false, DType::F32, DType::F32}, library, 1).method,
            isOwnFaster ? "own" : "onednn-sgemm");
  if (library->hasPrimitives()) {
    EXPECT_EQ(multiply({1, 300, 200, 200, false, false, DType::F32, DType::F32}, library, 1).method,
              isOwnFaster ? "own" : "onednn");
    EXPECT_EQ(multiply({1, 300, 1600, 100, false, false, DType::F32, DType::F32}, library, 1).method, "own");
    // One block of rows; a transposed left side.
    EXPECT_EQ(multiply({1, 200, 200, 200, false, false, DType::F32, DType::F32}, library, 1).method, "own");
    EXPECT_EQ(multiply({1, 300, 800, 100, true, false, DType::F32, DType::F32}, library, 1).method, "own");
  }
}

// Empty sums are zero, and the epilogue still sees every row.
TEST(Matmul, EmptyContractionGivesZeros) {
  for (DType dtype : {DType::F32, DType::I32, DType::F64})
    multiply({2, 3, 4, 0, false, false, dtype, dtype}, Dnnl::load(), 2);
}

// Rounding to nearest even and NaN, at every pattern of bf16 and its neighbours.
TEST(Convert, RoundsHalvesToNearestEven) {
  std::vector<float> wide(65536), back(65536);
  std::vector<uint16_t> bits(65536), again(65536);
  for (int i = 0; i < 65536; ++i)
    bits[i] = static_cast<uint16_t>(i);
  for (DType dtype : {DType::BF16, DType::F16}) {
    widenToF32(dtype, bits.data(), wide.data(), 65536);
    narrowFromF32(dtype, wide.data(), again.data(), 65536);
    for (int i = 0; i < 65536; ++i) {
      if (std::isnan(wide[i]))
        EXPECT_GT(again[i] & 0x7fff, dtype == DType::BF16 ? 0x7f80 : 0x7c00);
      else
        ASSERT_EQ(again[i], bits[i]);
    }
  }
  // The halfway value between 1 and the next bf16 rounds to even (1), a slightly greater value rounds up.
  float values[] = {1.00390625f, 1.0040f, 1.01171875f, 3.4e38f};
  uint16_t narrow[4];
  narrowFromF32(DType::BF16, values, narrow, 4);
  EXPECT_EQ(narrow[0], 0x3f80);
  EXPECT_EQ(narrow[1], 0x3f81);
  EXPECT_EQ(narrow[2], 0x3f82);
  EXPECT_EQ(narrow[3], 0x7f80);
}

} // namespace
