//===- PlanHelper.cpp - plans written by hand -----------------------------===//

#include "PlanHelper.h"

#include <fstream>
#include <sstream>

namespace spmd::test {

PlanBuilder::PlanBuilder(MeshShape mesh) {
  artifact->plan.name = "main";
  artifact->plan.mesh = std::move(mesh);
  std::ifstream file(SPMDC_TEST_KERNELS, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  artifact->code = content.str();
}

BufferId PlanBuilder::addBuffer(BufferInfo info) {
  artifact->plan.buffers.push_back(std::move(info));
  return static_cast<BufferId>(artifact->plan.buffers.size()) - 1;
}

namespace {

ValueInfo valueOf(const std::string &name, DType dtype, const std::vector<int64_t> &shape) {
  ValueInfo info;
  info.name = name;
  info.dtype = dtype;
  info.shape = info.localShape = shape;
  return info;
}

} // namespace

BufferId PlanBuilder::parameter(DType dtype, std::vector<int64_t> shape) {
  auto index = static_cast<int32_t>(artifact->plan.params.size());
  artifact->plan.params.push_back(valueOf("p" + std::to_string(index), dtype, shape));
  return addBuffer({BufferInfo::Space::Argument, index, 0, dtype, shape});
}

BufferId PlanBuilder::result(DType dtype, std::vector<int64_t> shape) {
  auto index = static_cast<int32_t>(artifact->plan.results.size());
  artifact->plan.results.push_back(valueOf("r" + std::to_string(index), dtype, shape));
  return addBuffer({BufferInfo::Space::Result, index, 0, dtype, shape});
}

BufferId PlanBuilder::arena(DType dtype, std::vector<int64_t> shape) {
  BufferInfo info{BufferInfo::Space::Arena, 0, artifact->plan.arenaBytes, dtype, std::move(shape)};
  artifact->plan.arenaBytes += (info.bytes() + 63) / 64 * 64;
  return addBuffer(std::move(info));
}

BufferId PlanBuilder::constant(DType dtype, std::vector<int64_t> shape, const void *data) {
  BufferInfo info{BufferInfo::Space::Constant, 0, static_cast<int64_t>(artifact->constants.size()), dtype,
                  std::move(shape)};
  artifact->constants.append(static_cast<const char *>(data), info.bytes());
  artifact->constants.resize((artifact->constants.size() + 63) / 64 * 64);
  return addBuffer(std::move(info));
}

int32_t PlanBuilder::kernel(const std::string &symbol) {
  auto &kernels = artifact->plan.kernels;
  for (size_t i = 0; i < kernels.size(); ++i)
    if (kernels[i].symbol == symbol)
      return static_cast<int32_t>(i);
  KernelInfo info;
  info.symbol = symbol;
  kernels.push_back(info);
  return static_cast<int32_t>(kernels.size()) - 1;
}

Step PlanBuilder::step(decltype(Step::op) op) { return {std::move(op), {"x.spmd", nextLine++, 1}}; }

Step PlanBuilder::launch(const std::string &symbol, std::vector<BufferId> operands, int64_t extent, int64_t grain) {
  return step(LaunchStep{kernel(symbol), std::move(operands), extent, grain});
}

std::vector<Step> PlanBuilder::collective(CollectiveDesc desc, BufferId operand, BufferId result) {
  int32_t id = nextCollective++;
  Step start = step(CollectiveStartStep{id, std::move(desc), operand, result});
  Step done{CollectiveDoneStep{id}, start.location};
  return {start, done};
}

CollectiveDesc PlanBuilder::sumOver(std::vector<AxisRef> axes, DType dtype, std::vector<int64_t> shape) {
  CollectiveDesc desc;
  desc.axes = std::move(axes);
  desc.dtype = dtype;
  desc.operandShape = desc.resultShape = std::move(shape);
  return desc;
}

void PlanBuilder::add(const std::vector<Step> &steps) {
  for (const Step &each : steps)
    add(each);
}

} // namespace spmd::test
