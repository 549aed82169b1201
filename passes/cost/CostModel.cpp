//===- CostModel.cpp - predicted times of communication and compute -------===//

#include "passes/cost/CostModel.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"

#include <algorithm>
#include <cmath>

namespace spmdc {

static constexpr llvm::StringLiteral kAttrName = "spmd.cost_model";

LinkRates CostModel::ratesOf(const std::vector<std::string> &axisNames) const {
  std::optional<LinkRates> slowest;
  for (const std::string &name : axisNames) {
    auto own = axes.find(name.substr(0, name.find(':')));
    const LinkRates &rates = own == axes.end() ? link : own->second;
    slowest = slowest ? slowest->with(rates) : rates;
  }
  return slowest.value_or(link);
}

CostModel CostModel::ofGpu() {
  CostModel model;
  // NCCL between GPUs of one host takes about 10 us for a small transfer, and reaches 350 of the 450 GB/s that NVLink 4
  // has in one direction. Transfers run on the links while the multiprocessors compute.
  model.link = {.latencyMicroseconds = 10, .bytesPerSecond = 3.5e11, .overlap = 1};
  // Measured on an H100 SXM (benchmarks/RESULTS.md): products of 16-bit types; bytes read and written by a copy.
  model.flopsPerSecond = 7e14;
  model.memoryPerSecond = 3e12;
  return model;
}

CostModel CostModel::forGoal() const {
  if (goal == Goal::Time)
    return *this;
  // Nearly free instead of free: among strategies with equal bytes, less work and fewer steps still win.
  constexpr double latency = 1e-9, rate = 1e30;
  CostModel model = *this;
  model.flopsPerSecond = model.memoryPerSecond = rate;
  model.link.latencyMicroseconds = latency;
  for (auto &[name, rates] : model.axes)
    rates.latencyMicroseconds = latency;
  return model;
}

int64_t CostModel::stepsOf(std::string_view collective) { return collective == "all_reduce" ? 2 : 1; }

double CostModel::collectiveSeconds(std::string_view collective, const std::vector<std::string> &axisNames,
                                    double wireBytesPerDevice) const {
  LinkRates rates = ratesOf(axisNames);
  return static_cast<double>(stepsOf(collective)) * rates.latencyMicroseconds / 1e6 +
         wireBytesPerDevice / rates.bytesPerSecond;
}

CollectiveCost CostModel::costOf(std::string_view collective, const std::vector<std::string> &axisNames,
                                 double wireBytes, double peakBytes) const {
  return costOf(collective, ratesOf(axisNames), wireBytes, peakBytes);
}

CollectiveCost CostModel::costOf(std::string_view collective, const LinkRates &rates, double wireBytes,
                                 double peakBytes) const {
  // An all_reduce counts one wait, too: latency matters for small operands, which each device reads in one step
  // (runtime/collective/shm/ControlPage.h).
  return {.wireBytes = wireBytes,
          .linkBytes = wireBytes * (link.bytesPerSecond / rates.bytesPerSecond),
          .exchanges = collective == "exchange",
          .steps = 1,
          .peakBytes = peakBytes,
          .latencySeconds = rates.latencyMicroseconds / 1e6};
}

double CostModel::leastWeight(const spmd::MeshShape &mesh) const {
  double weight = 1;
  for (const spmd::MeshAxis &axis : mesh.axes)
    if (auto own = axes.find(axis.name); own != axes.end())
      weight = std::min(weight, link.bytesPerSecond / own->second.bytesPerSecond);
  return weight;
}

double CostModel::computeSeconds(double contractionFlops, double memoryBytes) const {
  return std::max(contractionFlops / flopsPerSecond, memoryBytes / memoryPerSecond);
}

double CostModel::sortSeconds(double elements, double line) const {
  constexpr double keyAndPosition = 16;
  return elements * std::max(1.0, std::ceil(std::log2(line))) * 2 * keyAndPosition / memoryPerSecond;
}

LinkRates CostModel::fit(const std::vector<Sample> &samples) {
  // Each sample is one equation, steps * latency + bytes * secondsPerByte = seconds, divided by its right side so that
  // short collectives count as much as long ones; below are the normal equations.
  double ss = 0, sb = 0, bb = 0, s1 = 0, b1 = 0;
  for (const Sample &sample : samples) {
    double s = static_cast<double>(sample.steps) / sample.seconds, b = sample.wireBytesPerDevice / sample.seconds;
    ss += s * s;
    sb += s * b;
    bb += b * b;
    s1 += s;
    b1 += b;
  }
  double determinant = ss * bb - sb * sb;
  double latency = determinant > 0 ? (s1 * bb - b1 * sb) / determinant : 0;
  double secondsPerByte = determinant > 0 ? (b1 * ss - s1 * sb) / determinant : 0;
  // If noise makes one of the two negative, it becomes zero, and the other one alone is fitted.
  if (latency <= 0 || secondsPerByte <= 0) {
    bool isAllLatency = secondsPerByte <= 0 && ss > 0;
    latency = isAllLatency ? s1 / ss : 0;
    secondsPerByte = !isAllLatency && bb > 0 ? b1 / bb : 0;
  }
  LinkRates rates;
  rates.latencyMicroseconds = latency * 1e6;
  rates.bytesPerSecond = secondsPerByte > 0 ? 1 / secondsPerByte : 1e15;
  return rates;
}

CostModel CostModel::of(mlir::ModuleOp module) {
  auto text = module->getAttrOfType<mlir::StringAttr>(kAttrName);
  std::string error;
  std::optional<CostModel> model;
  if (text)
    model = parse(text.getValue(), kAttrName.str(), error);
  return model.value_or(CostModel());
}

void CostModel::attachTo(mlir::ModuleOp module) const {
  if (*this != CostModel())
    module->setAttr(kAttrName, mlir::StringAttr::get(module.getContext(), str()));
}

} // namespace spmdc
