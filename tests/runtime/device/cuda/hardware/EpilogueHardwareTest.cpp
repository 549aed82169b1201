//===- EpilogueHardwareTest.cpp - epilogues of products by cuBLASLt -------===//

#include "runtime/support/Float16.h"
#include "tests/runtime/device/cuda/hardware/Machine.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace spmd;
using namespace spmd::cuda;

namespace {

using Function = LibraryEpilogue::Function;

double gelu(double x) { return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); }
/// By central differences.
double slopeOfGelu(double x) { return (gelu(x + 1e-5) - gelu(x - 1e-5)) / 2e-5; }

class EpilogueHardware : public HardwareTest {
protected:
  static constexpr int64_t kBatch = 2, kRows = 40, kColumns = 48, kInner = 64;

  void SetUp() override {
    HardwareTest::SetUp();
    if (machine && !machine->library.getBlas())
      GTEST_SKIP() << "there is no cuBLASLt";
  }

  /// Multiples of 1/8 from -1 to 1.
  std::vector<double> draw(int64_t count) {
    std::vector<double> numbers(static_cast<size_t>(count));
    for (double &number : numbers)
      number = static_cast<double>(std::uniform_int_distribution(-8, 8)(random)) / 8;
    return numbers;
  }

  static std::vector<char> toBytes(const std::vector<double> &numbers, DType dtype) {
    auto bytes = static_cast<size_t>(byteSize(dtype));
    std::vector<char> result(numbers.size() * bytes);
    for (size_t i = 0; i < numbers.size(); ++i) {
      auto number = static_cast<float>(numbers[i]);
      uint16_t half = dtype == DType::BF16 ? floatToBf16(number) : floatToF16(number);
      const void *source = dtype == DType::F32 ? static_cast<const void *>(&number) : &half;
      std::memcpy(result.data() + i * bytes, source, bytes);
    }
    return result;
  }
  static double read(const std::vector<char> &bytes, size_t i, DType dtype) {
    float number = 0;
    uint16_t half = 0;
    if (dtype == DType::F32) {
      std::memcpy(&number, bytes.data() + i * sizeof number, sizeof number);
      return number;
    }
    std::memcpy(&half, bytes.data() + i * sizeof half, sizeof half);
    return dtype == DType::BF16 ? bf16ToFloat(half) : f16ToFloat(half);
  }

  /// Multiplies [kBatch, kRows, kInner] and [kBatch, kColumns, kInner]^T, and compares each element with f64.
  void check(DType dtype, const LibraryEpilogue &epilogue) {
    MatmulShape shape{kBatch, kRows, kColumns, kInner, false, true, dtype, dtype};
    auto product = CublasLtProduct::create(machine->library.getBlas(), shape, epilogue);
    ASSERT_TRUE(product) << "no algorithm for " << dtypeName(dtype);
    constexpr int64_t kElements = kBatch * kRows * kColumns;
    std::vector<double> lhs = draw(kBatch * kRows * kInner), rhs = draw(kBatch * kColumns * kInner),
                        array = draw(kElements), bias = draw(kColumns);
    std::vector<DevicePointer> memory;
    auto upload = [&](const std::vector<double> &numbers) {
      memory.push_back(machine->upload(toBytes(numbers, dtype)));
      return memory.back();
    };
    CublasLtProduct::Operands operands{upload(lhs), upload(rhs), upload(array), upload(bias)};
    DevicePointer result = upload(std::vector<double>(kElements));
    memory.push_back(machine->gpu.allocate(std::max<int64_t>(product->getScratchBytes(), 256), machine->stream));
    product->run(machine->stream, operands, result, memory.back());
    std::vector<char> actual = machine->download(result, kElements * byteSize(dtype));
    for (DevicePointer each : memory)
      machine->gpu.free(each, machine->stream);
    double tolerance = dtype == DType::F32 ? 1e-6 : 0x1p-7;
    for (int64_t at = 0; at < kElements; ++at) {
      int64_t row = at / kColumns, column = at % kColumns, batch = row / kRows;
      double sum = 0;
      for (int64_t i = 0; i < kInner; ++i)
        sum += lhs[static_cast<size_t>(row * kInner + i)] *
               rhs[static_cast<size_t>((batch * kColumns + column) * kInner + i)];
      double expected = finish(epilogue, sum, array[static_cast<size_t>(at)], bias[static_cast<size_t>(column)]);
      ASSERT_NEAR(read(actual, static_cast<size_t>(at), dtype), expected, tolerance * std::max(1.0, std::abs(expected)))
          << dtypeName(dtype) << " at " << at << ", product " << sum;
    }
  }

  static double finish(const LibraryEpilogue &epilogue, double sum, double array, double bias) {
    if (epilogue.function == Function::GeluGradient)
      return epilogue.factor * sum * slopeOfGelu(array);
    double value = epilogue.factor * sum + (epilogue.array < 0 ? 0 : epilogue.arrayFactor * array) +
                   (epilogue.bias < 0 ? 0 : bias);
    return epilogue.function == Function::Gelu ? gelu(value) : value;
  }

  std::mt19937 random{11};
};

TEST_F(EpilogueHardware, Sums) {
  for (DType dtype : {DType::BF16, DType::F16, DType::F32}) {
    check(dtype, {Function::Identity, 1, 0, -1, 1});
    check(dtype, {Function::Identity, 1, 1, 1, -1});
    check(dtype, {Function::Identity, -0.5, 2, 1, -1});
    check(dtype, {Function::Identity, 0.25, -1, 1, 2});
  }
}

TEST_F(EpilogueHardware, Gelus) {
  for (DType dtype : {DType::BF16, DType::F16}) {
    check(dtype, {Function::Gelu, 0.5, 0, -1, -1});
    check(dtype, {Function::Gelu, -0.5, 0, -1, 1});
    check(dtype, {Function::Gelu, 0.5, 0.5, 1, 2});
    check(dtype, {Function::GeluGradient, 0.5, 0, 1, -1});
  }
}

} // namespace
