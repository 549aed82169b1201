//===- ApiTestSupport.h - messages, and a job of one process ----*- C++ -*-===//
#pragma once

#include "runtime/api/include/spmd/spmd.h"
#include "tests/support/Messages.h"
#include "tests/support/TemporaryFolder.h"

#include <numeric>
#include <string>
#include <vector>

namespace spmd::testing_api {

using test::messageOf;
using test::TemporaryFolder;

/// A process of its own with so many devices, for the life of the object.
class LocalJob {
public:
  explicit LocalJob(int devices) { initialize({.num_processes = 1, .devices_per_process = devices}); }
  ~LocalJob() { shutdown(); }
};

/// 0, 1, 2, ...
inline std::vector<float> counting(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

} // namespace spmd::testing_api
