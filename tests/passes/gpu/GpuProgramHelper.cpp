//===- GpuProgramHelper.cpp - compiles IR for a GPU, runs it here ---------===//

#include "tests/passes/gpu/GpuProgramHelper.h"

#include "ir/spmd/SpmdTypes.h"
#include "passes/pipeline/Pipeline.h"
#include "passes/plan/ExportPlan.h"
#include "tests/passes/cpu/CompiledProgramHelper.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace mlir;

namespace spmdc {

GpuProgram::GpuProgram(ModuleOp module, const std::string &chip) {
  OwningOpRef<ModuleOp> planned = module.clone();
  if (failed(runPipeline(*planned, Stage::Partitioned, Stage::Plan, {}))) {
    ADD_FAILURE() << "the pipeline fails";
    return;
  }
  FailureOr<GpuTarget> target = GpuTarget::named(chip, module.getLoc());
  if (failed(target)) {
    ADD_FAILURE() << "no target";
    return;
  }
  FailureOr<spmd::Artifact> exported = exportPlan(*planned);
  FailureOr<std::string> code = emitPtx(*planned, *target), text = emitGpuLlvmText(*planned, *target);
  if (failed(exported) || failed(code) || failed(text) ||
      failed(describeGpuLaunches(*planned, *target, exported->plan))) {
    ADD_FAILURE() << "no artifact";
    return;
  }
  artifact = std::move(*exported);
  artifact.code = std::move(*code);
  llvmText = std::move(*text);
  std::string error;
  emulator = std::make_unique<GpuEmulator>(llvmText, error);
  if (!error.empty()) {
    ADD_FAILURE() << error;
    emulator.reset();
  }
}

std::vector<Tensor> GpuProgram::run(ArrayRef<Tensor> arguments, ThreadOrder order, std::vector<int64_t> coordinates) {
  const spmd::Plan &plan = artifact.plan;
  using Memory = std::unique_ptr<char, decltype(&std::free)>;
  // Exactly as large as the plan says: with ASan, an access beyond is found. Filled with what no result should show.
  auto allocate = [](int64_t bytes) {
    void *memory = nullptr;
    if (posix_memalign(&memory, 16, std::max<int64_t>(bytes, 1)) == 0)
      std::memset(memory, 0xa5, bytes);
    return Memory(static_cast<char *>(memory), &std::free);
  };
  Memory arena = allocate(plan.arenaBytes), constants = allocate(artifact.constants.size());
  std::memcpy(constants.get(), artifact.constants.data(), artifact.constants.size());
  std::vector<Memory> inputs, results;
  for (const Tensor &argument : arguments) {
    std::string bytes = toBytes(argument);
    inputs.push_back(allocate(bytes.size()));
    std::memcpy(inputs.back().get(), bytes.data(), bytes.size());
  }
  for (const spmd::ValueInfo &result : plan.results)
    results.push_back(allocate(result.localBytes()));
  auto address = [&](spmd::BufferId id) -> void * {
    const spmd::BufferInfo &buffer = plan.buffers[id];
    switch (buffer.space) {
    case spmd::BufferInfo::Space::Argument:
      return inputs[buffer.index].get();
    case spmd::BufferInfo::Space::Result:
      return results[buffer.index].get();
    case spmd::BufferInfo::Space::Arena:
      return arena.get() + buffer.offset;
    case spmd::BufferInfo::Space::Constant:
      return constants.get() + buffer.offset;
    }
    return nullptr;
  };
  for (const spmd::Step &step : plan.steps) {
    if (const auto *copy = std::get_if<spmd::CopyStep>(&step.op)) {
      std::memcpy(address(copy->target), address(copy->source), plan.buffers[copy->source].bytes());
    } else if (const auto *launch = std::get_if<spmd::LaunchStep>(&step.op)) {
      const spmd::KernelInfo &kernel = plan.kernels[launch->kernel];
      EXPECT_EQ(launch->extent, kernel.gridBlocks);
      std::vector<void *> pointers;
      for (spmd::BufferId id : launch->operands)
        pointers.push_back(address(id));
      pointers.push_back(coordinates.data());
      std::string problem = emulator->launch(kernel.symbol, kernel.gridBlocks, kernel.blockThreads, pointers, order);
      if (!problem.empty()) {
        ADD_FAILURE() << problem;
        return {};
      }
    } else {
      ADD_FAILURE() << "a step that this interpreter does not know";
    }
  }
  std::vector<Tensor> tensors;
  MLIRContext *context = arguments.empty() ? nullptr : arguments[0].elementType.getContext();
  for (size_t i = 0; i < plan.results.size(); ++i)
    tensors.push_back(fromBytes(results[i].get(), plan.results[i].localShape,
                                context ? getElementType(context, plan.results[i].dtype) : Type()));
  return tensors;
}

bool Ptxas::isAvailable() {
#ifdef SPMDC_PTXAS
  return true;
#else
  return false;
#endif
}

std::optional<std::string> Ptxas::check(const std::string &ptx, const std::string &chip) {
#ifdef SPMDC_PTXAS
  std::string path = testing::TempDir() + "/spmdc-ptx-XXXXXX";
  int file = mkstemp(path.data());
  if (file < 0 || write(file, ptx.data(), ptx.size()) != static_cast<ssize_t>(ptx.size()))
    return "cannot write " + path;
  close(file);
  std::string command =
      std::string(SPMDC_PTXAS) + " -arch=" + chip + " --warn-on-spills -v -o /dev/null " + path + " 2>&1";
  std::string text;
  FILE *pipe = popen(command.c_str(), "r");
  std::array<char, 4096> buffer;
  while (size_t count = pipe ? fread(buffer.data(), 1, buffer.size(), pipe) : 0)
    text.append(buffer.data(), count);
  int status = pipe ? pclose(pipe) : -1;
  unlink(path.c_str());
  if (status != 0)
    return text;
  for (size_t at = text.find(" bytes spill"); at != std::string::npos; at = text.find(" bytes spill", at + 1))
    if (at < 2 || text.compare(at - 2, 2, " 0") != 0)
      return text;
  if (text.find("spill stores") == std::string::npos && ptx.find(".entry") != std::string::npos)
    return "ptxas does not say what it spills:\n" + text;
  return std::nullopt;
#else
  return "there is no ptxas";
#endif
}

} // namespace spmdc
