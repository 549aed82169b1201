//===- ControlSteps.cpp - loops and branches of a GPU's program -----------===//

#include "runtime/device/Allocation.h"
#include "runtime/exec/cuda/CudaProgram.h"

#include <algorithm>
#include <iostream>
#include <mutex>

namespace spmd {

namespace {

/// Says once that loops are slower than they could be.
void warnOfHostLoops(const std::string &why) {
  static std::once_flag isSaid;
  std::call_once(isSaid, [&] {
    std::cerr << "spmd: warning: the host decides about each iteration of a loop, because CUDA makes no graph of it: " +
                     why + "\n";
  });
}

cuda::DevicePointer toPointer(const DeviceBuffer &buffer) {
  return reinterpret_cast<cuda::DevicePointer>(buffer.data());
}

/// A `for` of so few launches that all of them can be queued, in a graph or not. A graph of a thousand kernels is made
/// in milliseconds, and takes less time than a graph for each iteration.
constexpr int64_t kMostLaunches = 1024;

int64_t countLaunches(const std::vector<PreparedStep *> &steps) {
  int64_t sum = 0;
  for (const PreparedStep *step : steps)
    sum = std::min(sum + step->countLaunches(), kMostLaunches + 1);
  return sum;
}

} // namespace

struct CudaProgram::Repetition final : PreparedStep {
  CudaProgram &program;
  const ForStep &loop;
  const std::vector<PreparedStep *> body;

  Repetition(CudaProgram &program, const ForStep &loop, std::vector<PreparedStep *> body)
      : program(program), loop(loop), body(std::move(body)) {}

  /// Returns the launches of all iterations, or a number above kMostLaunches.
  static int64_t count(const ForStep &loop, const std::vector<PreparedStep *> &body) {
    int64_t iterations = std::clamp<int64_t>(loop.upper - loop.lower, 0, kMostLaunches + 1);
    return iterations * (spmd::countLaunches(body) + (loop.counter >= 0));
  }

  int64_t countLaunches() const override { return count(loop, body); }
  void run() override {
    for (int64_t i = loop.lower; i < loop.upper; ++i) {
      if (loop.counter >= 0)
        program.check(
            program.driver.MemsetD32Async(program.addressOf(loop.counter), static_cast<unsigned>(i), 1, program.target),
            "cuMemsetD32Async");
      program.queue(body, program.target);
    }
  }
};

/// A loop or a branch that the GPU executes itself, as a part of a graph.
struct CudaProgram::Control final : PreparedStep {
  CudaProgram &program;
  const Step &step;
  const std::vector<PreparedStep *> first, second;
  DeviceBufferRef iteration; ///< The number of a `for`'s current one.

  Control(CudaProgram &program, const Step &step, std::vector<PreparedStep *> first, std::vector<PreparedStep *> second)
      : program(program), step(step), first(std::move(first)), second(std::move(second)) {
    if (std::get_if<ForStep>(&step.op))
      iteration = allocateFor(program.device, sizeof(int32_t), [] { return "the counter of a loop"; });
  }

  bool isLoop() const { return !std::get_if<IfStep>(&step.op); }
  bool isStraight() const override { return false; }

  /// Called while a graph is captured.
  void run() override {
    auto queue = [this](const std::vector<PreparedStep *> &steps) {
      return [this, &steps](cuda::Stream where) { program.queue(steps, where); };
    };
    auto queueIfAny = [&](const std::vector<PreparedStep *> &steps) {
      return steps.empty() ? cuda::GraphControl::Queue() : queue(steps);
    };
    try {
      if (auto *branch = std::get_if<IfStep>(&step.op)) {
        program.graphControl->addIf(program.target, program.addressOf(branch->predicate), queueIfAny(first),
                                    queueIfAny(second));
      } else if (auto *loop = std::get_if<WhileStep>(&step.op)) {
        program.graphControl->addWhile(program.target, program.addressOf(loop->predicate), queue(first), queue(second));
      } else {
        auto &counted = std::get<ForStep>(step.op);
        program.graphControl->addFor(program.target, toPointer(*iteration),
                                     counted.counter < 0 ? 0 : program.addressOf(counted.counter), counted.lower,
                                     counted.upper, queue(first));
      }
    } catch (const Error &error) {
      if (program.graphControl->isBroken())
        program.graphs->abandon();
      throw error.withContext(step.location.str() + ": " + program.device.str());
    }
  }
};

std::unique_ptr<PreparedStep> CudaProgram::prepareControl(const Step &step, std::vector<PreparedStep *> first,
                                                          std::vector<PreparedStep *> second) {
  auto isStraight = [](const PreparedStep *step) { return step->isStraight(); };
  if (auto *loop = std::get_if<ForStep>(&step.op);
      loop && std::all_of(first.begin(), first.end(), isStraight) && Repetition::count(*loop, first) <= kMostLaunches)
    return std::make_unique<Repetition>(*this, *loop, std::move(first));
  if (!hasLookedForControl)
    makeGraphControl();
  if (!graphControl)
    return nullptr;
  return std::make_unique<Control>(*this, step, std::move(first), std::move(second));
}

void CudaProgram::makeGraphControl() {
  hasLookedForControl = true;
  if (!driver.hasConditionalNodes())
    return;
  looked = allocateFor(device, sizeof(uint64_t), [] { return "the time of a loop"; });
  check(driver.MemsetD8Async(toPointer(*looked), 0, sizeof(uint64_t), stream), "cuMemsetD8Async");
  stop = std::make_unique<cuda::LoopStop>(device.getGpu());
  try {
    graphControl = std::make_unique<cuda::GraphControl>(device.getGpu(), device.getLibrary().getKernels(), *stop,
                                                        toPointer(*looked));
  } catch (const Error &error) {
    warnOfHostLoops(error.what());
  }
}

bool CudaProgram::runControl(PreparedStep &step) {
  if (!graphControl)
    return false;
  // The iterations of a loop are worth a graph at once, a branch when its addresses come back.
  bool isLoop = static_cast<Control &>(step).isLoop();
  try {
    return graphs->runAsGraph({&step}, runAddresses, stream, isLoop,
                              [&](cuda::Stream where) { queue({&step}, where); });
  } catch (const Error &error) { // Nothing of the graph runs. If the GPU has failed, the host's next call says so.
    warnOfHostLoops(error.what());
    graphControl.reset();
    return false;
  }
}

void CudaProgram::stopLoops() noexcept {
  if (stop)
    stop->set(true);
}

} // namespace spmd
