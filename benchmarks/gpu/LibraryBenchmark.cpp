//===- LibraryBenchmark.cpp - sorts, scatters and products on a GPU -------===//
//
// Times the kernels of runtime/device/cuda/kernels and a copy of device memory in the same run. Each line has the call,
// microseconds, the least bytes that it moves (for a sort, those of its passes) per second, and the ratio to the copy's
// rate; for products, operations per second.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/Gpu.h"
#include "runtime/device/cuda/Library.h"
#include "runtime/support/Error.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <functional>
#include <random>
#include <vector>

using namespace spmd;
using namespace spmd::cuda;

namespace {

class Bench {
public:
  explicit Bench(const std::shared_ptr<const Driver> &given)
      : gpu(given, 0), driver(*given), library(given, gpu.getCapability()) {
    driver.check(driver.StreamCreate(&stream, kStreamNonBlocking), "cuStreamCreate");
    driver.check(driver.EventCreate(&begin, 0), "cuEventCreate");
    driver.check(driver.EventCreate(&end, 0), "cuEventCreate");
  }

  DevicePointer upload(const void *data, int64_t bytes) {
    DevicePointer pointer = gpu.allocate(bytes, stream);
    driver.check(driver.MemcpyHtoDAsync(pointer, data, bytes, stream), "cuMemcpyHtoDAsync");
    driver.check(driver.StreamSynchronize(stream), "cuStreamSynchronize");
    return pointer;
  }

  /// The shortest of ten runs, in seconds.
  double time(const std::function<void()> &body) {
    double best = 1e9;
    for (int i = 0; i < 11; ++i) {
      driver.check(driver.EventRecord(begin, stream), "cuEventRecord");
      body();
      driver.check(driver.EventRecord(end, stream), "cuEventRecord");
      driver.check(driver.StreamSynchronize(stream), "cuStreamSynchronize");
      float milliseconds = 0;
      driver.check(driver.EventElapsedTime(&milliseconds, begin, end), "cuEventElapsedTime");
      if (i > 0)
        best = std::min(best, milliseconds * 1e-3);
    }
    return best;
  }

  void report(const std::string &what, double seconds, double bytes) {
    std::printf("%-52s %10.1f us %8.1f GB/s %5.2f of a copy\n", what.c_str(), seconds * 1e6, bytes / seconds * 1e-9,
                bytes / seconds / copyRate);
  }

  Gpu gpu;
  const Driver &driver;
  Library library;
  Stream stream = nullptr;
  Event begin = nullptr, end = nullptr;
  double copyRate = 1;
};

std::vector<float> drawFloats(int64_t count) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> real(-1, 1);
  std::vector<float> values(count);
  for (float &value : values)
    value = real(random);
  return values;
}

void timeCopy(Bench &bench) {
  int64_t bytes = int64_t(1) << 29;
  DevicePointer source = bench.gpu.allocate(bytes, bench.stream), target = bench.gpu.allocate(bytes, bench.stream);
  double seconds =
      bench.time([&] { bench.driver.MemcpyDtoDAsync(target, source, static_cast<size_t>(bytes), bench.stream); });
  bench.copyRate = 2 * static_cast<double>(bytes) / seconds;
  bench.report("copy of 512 MiB", seconds, 2 * static_cast<double>(bytes));
  bench.gpu.free(source, bench.stream);
  bench.gpu.free(target, bench.stream);
}

/// The elements of every type are random bits. With `limit`: i32 below it, as the numbers of experts.
void timeSort(Bench &bench, LibraryFunction function, DType dtype, int64_t outer, int64_t size, int64_t inner,
              uint32_t limit = 0) {
  int64_t count = outer * size * inner, width = byteSize(dtype);
  std::vector<float> values = drawFloats((count * width + 3) / 4);
  std::mt19937 random(3);
  for (float &value : values)
    if (limit > 0)
      value = std::bit_cast<float>(static_cast<uint32_t>(random()) % limit);
  DevicePointer operand = bench.upload(values.data(), count * width);
  bool areValues = returnsSortedValues(function);
  int64_t positionBytes = areValues ? 0 : 4, resultBytes = areValues ? width : 4;
  LibraryCall call{function, dtype, {outer, size, inner}, {DType::I32}};
  DevicePointer result = bench.gpu.allocate(resultBytes * count, bench.stream);
  DevicePointer scratch = bench.gpu.allocate(std::max<int64_t>(bench.library.getScratchBytes(call), 256), bench.stream);
  double seconds = bench.time([&] { bench.library.run(call, bench.stream, {operand}, result, scratch); });
  // A short line is read and written once. For a long one a pass counts the digits; then each pass reads and writes
  // values, or keys and positions, except the positions of the first read and the keys of the last write.
  bool isLong = size > (width == 8 ? 2048 : 4096);
  auto bytes = static_cast<double>(
      count * (isLong ? width * 2 * width + resultBytes + positionBytes * (2 * width - 2) : width + resultBytes));
  bench.report((areValues ? "sort " : "argsort ") + std::string(dtypeName(dtype)) + "[" + std::to_string(outer) + ", " +
                   std::to_string(size) + ", " + std::to_string(inner) + "]" +
                   (limit ? " below " + std::to_string(limit) : ""),
               seconds, bytes);
  for (DevicePointer pointer : {operand, result, scratch})
    bench.gpu.free(pointer, bench.stream);
}

/// `hot`: one of this many updates goes to row 0, the others to random rows; 1: all go to row 0.
void timeScatter(Bench &bench, DType dtype, bool isAlong, int64_t outer, int64_t rows, int64_t count, int64_t inner,
                 int64_t hot) {
  int64_t width = byteSize(dtype), updateBytes = outer * count * inner * width;
  std::mt19937 random(2);
  std::vector<int32_t> indices(isAlong ? outer * count * inner : count);
  for (int32_t &index : indices)
    index = random() % hot == 0 ? 0 : static_cast<int32_t>(random() % rows);
  std::vector<float> values = drawFloats(updateBytes / 4 + 1);
  DevicePointer updates = bench.upload(values.data(), updateBytes);
  DevicePointer places = bench.upload(indices.data(), static_cast<int64_t>(4 * indices.size()));
  DevicePointer result = bench.gpu.allocate(outer * rows * inner * width, bench.stream);
  bench.driver.MemsetD8Async(result, 0, outer * rows * inner * width, bench.stream);
  LibraryCall call{isAlong ? LibraryFunction::ScatterAddAlong : LibraryFunction::ScatterAdd,
                   dtype,
                   {outer, rows, count, inner},
                   {DType::I32}};
  DevicePointer scratch = bench.gpu.allocate(std::max<int64_t>(bench.library.getScratchBytes(call), 256), bench.stream);
  double seconds =
      bench.time([&] { bench.library.run(call, bench.stream, {result, places, updates}, result, scratch); });
  bench.report(std::string(isAlong ? "scatter_add_along " : "scatter_add ") + std::string(dtypeName(dtype)) + "[" +
                   std::to_string(outer) + ", " + std::to_string(rows) + ", " + std::to_string(inner) + "] of " +
                   std::to_string(count) + ", hot 1/" + std::to_string(hot),
               seconds, static_cast<double>(3 * updateBytes + 4 * indices.size()));
  for (DevicePointer pointer : {updates, places, result, scratch})
    bench.gpu.free(pointer, bench.stream);
}

void timeSlice(Bench &bench, DType dtype, int64_t outer, int64_t rows, int64_t window, int64_t inner) {
  int64_t width = byteSize(dtype);
  std::vector<int64_t> starts(3);
  DevicePointer start = bench.upload(starts.data(), 24);
  DevicePointer result = bench.gpu.allocate(outer * rows * inner * width, bench.stream);
  DevicePointer update = bench.gpu.allocate(outer * window * inner * width, bench.stream);
  LibraryCall call{LibraryFunction::UpdateSlice,
                   dtype,
                   {outer, rows, inner, outer, window, inner},
                   {DType::I64, DType::I64, DType::I64}};
  double seconds = bench.time(
      [&] { bench.library.run(call, bench.stream, {result, update, start, start + 8, start + 16}, result, 0); });
  bench.report("update_slice " + std::string(dtypeName(dtype)) + "[" + std::to_string(outer) + ", " +
                   std::to_string(rows) + ", " + std::to_string(inner) + "] of " + std::to_string(window),
               seconds, 2 * static_cast<double>(outer * window * inner * width));
  for (DevicePointer pointer : {start, result, update})
    bench.gpu.free(pointer, bench.stream);
}

void timeProduct(Bench &bench, DType operand, DType result, int64_t rows, int64_t size, bool transposeRhs) {
  MatmulShape shape{1, rows, size, size, false, transposeRhs, operand, result};
  std::vector<float> values = drawFloats(size * size * byteSize(operand) / 4);
  DevicePointer lhs = bench.upload(values.data(), size * size * byteSize(operand));
  DevicePointer rhs = bench.upload(values.data(), size * size * byteSize(operand));
  DevicePointer out = bench.gpu.allocate(size * size * byteSize(result), bench.stream);
  double seconds = bench.time([&] { bench.library.multiply(shape, bench.stream, lhs, rhs, out); });
  std::printf("product %s to %s, %lld x %lld^2%s: %.1f us, %.2f Tops, %.0f GB/s\n",
              std::string(dtypeName(operand)).c_str(), std::string(dtypeName(result)).c_str(),
              static_cast<long long>(rows), static_cast<long long>(size), transposeRhs ? ", NT" : "", seconds * 1e6,
              2 * static_cast<double>(rows * size * size) / seconds * 1e-12,
              static_cast<double>((rows + size) * size * byteSize(operand)) / seconds * 1e-9);
  for (DevicePointer pointer : {lhs, rhs, out})
    bench.gpu.free(pointer, bench.stream);
}

void run(const std::shared_ptr<const Driver> &driver) {
  Bench bench(driver);
  std::printf("%s\n", bench.gpu.getName().c_str());
  timeCopy(bench);
  constexpr int64_t kMillion = 1 << 20;
  for (LibraryFunction function : {LibraryFunction::Sort, LibraryFunction::Argsort}) {
    timeSort(bench, function, DType::F32, 1, 16 * kMillion, 1);
    timeSort(bench, function, DType::F32, 1, kMillion, 1);
    timeSort(bench, function, DType::I64, 1, 16 * kMillion, 1);
    timeSort(bench, function, DType::BF16, 1, 16 * kMillion, 1);
    timeSort(bench, function, DType::I8, 1, 16 * kMillion, 1);
    timeSort(bench, function, DType::I32, 1, 16 * kMillion, 1, 64);
    timeSort(bench, function, DType::F32, 16, kMillion, 1);
    timeSort(bench, function, DType::F32, 1, kMillion, 16);
    timeSort(bench, function, DType::F32, 4096, 4096, 1);
    timeSort(bench, function, DType::F32, 16384, 1024, 1);
    timeSort(bench, function, DType::F32, 65536, 256, 1);
    timeSort(bench, function, DType::F32, kMillion / 2, 32, 1);
    timeSort(bench, function, DType::F32, 2 * kMillion, 8, 1);
  }
  timeScatter(bench, DType::F32, false, 1, 50'000, 8192, 4096, 1000);
  timeScatter(bench, DType::BF16, false, 1, 50'000, 8192, 4096, 20);
  timeScatter(bench, DType::F32, false, 1, kMillion, 16 * kMillion, 1, 1'000'000);
  timeScatter(bench, DType::F32, false, 1, kMillion, kMillion, 1, 1);
  timeScatter(bench, DType::F32, false, 1, kMillion, kMillion, 32, 1);
  timeScatter(bench, DType::I32, false, 1, kMillion, 16 * kMillion, 1, 1'000'000);
  timeScatter(bench, DType::I32, false, 1, kMillion, kMillion, 1, 1);
  timeScatter(bench, DType::F32, true, 8192, 32'000, 1, 1, 1000);
  timeScatter(bench, DType::F32, true, 1024, 4096, 4096, 1, 1000);
  timeSlice(bench, DType::BF16, 64, 4096, 1, 1024);
  timeSlice(bench, DType::F32, 64, 4096, 1024, 1024);
  timeSlice(bench, DType::F32, 64, 4095, 1023, 1023);
  for (auto [operand, result] : {std::pair(DType::F32, DType::F32),
                                 {DType::BF16, DType::F32},
                                 {DType::F64, DType::F64},
                                 {DType::I32, DType::I32},
                                 {DType::I8, DType::I32}}) {
    for (bool transposeRhs : {false, true})
      for (int64_t rows : {1, 4096})
        timeProduct(bench, operand, result, rows, 4096, transposeRhs);
    timeProduct(bench, operand, result, 512, 512, false);
  }
}

} // namespace

int main() {
  try {
    std::string whyNot;
    std::shared_ptr<const Driver> driver = Driver::load(&whyNot);
    if (!driver)
      throw Error(whyNot);
    run(driver);
    return 0;
  } catch (const Error &error) {
    std::fprintf(stderr, "gpu-library-benchmark: %s\n", error.what());
    return 1;
  }
}
