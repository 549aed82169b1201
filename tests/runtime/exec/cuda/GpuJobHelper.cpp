//===- GpuJobHelper.cpp - programs on emulated GPUs -----------------------===//

#include "tests/runtime/exec/cuda/GpuJobHelper.h"

#include "compiler/Compiler.h"
#include "ir/spmd/SpmdTypes.h"
#include "runtime/collective/shm/ShmCollectives.h"
#include "runtime/support/Error.h"
#include "tests/programs/generator/Accuracy.h"
#include "tests/programs/generator/Random.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>

using namespace mlir;
using spmdc::Tensor;

namespace spmd::test {

GpuArtifact compileForGpus(const std::string &fileName, const std::string &text, const spmdc::PipelineOptions &pipeline,
                           bool allowTf32) {
  spmdc::CompileOptions options;
  options.target = "cuda:sm_90";
  options.pipeline = pipeline;
  options.allowTf32 = allowTf32;
  spmdc::Compiler compiler(fileName, text, options);
  std::optional<Artifact> artifact = compiler.compile();
  if (!artifact) {
    ADD_FAILURE() << compiler.errors() << text;
    return {};
  }
  return std::make_shared<const Artifact>(std::move(*artifact));
}

GpuJob::GpuJob(int64_t count, const GpuJobOptions &options)
    : driver({options.sharesGpu ? 1 : static_cast<int>(count),
              options.seed,
              options.bytesPerGpu,
              options.capability,
              options.driverVersion,
              {},
              "",
              {},
              options.queues}),
      nccl(driver) {
  if (options.hasCupti)
    cupti.emplace(driver, options.cupti);
  ShmOptions shm;
  std::vector<std::shared_ptr<cuda::Gpu>> gpus;
  std::vector<std::shared_ptr<const cuda::Library>> libraries;
  for (int64_t id = 0; id < count; ++id) {
    if (gpus.empty() || !options.sharesGpu) {
      gpus.push_back(std::make_shared<cuda::Gpu>(driver.getDriver(), static_cast<int>(id)));
      libraries.push_back(std::make_shared<cuda::Library>(driver.getDriver(), options.capability, options.blas,
                                                          cupti ? cupti->getCupti() : nullptr));
    }
    auto host = std::make_shared<CpuDevice>(id, CpuDeviceOptions{static_cast<int>(count), 1});
    devices.push_back(std::make_shared<CudaDevice>(gpus.back(), libraries.back(), host));
    shm.localDevices.push_back(host);
    shm.places.emplace_back();
  }
  collectives = createShmCollectives(shm);
  if (options.transport == Transport::Nccl)
    transport.emplace(cuda::GpuTransportOptions{nccl.getNccl(), 0, std::vector<int32_t>(static_cast<size_t>(count), 0),
                                                nullptr, options.health});
}

GpuJob::~GpuJob() = default;

ExecutorOptions GpuJob::makeOptions() {
  ExecutorOptions options;
  options.devices.resize(devices.size());
  std::iota(options.devices.begin(), options.devices.end(), 0);
  options.localDevices = devices;
  options.collectives = collectives.get();
  options.gpuTransport = getTransport();
  return options;
}

std::unique_ptr<spmdc::CompiledProgram> GpuJob::load(const GpuArtifact &program, const ExecutorOptions &options) {
  return std::make_unique<spmdc::CompiledProgram>(program, options);
}

std::vector<Tensor> makeArguments(MLIRContext &context, const Plan &plan, uint64_t seed, bool areExact) {
  spmdc::Random random(seed);
  std::vector<Tensor> arguments;
  for (const ValueInfo &info : plan.params) {
    Tensor tensor(info.shape, spmdc::getElementType(&context, info.dtype));
    for (spmdc::Scalar &element : tensor.elements) {
      int64_t small = info.dtype == DType::Bool ? random.integer(0, 1)
                      : isUnsigned(info.dtype)  ? random.integer(0, 6)
                                                : random.integer(-3, 3);
      if (!isFloat(info.dtype))
        element = spmdc::Scalar::ofInt(small);
      else if (areExact)
        element = spmdc::Scalar::ofFloat(static_cast<double>(small));
      else
        element = spmdc::roundTo(spmdc::Scalar::ofFloat(static_cast<double>(random.integer(-40000, 40000)) / 9973.0),
                                 tensor.elementType);
    }
    arguments.push_back(std::move(tensor));
  }
  return arguments;
}

/// Returns the difference between this number and the next one of the type.
static double unitOf(double value, Type type) {
  auto semantics = &cast<FloatType>(type).getFloatSemantics();
  int digits = static_cast<int>(llvm::APFloat::semanticsPrecision(*semantics));
  int least = llvm::APFloat::semanticsMinExponent(*semantics);
  int exponent = value == 0 ? least : std::max(std::ilogb(value), least);
  return std::ldexp(1.0, exponent - digits + 1);
}

std::string compareTensors(ArrayRef<Tensor> expected, ArrayRef<Tensor> actual, double ulps) {
  if (expected.size() != actual.size())
    return "another number of results";
  for (size_t result = 0; result < expected.size(); ++result) {
    const Tensor &want = expected[result], &got = actual[result];
    if (want.shape != got.shape || want.elementType != got.elementType)
      return "result " + std::to_string(result) + " has another type";
    for (size_t i = 0; i < want.elements.size(); ++i) {
      bool isSame = want.elements[i].i == got.elements[i].i;
      if (isa<FloatType>(want.elementType)) {
        double x = want.elements[i].f, y = got.elements[i].f;
        isSame = (std::isnan(x) && std::isnan(y)) || (x == y && (ulps > 0 || std::signbit(x) == std::signbit(y))) ||
                 (ulps > 0 && std::abs(x - y) <= ulps * unitOf(x, want.elementType));
        if (!isSame)
          return "result " + std::to_string(result) + ", element " + std::to_string(i) + " is " + std::to_string(y) +
                 " instead of " + std::to_string(x);
      } else if (!isSame) {
        return "result " + std::to_string(result) + ", element " + std::to_string(i) + " is " +
               std::to_string(got.elements[i].i) + " instead of " + std::to_string(want.elements[i].i);
      }
    }
  }
  return "";
}

} // namespace spmd::test
