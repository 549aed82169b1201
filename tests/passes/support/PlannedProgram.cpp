//===- PlannedProgram.cpp - a program planned for one backend -------------===//

#include "tests/passes/support/PlannedProgram.h"

#include "ir/spmd/SpmdTypes.h"
#include "passes/plan/ExportPlan.h"
#include "tests/passes/support/Tensors.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

using namespace mlir;

namespace spmdc {
namespace {

/// Memory of exactly the requested size. Generated code is not instrumented by a sanitizer, so what it writes beyond is
/// found otherwise: up to the next line of 64 bytes by a pattern that must not change, and from there on by a page that
/// cannot be accessed. The memory is filled with that pattern, which no result should contain.
class Memory {
public:
  explicit Memory(int64_t bytes) : size(bytes) {
    const auto page = static_cast<int64_t>(sysconf(_SC_PAGESIZE));
    lines = (bytes + kLine - 1) / kLine * kLine;
    mapped = (lines + page - 1) / page * page + page;
    void *memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      ADD_FAILURE() << "no memory for " << mapped << " bytes";
      std::abort();
    }
    begin = static_cast<char *>(memory);
    mprotect(begin + mapped - page, page, PROT_NONE);
    data = begin + mapped - page - lines;
    std::memset(data, kPattern, lines);
  }
  explicit Memory(const std::string &bytes) : Memory(static_cast<int64_t>(bytes.size())) {
    std::memcpy(data, bytes.data(), bytes.size());
  }
  Memory(Memory &&other) noexcept
      : begin(std::exchange(other.begin, nullptr)), data(other.data), size(other.size), lines(other.lines),
        mapped(other.mapped) {}
  Memory &operator=(Memory &&) = delete;
  ~Memory() {
    if (!begin)
      return;
    for (int64_t i = size; i < lines; ++i)
      if (data[i] != static_cast<char>(kPattern)) {
        ADD_FAILURE() << "byte " << i << " was written of an array of " << size << " bytes";
        break;
      }
    munmap(begin, mapped);
  }
  char *get() const { return data; }

private:
  /// The alignment of arrays in a plan (AssignBuffers.cpp).
  static constexpr int64_t kLine = 64;
  static constexpr int kPattern = 0xa5;

  char *begin = nullptr, *data = nullptr;
  int64_t size = 0, lines = 0, mapped = 0;
};

} // namespace

PlannedProgram::PlannedProgram(ModuleOp module, const PipelineOptions &options) : planned(module.clone()) {
  if (failed(runPipeline(*planned, std::max(getStage(*planned), Stage::Partitioned), Stage::Plan, options))) {
    ADD_FAILURE() << "the pipeline fails";
    return;
  }
  FailureOr<spmd::Artifact> exported = exportPlan(*planned);
  if (failed(exported)) {
    ADD_FAILURE() << "no plan";
    return;
  }
  artifact = std::move(*exported);
  succeeded = true;
}

std::vector<Tensor> PlannedProgram::run(ArrayRef<Tensor> arguments, unsigned way,
                                        const std::vector<int64_t> &coordinates) {
  const spmd::Plan &plan = artifact.plan;
  Memory arena(plan.arenaBytes), constants(artifact.constants);
  std::vector<Memory> inputs, results;
  for (const Tensor &argument : arguments)
    inputs.emplace_back(toBytes(argument));
  for (const spmd::ValueInfo &result : plan.results)
    results.emplace_back(result.localBytes());
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
    } else if (const auto *start = std::get_if<spmd::LaunchStep>(&step.op)) {
      std::vector<void *> operands;
      for (spmd::BufferId id : start->operands)
        operands.push_back(address(id));
      std::string problem = launch(plan.kernels[start->kernel], start->extent, operands, coordinates, way);
      if (!problem.empty()) {
        ADD_FAILURE() << problem;
        return {};
      }
    } else {
      ADD_FAILURE() << "a step that this interpreter does not know";
      return {};
    }
  }
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < plan.results.size(); ++i)
    tensors.push_back(fromBytes(results[i].get(), plan.results[i].localShape,
                                getElementType(planned->getContext(), plan.results[i].dtype)));
  return tensors;
}

std::vector<Tensor> PlannedProgram::runKernel(plan::KernelOp kernel, ArrayRef<Tensor> inputs, unsigned way,
                                              const std::vector<int64_t> &coordinates,
                                              std::optional<Overwrite> overwrite) {
  std::vector<Memory> memories;
  std::vector<void *> operands;
  for (const Tensor &input : inputs)
    operands.push_back(memories.emplace_back(toBytes(input)).get());
  Operation *end = kernel.getBlock().getTerminator();
  for (unsigned output = 0; output < end->getNumOperands(); ++output) {
    int64_t bytes = cast<ArrayType>(end->getOperand(output).getType()).getBytes();
    bool isInPlace = overwrite && overwrite->output == output;
    operands.push_back(isInPlace ? operands[overwrite->input] : memories.emplace_back(bytes).get());
  }
  const auto *info = llvm::find_if(artifact.plan.kernels, [&](const spmd::KernelInfo &known) {
                       return llvm::StringRef(known.symbol) == kernel.getSymName();
                     }).base();
  std::string problem = launch(*info, static_cast<int64_t>(*kernel.getExtent()), operands, coordinates, way);
  if (!problem.empty()) {
    ADD_FAILURE() << problem;
    return {};
  }
  std::vector<Tensor> outputs;
  for (auto [value, memory] : llvm::zip(end->getOperands(), ArrayRef(operands).drop_front(inputs.size()))) {
    auto type = cast<ArrayType>(value.getType());
    outputs.push_back(fromBytes(static_cast<const char *>(memory), type.getShape(), type.getElementType()));
  }
  return outputs;
}

} // namespace spmdc
