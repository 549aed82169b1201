//===- CpuProgram.cpp - a plan resolved for one CPU device ----------------===//

#include "runtime/exec/cpu/CpuProgram.h"

#include "runtime/artifact/CopyGrain.h"
#include "runtime/device/Allocation.h"
#include "runtime/device/cpu/Fourier.h"
#include "runtime/device/cpu/Library.h"
#include "runtime/exec/LibraryCalls.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <sys/mman.h>

namespace spmd {

/// Allocates the pages of new memory now and on this thread: near this core, and before the first run.
static void touch(const DeviceBufferRef &buffer) {
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
  constexpr uintptr_t page = 4096;
  auto begin = reinterpret_cast<uintptr_t>(buffer->data()) & ~(page - 1);
  auto end = (reinterpret_cast<uintptr_t>(buffer->data()) + buffer->bytes() + page - 1) & ~(page - 1);
  // Kernels before 5.14 do not support it; then the first run allocates the pages.
  madvise(reinterpret_cast<void *>(begin), end - begin, MADV_POPULATE_WRITE);
}

struct CpuProgram::Launch final : PreparedStep {
  CpuProgram &program;
  KernelFunction kernel;
  size_t firstPointer;
  int64_t extent, grain;
  LaunchTasks group; ///< Of the launches from this one on that run side by side with it; empty if there are none.

  Launch(CpuProgram &program, const LaunchStep &step)
      : program(program), kernel(program.code.module->getKernel(step.kernel)),
        firstPointer(program.addPointers(step.operands)), extent(step.extent), grain(step.grain) {}
  void run() override {
    program.device.getParallelFor().runKernel(kernel, extent, grain, program.pointers.data() + firstPointer,
                                              program.coordinates.data());
  }
};

struct CpuProgram::Product final : PreparedStep {
  CpuProgram &program;
  Matmul *matmul;
  BufferId lhs, rhs, result;
  KernelFunction epilogue;
  size_t firstPointer;
  const SourceLocation &location;

  Product(CpuProgram &program, Matmul &matmul, const MatmulStep &step, const SourceLocation &location)
      : program(program), matmul(&matmul), lhs(step.lhs), rhs(step.rhs), result(step.result),
        epilogue(step.epilogueKernel < 0 ? nullptr : program.code.module->getKernel(step.epilogueKernel)),
        firstPointer(program.addPointers(step.epilogueOperands)), location(location) {}
  void run() override {
    RowsDone rowsDone;
    void *const *operands = program.pointers.data() + firstPointer;
    auto finishRows = [&](int64_t begin, int64_t end) { epilogue(begin, end, operands, program.coordinates.data()); };
    if (epilogue)
      rowsDone = {[](const void *body, int64_t begin, int64_t end) {
                    (*static_cast<const decltype(finishRows) *>(body))(begin, end);
                  },
                  &finishRows};
    try {
      matmul->run(program.device.getParallelFor(), program.buffers[lhs], program.buffers[rhs], program.buffers[result],
                  program.scratch ? program.scratch->data() : nullptr, rowsDone);
    } catch (const Error &error) {
      throw error.withContext(location.str() + ": " + program.device.str());
    }
  }
};

struct CpuProgram::Library final : PreparedStep {
  CpuProgram &program;
  LibraryCall call;
  std::vector<BufferId> inputs;
  BufferId result;
  std::vector<const void *> addresses;

  Library(CpuProgram &program, const LibraryStep &step)
      : program(program), call(toLibraryCall(step, program.plan)), inputs(step.inputs), result(step.result),
        addresses(step.inputs.size()) {}
  void run() override {
    for (size_t i = 0; i < inputs.size(); ++i)
      addresses[i] = program.buffers[inputs[i]];
    runLibrary(call, program.device.getParallelFor(), addresses.data(), program.buffers[result]);
  }
};

struct CpuProgram::FourierTransform final : PreparedStep {
  CpuProgram &program;
  std::unique_ptr<Fourier> transform;
  BufferId input, result;

  FourierTransform(CpuProgram &program, const LibraryStep &step)
      : program(program), transform(Fourier::create(toLibraryCall(step, program.plan))), input(step.inputs[0]),
        result(step.result) {}
  void run() override {
    transform->run(program.device.getParallelFor(), program.buffers[input], program.buffers[result]);
  }
};

struct CpuProgram::Copy final : PreparedStep {
  CpuProgram &program;
  BufferId source, target;
  int64_t bytes;

  Copy(CpuProgram &program, const CopyStep &step)
      : program(program), source(step.source), target(step.target), bytes(program.plan.buffers[step.source].bytes()) {}
  void run() override {
    auto *from = static_cast<const char *>(program.buffers[source]);
    auto *to = static_cast<char *>(program.buffers[target]);
    if (from != to)
      program.device.getParallelFor().run(bytes, copyGrainBytes, [&](int64_t begin, int64_t end, int) {
        std::memcpy(to + begin, from + begin, end - begin);
      });
  }
};

/// A loop with all of its iterations.
struct CpuProgram::Loop final : PreparedStep {
  CpuProgram &program;
  LoopFunction function;
  size_t firstPointer;
  std::vector<const Step *> steps; ///< The loop and those in it, in the order of their numbers.
  size_t reported = 0;             ///< Index of the step that was reported last.

  Loop(CpuProgram &program, const CompiledLoop &loop)
      : program(program), function(program.code.module->getLoop(loop.function)),
        firstPointer(program.addPointers(listLoopOperands(program.plan, *loop.step))), steps(listSteps(*loop.step)) {}
  bool isStraight() const override { return false; }
  void run() override {
    auto poll = [](void *loop) { return static_cast<Loop *>(loop)->isOver(); };
    function(program.pointers.data() + firstPointer, program.coordinates.data(), poll, this);
  }
  /// Reports the steps by turns: all have run many times since the last report. A position that changes tells the
  /// coordinator that the device is not stuck.
  bool isOver() {
    reported = reported + 1 < steps.size() ? reported + 1 : 0;
    program.atStep(number + static_cast<int32_t>(reported), steps[reported]->location);
    return program.context.health && program.context.health->isOver();
  }
};

CpuProgram::CpuProgram(const ProgramContext &context, const CpuCode &code, CpuDevice &device, int64_t position)
    : DeviceProgram(context, device, position), code(code), device(device) {
  if (plan.arenaBytes > 0) {
    arena = allocateFor(device, plan.arenaBytes, [&] { return "the intermediate values of '" + plan.name + "'"; });
    touch(arena);
  }
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const BufferInfo &info = plan.buffers[i];
    if (info.space == BufferInfo::Space::Arena)
      buffers[i] = arena ? static_cast<char *>(arena->data()) + info.offset : nullptr;
    else if (info.space == BufferInfo::Space::Constant)
      buffers[i] = const_cast<char *>(code.constants) + info.offset;
  }
}

std::unique_ptr<PreparedStep> CpuProgram::prepareStep(const LaunchStep &step) {
  return std::make_unique<Launch>(*this, step);
}

std::unique_ptr<PreparedStep> CpuProgram::prepareStep(const MatmulStep &step, const SourceLocation &location) {
  MatmulShape shape = toMatmulShape(step, plan);
  std::shared_ptr<Matmul> &matmul = matmuls[shape];
  if (!matmul)
    matmul = Matmul::create(shape, code.dnnl, device.getThreadCount());
  scratchBytes = std::max(scratchBytes, matmul->getScratchBytes());
  return std::make_unique<Product>(*this, *matmul, step, location);
}

std::unique_ptr<PreparedStep> CpuProgram::prepareStep(const LibraryStep &step) {
  if (isFourier(step.function))
    return std::make_unique<FourierTransform>(*this, step);
  return std::make_unique<Library>(*this, step);
}

std::unique_ptr<PreparedStep> CpuProgram::prepareStep(const CopyStep &step) {
  return std::make_unique<Copy>(*this, step);
}

std::unique_ptr<PreparedStep> CpuProgram::prepareLoop(const CompiledLoop &loop) {
  return std::make_unique<Loop>(*this, loop);
}

size_t CpuProgram::countMerged(std::span<const Step *const> steps) {
  if (device.getThreadCount() == 1)
    return 1;
  LaunchGroup group(plan);
  size_t count = 0;
  for (const Step *step : steps) {
    auto *launch = std::get_if<LaunchStep>(&step->op);
    if (!launch || !group.add(*launch))
      break;
    ++count;
  }
  return std::max<size_t>(count, 1);
}

void CpuProgram::prepareMerged(const std::vector<PreparedStep *> &steps) {
  std::vector<LaunchExtent> launches;
  for (PreparedStep *step : steps) {
    auto *launch = static_cast<Launch *>(step);
    launches.push_back({launch->extent, launch->grain});
  }
  static_cast<Launch *>(steps[0])->group = LaunchTasks::of(launches, device.getThreadCount());
}

void CpuProgram::runMerged(const std::vector<PreparedStep *> &steps) {
  const LaunchTasks &group = static_cast<Launch *>(steps[0])->group;
  auto runTasks = [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const LaunchTask &task = group.tasks[static_cast<size_t>(i)];
      auto *launch = static_cast<Launch *>(steps[task.launch]);
      launch->kernel(task.begin, task.end, pointers.data() + launch->firstPointer, coordinates.data());
    }
  };
  device.getParallelFor().run(static_cast<int64_t>(group.tasks.size()), group.grain, runTasks);
}

void CpuProgram::finishPreparation() {
  if (scratchBytes > 0) {
    scratch = allocateFor(device, scratchBytes, [&] { return "the matrix products of '" + plan.name + "'"; });
    touch(scratch);
  }
}

void CpuProgram::beginRun() {
  // Long loops end early when the job is over; checkVerdict then throws.
  StopCheck stop;
  if (context.health)
    stop = {[](const void *health) { return static_cast<const Health *>(health)->isOver(); }, context.health};
  device.getParallelFor().setStopCheck(stop);
}

int64_t CpuProgram::recordTime() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

} // namespace spmd
