//===- CompiledRun.cpp - a program compiled and executed ------------------===//

#include "tests/programs/support/CompiledRun.h"

#include "compiler/Compiler.h"
#include "runtime/artifact/CompiledLoops.h"
#include "runtime/collective/shm/ShmCollectives.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/support/Error.h"
#include "tests/programs/support/TensorBytes.h"

#include <numeric>

using namespace mlir;

namespace spmdc {
namespace {

ArrayType typeOf(MLIRContext &context, const spmd::ValueInfo &info) {
  return ArrayType::get(info.shape, getElementType(&context, info.dtype),
                        ShardingAttr::fromValue(&context, info.sharding));
}

} // namespace

std::shared_ptr<const spmd::Artifact> compileText(const std::string &fileName, const std::string &text,
                                                  unsigned optimizationLevel, std::string &error,
                                                  const PipelineOptions &pipeline, const CostModel &costModel,
                                                  const std::string &target) {
  CompileOptions options;
  options.target = target;
  options.pipeline = pipeline;
  options.optimizationLevel = optimizationLevel;
  options.costModel = costModel;
  Compiler compiler(fileName, text, options);
  std::optional<spmd::Artifact> artifact = compiler.compile();
  if (!artifact) {
    error = compiler.errors();
    return nullptr;
  }
  return std::make_shared<const spmd::Artifact>(std::move(*artifact));
}

std::shared_ptr<const spmd::Artifact> compileModule(ModuleOp module, unsigned optimizationLevel, std::string &error) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return compileText("program.mlir", text, optimizationLevel, error);
}

struct CompiledProgram::State {
  std::shared_ptr<const spmd::Artifact> artifact;
  std::vector<spmd::DeviceRef> devices;
  std::unique_ptr<spmd::CollectiveBackend> collectives;
  std::unique_ptr<spmd::Executor> executor;
};

CompiledProgram::CompiledProgram(std::shared_ptr<const spmd::Artifact> artifact) : state(std::make_unique<State>()) {
  auto count = static_cast<int>(artifact->plan.mesh.deviceCount());
  std::vector<int64_t> ids(count);
  std::iota(ids.begin(), ids.end(), 0);
  state->artifact = artifact;
  // Two threads where that is cheap: independent launches then run side by side.
  state->devices = spmd::createCpuDevices(ids, {.hostDeviceCount = count, .threadsPerDevice = count <= 4 ? 2 : 1});
  spmd::ShmOptions shm;
  shm.places.resize(count);
  shm.localDevices = state->devices;
  state->collectives = spmd::createShmCollectives(shm);
  spmd::ExecutorOptions options;
  options.devices = ids;
  options.localDevices = state->devices;
  options.collectives = state->collectives.get();
  state->executor = spmd::Executor::create(artifact, options);
}

CompiledProgram::CompiledProgram(std::shared_ptr<const spmd::Artifact> artifact, const spmd::ExecutorOptions &options)
    : state(std::make_unique<State>()) {
  state->artifact = artifact;
  state->devices = options.localDevices;
  state->executor = spmd::Executor::create(artifact, options);
}

CompiledProgram::~CompiledProgram() = default;

spmd::Executor &CompiledProgram::getExecutor() const { return *state->executor; }

CompiledProgram::Buffers CompiledProgram::upload(MLIRContext &context, ArrayRef<Tensor> arguments,
                                                 Poison poison) const {
  const spmd::Plan &plan = state->artifact->plan;
  size_t count = state->devices.size();
  Buffers inputs(count);
  for (size_t i = 0; i < plan.params.size(); ++i) {
    DeviceTensors shards = splitIntoShards(arguments[i], typeOf(context, plan.params[i]), plan.mesh, poison);
    for (size_t device = 0; device < count; ++device) {
      std::vector<char> bytes = toBytes(shards[device]);
      auto size = static_cast<int64_t>(bytes.size());
      spmd::DeviceBufferRef buffer = state->devices[device]->allocate(std::max<int64_t>(size, 1));
      state->devices[device]->copyFromHost(*buffer, bytes.data(), size);
      inputs[device].push_back(std::move(buffer));
    }
  }
  return inputs;
}

CompiledProgram::Buffers CompiledProgram::allocateResults() const {
  constexpr char kUnwritten = '\xA5';
  Buffers outputs(state->devices.size());
  for (const spmd::ValueInfo &result : state->artifact->plan.results)
    for (size_t device = 0; device < outputs.size(); ++device) {
      spmd::DeviceBufferRef buffer = state->devices[device]->allocate(std::max<int64_t>(result.localBytes(), 1));
      std::vector<char> pattern(static_cast<size_t>(buffer->bytes()), kUnwritten);
      state->devices[device]->copyFromHost(*buffer, pattern.data(), buffer->bytes());
      outputs[device].push_back(std::move(buffer));
    }
  return outputs;
}

FailureOr<SmallVector<Tensor>> CompiledProgram::run(MLIRContext &context, ArrayRef<Tensor> arguments, Poison poison,
                                                    std::string &error) {
  Buffers inputs = upload(context, arguments, poison), outputs = allocateResults();
  try {
    state->executor->run(inputs, outputs);
  } catch (const spmd::Error &thrown) {
    error = std::string("the run fails: ") + thrown.what();
    return failure();
  }
  if (!listCompiledLoops(state->artifact->plan).empty() && !runsStepByStep(inputs, outputs, error))
    return failure();
  return download(context, outputs, error);
}

bool CompiledProgram::runsStepByStep(const Buffers &inputs, const Buffers &outputs, std::string &error) {
  Buffers others = allocateResults();
  std::vector<spmd::ProfileEvent> profile;
  state->executor->run(inputs, others, &profile);
  for (size_t device = 0; device < outputs.size(); ++device)
    for (size_t i = 0; i < outputs[device].size(); ++i) {
      auto bytes = static_cast<size_t>(outputs[device][i]->bytes());
      std::string loop(bytes, 0), steps(bytes, 0);
      state->devices[device]->copyToHost(loop.data(), *outputs[device][i], static_cast<int64_t>(bytes));
      state->devices[device]->copyToHost(steps.data(), *others[device][i], static_cast<int64_t>(bytes));
      if (loop != steps) {
        error = "result " + std::to_string(i) + " has other bits if the steps of loops run one by one";
        return false;
      }
    }
  return true;
}

FailureOr<SmallVector<Tensor>> CompiledProgram::download(MLIRContext &context, const Buffers &outputs,
                                                         std::string &error) const {
  const spmd::Plan &plan = state->artifact->plan;
  SmallVector<Tensor> results;
  for (size_t i = 0; i < plan.results.size(); ++i) {
    ArrayType type = typeOf(context, plan.results[i]);
    DeviceTensors shards;
    for (size_t device = 0; device < state->devices.size(); ++device) {
      std::vector<char> bytes(static_cast<size_t>(plan.results[i].localBytes()));
      state->devices[device]->copyToHost(bytes.data(), *outputs[device][i], plan.results[i].localBytes());
      shards.push_back(fromBytes(bytes, plan.results[i].localShape, type.getElementType()));
    }
    std::string why;
    FailureOr<Tensor> joined = assembleShards(shards, type, plan.mesh, why);
    if (failed(joined)) {
      error = "result " + std::to_string(i) + ": " + why;
      return failure();
    }
    results.push_back(std::move(*joined));
  }
  return results;
}

} // namespace spmdc
