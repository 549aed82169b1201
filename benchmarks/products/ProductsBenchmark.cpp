//===- ProductsBenchmark.cpp - time of one matrix product on the CPU ------===//
//
//     products-benchmark TYPE RESULT BATCH M N K [NN|NT|TN|TT] [THREADS] [no-library]
//
// Prints the method and the median of 15 measurements in microseconds; each repeats the product for 20 ms or more.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/Dnnl.h"
#include "runtime/device/cpu/Matmul.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

using namespace spmd;

namespace {

DType parse(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(DType::Key); ++i)
    if (dtypeName(static_cast<DType>(i)) == name)
      return static_cast<DType>(i);
  std::fprintf(stderr, "unknown type\n");
  std::exit(1);
}

char *allocate(int64_t bytes) {
  bytes = (bytes + 4095) / 4096 * 4096 + 4096;
  auto *data = static_cast<char *>(std::aligned_alloc(4096, bytes));
  std::memset(data, 0, bytes);
  return data;
}

/// Normal numbers in each type: 1 to 2 for floats, small integers for the others.
void fill(DType dtype, char *data, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    uint64_t bits = 0;
    switch (dtype) {
    case DType::F64:
      bits = 0x3ff0000000000000u | uint64_t(i % 1021) << 42;
      break;
    case DType::F32:
      bits = 0x3f800000u | uint64_t(i % 1021) << 13;
      break;
    case DType::BF16:
      bits = 0x3f80u | i % 127;
      break;
    case DType::F16:
      bits = 0x3c00u | i % 1021;
      break;
    default:
      bits = i % 113;
    }
    std::memcpy(data + i * byteSize(dtype), &bits, byteSize(dtype));
  }
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 7)
    return std::fprintf(stderr,
                        "usage: products-benchmark TYPE RESULT BATCH M N K [NN|NT|TN|TT] [THREADS] [no-library]\n"),
           1;
  MatmulShape shape;
  shape.operand = parse(argv[1]);
  shape.result = parse(argv[2]);
  shape.batch = std::atoll(argv[3]);
  shape.m = std::atoll(argv[4]);
  shape.n = std::atoll(argv[5]);
  shape.k = std::atoll(argv[6]);
  shape.transposeLhs = argc > 7 && argv[7][0] == 'T';
  shape.transposeRhs = argc > 7 && argv[7][1] == 'T';
  int threads = argc > 8 ? std::atoi(argv[8]) : 1;
  auto library = argc > 9 && !std::strcmp(argv[9], "no-library") ? nullptr : Dnnl::load();
  int64_t lhsCount = shape.batch * shape.m * shape.k, rhsCount = shape.batch * shape.k * shape.n;
  char *lhs = allocate(lhsCount * byteSize(shape.operand)), *rhs = allocate(rhsCount * byteSize(shape.operand));
  char *result = allocate(shape.batch * shape.m * shape.n * byteSize(shape.result));
  fill(shape.operand, lhs, lhsCount);
  fill(shape.operand, rhs, rhsCount);
  auto matmul = Matmul::create(shape, library, threads);
  char *scratch = allocate(matmul->getScratchBytes());
  ParallelFor loop(threads, spinTime);
  auto measure = [&](int64_t calls) {
    auto begin = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < calls; ++i)
      matmul->run(loop, lhs, rhs, result, scratch);
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
  };
  double once = measure(1);
  once = measure(1);
  int64_t calls = std::max<int64_t>(1, int64_t(20000 / (once + 0.01)));
  std::vector<double> times;
  for (int i = 0; i < 15; ++i)
    times.push_back(measure(calls) / calls);
  std::nth_element(times.begin(), times.begin() + 7, times.end());
  double operations = 2.0 * shape.batch * shape.m * shape.n * shape.k;
  std::printf("%s %.2f us %.1f G/s\n", matmul->getMethod().c_str(), times[7], operations / times[7] * 1e-3);
}
