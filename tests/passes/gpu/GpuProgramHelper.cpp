//===- GpuProgramHelper.cpp - compiles and emulates GPU code --------------===//

#include "tests/passes/gpu/GpuProgramHelper.h"

#include "tests/passes/gpu/RunningProductsHelper.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

using namespace mlir;

namespace spmdc {

static PipelineOptions optionsFor(const std::string &chip) {
  PipelineOptions options;
  options.backend = KernelTarget::Gpu;
  options.gpu = GpuTarget{chip, ""}.getLimits();
  return options;
}

GpuProgram::GpuProgram(ModuleOp module, const std::string &chip) : PlannedProgram(module, optionsFor(chip)) {
  if (!isPlanned())
    return;
  FailureOr<GpuTarget> target = GpuTarget::named(chip, module.getLoc());
  if (failed(target)) {
    ADD_FAILURE() << "no target";
    return;
  }
  FailureOr<std::string> code = emitPtx(getModule(), *target);
  if (failed(code)) {
    ADD_FAILURE() << "no code";
    return;
  }
  artifact.code = std::move(*code);
  std::string error;
  emulator = std::make_unique<GpuEmulator>(artifact.code, error);
  if (!error.empty()) {
    ADD_FAILURE() << error;
    emulator.reset();
  }
}

std::string GpuProgram::launch(const spmd::KernelInfo &kernel, int64_t extent, const std::vector<void *> &operands,
                               const std::vector<int64_t> &coordinates, unsigned way) {
  if (extent != kernel.gridBlocks)
    return "a launch of " + std::to_string(extent) + " blocks, but a grid of " + std::to_string(kernel.gridBlocks);
  GpuLaunch launch{.gridBlocks = kernel.gridBlocks, .blockThreads = kernel.blockThreads, .arguments = operands};
  std::vector<char> stateMemory(static_cast<size_t>(kernel.stateBytes));
  if (!stateMemory.empty())
    launch.arguments.push_back(stateMemory.data());
  launch.arguments.push_back(const_cast<int64_t *>(coordinates.data()));
  launch.order = way == Forward    ? ThreadOrder::forward()
                 : way == Backward ? ThreadOrder::backward()
                                   : ThreadOrder::shuffled(1);
  launch.findsRaces = findsRaces && way == Forward;
  // Blocks that wait for others get to do so.
  if (kernel.stateBytes && way != Backward)
    launch.residentBlocks = way == Forward ? 3 : 7;
  launch.sharedBytes = kernel.sharedBytes;
  // Nothing but its operands, its state and the coordinates is the kernel's.
  auto op = getModule().lookupSymbol<plan::KernelOp>(kernel.symbol);
  SmallVector<Type> types(op.getBlock().getArgumentTypes());
  llvm::append_range(types, op.getBlock().getTerminator()->getOperandTypes());
  if (types.size() != operands.size())
    return kernel.symbol + ": " + std::to_string(operands.size()) + " operands";
  for (auto [type, operand] : llvm::zip(types, operands))
    launch.buffers.push_back({operand, static_cast<uint64_t>(cast<ArrayType>(type).getBytes())});
  if (!stateMemory.empty())
    launch.buffers.push_back({stateMemory.data(), stateMemory.size()});
  launch.buffers.push_back({coordinates.data(), coordinates.size() * sizeof(int64_t)});
  return emulator->launch(kernel.symbol, launch);
}

bool GpuProgram::hasPtxas() {
#ifdef SPMDC_PTXAS
  return true;
#else
  return false;
#endif
}

/// The exit status and output of a command.
[[maybe_unused]] static std::pair<int, std::string> runCommand(const std::string &command) {
  std::string text;
  FILE *pipe = popen((command + " 2>&1").c_str(), "r");
  std::array<char, 4096> buffer;
  while (size_t count = pipe ? fread(buffer.data(), 1, buffer.size(), pipe) : 0)
    text.append(buffer.data(), count);
  return {pipe ? pclose(pipe) : -1, text};
}

std::pair<int, std::string> GpuProgram::assemble([[maybe_unused]] const std::string &ptx,
                                                 [[maybe_unused]] const std::string &binary) {
#ifdef SPMDC_PTXAS
  // Code for sm_90a alone names it as its target.
  std::string chip = ptx.find(".target sm_90a") == std::string::npos ? "sm_90" : "sm_90a";
  std::string path = testing::TempDir() + "/spmdc-ptx-XXXXXX";
  int file = mkstemp(path.data());
  if (file < 0 || write(file, ptx.data(), ptx.size()) != static_cast<ssize_t>(ptx.size()))
    return {-1, "cannot write " + path};
  close(file);
  auto result =
      runCommand(std::string(SPMDC_PTXAS) + " -arch=" + chip + " --warn-on-spills -v -o " + binary + " " + path);
  unlink(path.c_str());
  return result;
#else
  return {0, ""};
#endif
}

std::optional<std::string> GpuProgram::disassemble([[maybe_unused]] const std::string &ptx) {
#if defined(SPMDC_PTXAS) && defined(SPMDC_NVDISASM)
  std::string path = testing::TempDir() + "/spmdc-cubin-XXXXXX";
  int file = mkstemp(path.data());
  if (file >= 0)
    close(file);
  EXPECT_EQ(assemble(ptx, path).first, 0);
  auto [status, text] = runCommand(std::string(SPMDC_NVDISASM) + " -c " + path);
  unlink(path.c_str());
  EXPECT_EQ(status, 0) << text;
  return text;
#else
  return std::nullopt;
#endif
}

std::string GpuProgram::findFault(const std::string &ptx) {
  if (std::string touching = findTouchedRegisters(ptx); !touching.empty())
    return "uses registers of a running product: " + touching;
  if (!hasPtxas())
    return "";
  auto [status, text] = assemble(ptx);
  // ptxas reports products of warpgroups that it does not let run beside other instructions.
  if (status != 0 || text.find("serialized") != std::string::npos)
    return text;
  for (size_t at = text.find(" bytes spill"); at != std::string::npos; at = text.find(" bytes spill", at + 1))
    if (at < 2 || text.compare(at - 2, 2, " 0") != 0)
      return text;
  if (text.find("spill stores") == std::string::npos && ptx.find(".entry") != std::string::npos)
    return "ptxas does not say what it spills:\n" + text;
  return "";
}

} // namespace spmdc
