//===- PlanHelper.h - plans written by hand ---------------------*- C++ -*-===//
#pragma once

#include "runtime/artifact/Plan.h"
#include "runtime/device/Device.h"

#include <memory>
#include <string>
#include <vector>

namespace spmd::test {

/// Builds an artifact over the kernels of kernels/kernels.c.
class PlanBuilder {
public:
  explicit PlanBuilder(MeshShape mesh);

  BufferId parameter(DType dtype, std::vector<int64_t> localShape);
  BufferId result(DType dtype, std::vector<int64_t> localShape);
  BufferId arena(DType dtype, std::vector<int64_t> shape);
  BufferId constant(DType dtype, std::vector<int64_t> shape, const void *data);

  int32_t kernel(const std::string &symbol);
  /// Makes steps at `x.spmd:LINE:1` with ascending lines.
  Step launch(const std::string &symbol, std::vector<BufferId> operands, int64_t extent = 1, int64_t grain = 1);
  Step step(decltype(Step::op) op);
  /// Makes the start and the end of a collective.
  std::vector<Step> collective(CollectiveDesc desc, BufferId operand, BufferId result);
  CollectiveDesc sumOver(std::vector<AxisRef> axes, DType dtype, std::vector<int64_t> shape);

  void add(Step step) { artifact->plan.steps.push_back(std::move(step)); }
  void add(const std::vector<Step> &steps);
  std::shared_ptr<Artifact> finish() { return artifact; }
  Plan &plan() { return artifact->plan; }

private:
  BufferId addBuffer(BufferInfo info);
  std::shared_ptr<Artifact> artifact = std::make_shared<Artifact>();
  int32_t nextLine = 1, nextCollective = 0;
};

template <typename T> DeviceBufferRef upload(Device &device, const std::vector<T> &values) {
  auto bytes = static_cast<int64_t>(values.size() * sizeof(T));
  DeviceBufferRef buffer = device.allocate(bytes);
  device.copyFromHost(*buffer, values.data(), bytes);
  return buffer;
}

template <typename T> std::vector<T> download(Device &device, const DeviceBufferRef &buffer) {
  std::vector<T> values(buffer->bytes() / sizeof(T));
  device.copyToHost(values.data(), *buffer, static_cast<int64_t>(values.size() * sizeof(T)));
  return values;
}

} // namespace spmd::test
