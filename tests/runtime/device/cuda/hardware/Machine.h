//===- Machine.h - the GPU of tests on hardware -----------------*- C++ -*-===//
#pragma once

#include "runtime/device/cuda/Gpu.h"
#include "runtime/device/cuda/Library.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace spmd::cuda {

/// The first GPU, with one stream; all tests of a process share it.
class Machine {
public:
  /// Null if there is no GPU; `whyNot` says why.
  static Machine *find(std::string &whyNot) {
    static std::string why;
    static std::unique_ptr<Machine> machine = [&]() -> std::unique_ptr<Machine> {
      std::shared_ptr<const Driver> driver = Driver::load(&why);
      return driver ? std::make_unique<Machine>(driver) : nullptr;
    }();
    whyNot = why;
    return machine.get();
  }

  explicit Machine(const std::shared_ptr<const Driver> &given)
      : gpu(given, 0), driver(*given), library(given, gpu.getCapability()) {
    driver.check(driver.StreamCreate(&stream, kStreamNonBlocking), "cuStreamCreate");
  }

  DevicePointer upload(const std::vector<char> &bytes) {
    DevicePointer pointer = gpu.allocate(std::max<int64_t>(bytes.size(), 256), stream);
    driver.check(driver.MemcpyHtoDAsync(pointer, bytes.data(), bytes.size(), stream), "cuMemcpyHtoDAsync");
    return pointer;
  }
  std::vector<char> download(DevicePointer pointer, int64_t size) {
    std::vector<char> bytes(size);
    driver.check(driver.MemcpyDtoHAsync(bytes.data(), pointer, size, stream), "cuMemcpyDtoHAsync");
    driver.check(driver.StreamSynchronize(stream), "cuStreamSynchronize");
    return bytes;
  }

  Gpu gpu;
  const Driver &driver;
  Library library;
  Stream stream = nullptr;
};

/// A test with the GPU current; skipped where there is none.
class HardwareTest : public testing::Test {
protected:
  void SetUp() override {
    std::string whyNot;
    machine = Machine::find(whyNot);
    if (!machine)
      GTEST_SKIP() << whyNot;
    machine->gpu.makeCurrent();
  }

  Machine *machine = nullptr;
};

} // namespace spmd::cuda
