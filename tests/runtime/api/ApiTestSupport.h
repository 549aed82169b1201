//===- ApiTestSupport.h - messages, and a job of one process ----*- C++ -*-===//
#pragma once

#include "runtime/api/include/spmd/spmd.h"
#include "tests/support/Messages.h"
#include "tests/support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace spmd::testing_api {

using test::messageOf;
using test::TemporaryFolder;

/// A job of this process alone with so many devices, for the life of the object.
class LocalJob {
public:
  explicit LocalJob(int devices) { initialize({.num_processes = 1, .devices_per_process = devices}); }
  ~LocalJob() { shutdown(); }
};

/// Returns 0, 1, 2, ...
inline std::vector<float> counting(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

/// Tests with a mesh over all devices of a job of this process alone.
class MeshTest : public ::testing::Test {
protected:
  MeshTest(std::vector<int64_t> sizes, std::vector<std::string> axes)
      : job(std::accumulate(sizes.begin(), sizes.end(), 1, [](int a, int64_t b) { return a * static_cast<int>(b); })),
        mesh(make_mesh(std::move(sizes), std::move(axes))) {}

  /// Returns an array of 0, 1, 2, ... with this sharding.
  Array counted(Shape shape, P spec) const {
    int64_t elements = std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies());
    return device_put(view(counting(elements), std::move(shape)), NamedSharding(mesh, std::move(spec)));
  }

  LocalJob job;
  Mesh mesh;
};

} // namespace spmd::testing_api
