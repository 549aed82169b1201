//===- CudaProgram.cpp - a plan resolved for one GPU ----------------------===//

#include "runtime/exec/cuda/CudaProgram.h"

#include "runtime/device/Allocation.h"
#include "runtime/exec/LibraryCalls.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace spmd {
struct CudaProgram::Launch final : PreparedStep {
  CudaProgram &program;
  int32_t kernel;
  size_t firstPointer, count;

  Launch(CudaProgram &program, const LaunchStep &step)
      : program(program), kernel(step.kernel), firstPointer(program.addPointers(step.operands)),
        count(step.operands.size()) {}
  void run() override { program.launch(kernel, firstPointer, count); }
};

struct CudaProgram::Product final : PreparedStep {
  CudaProgram &program;
  MatmulShape shape;
  /// By cuBLASLt: the product alone, and with its epilogue. Null: by our own kernels.
  std::shared_ptr<cuda::CublasLtProduct> product, withEpilogue;
  const MatmulStep &step;
  size_t firstPointer, count;
  const SourceLocation &location;

  Product(CudaProgram &program, const MatmulShape &shape, std::shared_ptr<cuda::CublasLtProduct> product,
          std::shared_ptr<cuda::CublasLtProduct> withEpilogue, const MatmulStep &step, const SourceLocation &location)
      : program(program), shape(shape), product(std::move(product)), withEpilogue(std::move(withEpilogue)), step(step),
        firstPointer(program.addPointers(step.epilogueOperands)), count(step.epilogueOperands.size()),
        location(location) {}

  void run() override {
    if (program.trace)
      product || withEpilogue ? program.trace->computeWithWork() : program.trace->compute();
    try {
      cuda::CublasLtProduct::Operands operands{program.addressOf(step.lhs), program.addressOf(step.rhs)};
      if (withEpilogue) {
        operands.array = addressOfOperand(step.libraryEpilogue.array);
        operands.bias = addressOfOperand(step.libraryEpilogue.bias);
        withEpilogue->run(program.target, operands, program.addressOf(step.epilogueOperands.back()),
                          program.getScratch());
        return;
      }
      if (product)
        product->run(program.target, operands, program.addressOf(step.result), program.getScratch());
      else
        program.device.getLibrary().multiply(shape, program.target, operands.lhs, operands.rhs,
                                             program.addressOf(step.result));
    } catch (const Error &error) {
      throw error.withContext(location.str() + ": " + program.device.str());
    }
    if (step.epilogueKernel >= 0)
      program.launch(step.epilogueKernel, firstPointer, count);
  }

private:
  cuda::DevicePointer addressOfOperand(int32_t index) const {
    return index < 0 ? 0 : program.addressOf(step.epilogueOperands[static_cast<size_t>(index)]);
  }
};

struct CudaProgram::Library final : PreparedStep {
  CudaProgram &program;
  LibraryCall call;
  std::vector<BufferId> inputs;
  BufferId result;
  std::vector<cuda::DevicePointer> addresses;

  Library(CudaProgram &program, const LibraryStep &step)
      : program(program), call(toLibraryCall(step, program.plan)), inputs(step.inputs), result(step.result),
        addresses(step.inputs.size()) {}
  void run() override {
    for (size_t i = 0; i < inputs.size(); ++i)
      addresses[i] = program.addressOf(inputs[i]);
    if (program.trace)
      program.trace->compute();
    try {
      program.device.getLibrary().run(call, program.target, addresses, program.addressOf(result), program.getScratch());
    } catch (const Error &error) {
      throw error.withContext(program.describeLocation());
    }
  }
};

struct CudaProgram::Copy final : PreparedStep {
  CudaProgram &program;
  BufferId source, target;

  Copy(CudaProgram &program, const CopyStep &step) : program(program), source(step.source), target(step.target) {}
  void run() override {
    if (program.addressOf(source) == program.addressOf(target) || program.bytesOf(source) == 0)
      return;
    if (program.trace)
      program.trace->computeWithWork();
    program.check(program.driver.MemcpyDtoDAsync(program.addressOf(target), program.addressOf(source),
                                                 program.bytesOf(source), program.target),
                  "cuMemcpyDtoDAsync");
  }
};

/// Makes one stream wait for another.
class StreamOrder {
public:
  /// The driver outlives it.
  explicit StreamOrder(const cuda::Driver &driver) : driver(driver) {
    driver.check(driver.EventCreate(&event, cuda::kEventWithoutTime), "cuEventCreate");
  }
  ~StreamOrder() { driver.EventDestroy(event); }
  StreamOrder(const StreamOrder &) = delete;
  StreamOrder &operator=(const StreamOrder &) = delete;

  /// `wait` waits for all work that is queued on the stream so far.
  cuda::Result record(cuda::Stream stream) { return driver.EventRecord(event, stream); }
  cuda::Result wait(cuda::Stream stream) { return driver.StreamWaitEvent(stream, event, 0); }

private:
  const cuda::Driver &driver;
  cuda::Event event = nullptr;
};

struct CudaProgram::Transfer final : DeviceCollective {
  CudaProgram &program;
  cuda::GpuCollective collective;
  BufferId operand, result;
  StreamOrder isReady, isDone;
  size_t startStep = 0; ///< Of the trace.

  Transfer(CudaProgram &program, const CollectiveDesc &desc, BufferId operand, BufferId result)
      : program(program),
        collective(*program.group, program.comm, program.device, program.plan.mesh, desc, program.position),
        operand(operand), result(result), isReady(program.driver), isDone(program.driver) {}

  void start() override {
    if (program.trace)
      startStep = program.trace->startTransfer();
    program.check(isReady.record(program.stream), "cuEventRecord");
    program.check(isReady.wait(program.transfers), "cuStreamWaitEvent");
    auto scratch = program.transferScratch ? reinterpret_cast<cuda::DevicePointer>(program.transferScratch->data()) : 0;
    try {
      collective.run(program.transfers, program.addressOf(operand), program.addressOf(result), scratch);
    } catch (const Error &error) {
      program.checkVerdict(); // It has the same text in all processes.
      throw error.withContext(program.describeLocation());
    }
    program.check(isDone.record(program.transfers), "cuEventRecord");
  }
  void done() override {
    if (program.trace)
      program.trace->awaitTransfer(startStep);
    program.check(isDone.wait(program.stream), "cuStreamWaitEvent");
  }
};

CudaProgram::CudaProgram(const ProgramContext &context, const CudaCode &code, CudaDevice &device, int64_t position)
    : DeviceProgram(context, device, position), code(code), device(device), driver(device.getGpu().getDriver()),
      stream(device.getStream()), target(stream) {
  device.getGpu().makeCurrent();
  // Before anything that may fail on this device alone, because the other devices wait here for it.
  if (context.gpuTransport && std::any_of(context.stepInfo->begin(), context.stepInfo->end(), [](const StepInfo &step) {
        return step.collective == StepInfo::Collective::Start;
      })) {
    group = context.gpuTransport->group(context.devices, context.prepareTimeout);
    comm = group->join(position, context.prepareTimeout);
  }
  graphs = std::make_unique<GraphCache>(driver, [this](cuda::Result result, const char *what) { check(result, what); });
  const std::string &bytes = context.artifact->constants;
  if (plan.arenaBytes > 0)
    arena = allocateFor(device, plan.arenaBytes, [&] { return "the intermediate values of '" + plan.name + "'"; });
  if (!bytes.empty()) {
    constants =
        allocateFor(device, static_cast<int64_t>(bytes.size()), [&] { return "the constants of '" + plan.name + "'"; });
    static_cast<Device &>(device).copyFromHost(*constants, bytes.data(), static_cast<int64_t>(bytes.size()));
  }
  auto coordinateBytes = static_cast<int64_t>(coordinates.size() * sizeof(int64_t));
  coordinatesOnDevice =
      allocateFor(device, coordinateBytes, [&] { return "the mesh coordinates of '" + plan.name + "'"; });
  static_cast<Device &>(device).copyFromHost(*coordinatesOnDevice, coordinates.data(), coordinateBytes);
  coordinatesAddress = coordinatesOnDevice->data();
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const BufferInfo &info = plan.buffers[i];
    if (info.space == BufferInfo::Space::Arena)
      buffers[i] = arena ? static_cast<char *>(arena->data()) + info.offset : nullptr;
    else if (info.space == BufferInfo::Space::Constant)
      buffers[i] = constants ? static_cast<char *>(constants->data()) + info.offset : nullptr;
  }
  constexpr int64_t kControlBytes = 64; // A predicate, or the root of a broadcast.
  control = device.allocateStaging(kControlBytes);
}

CudaProgram::~CudaProgram() {
  try {
    device.getGpu().makeCurrent();
  } catch (const Error &) {
    // The memory of a context with an error is lost already.
  }
  stopLoops();
  for (cuda::Stream each : {stream, transfers})
    if (each && driver.StreamSynchronize(each) != cuda::kSuccess)
      return; // The context is lost, and its events with it.
  for (cuda::Event event : events)
    driver.EventDestroy(event);
  if (transfers)
    driver.StreamDestroy(transfers);
}

void CudaProgram::queue(const std::vector<PreparedStep *> &steps, cuda::Stream where) {
  struct Restore {
    cuda::Stream &target;
    const cuda::Stream before;
    ~Restore() { target = before; }
  } restore{target, target};
  target = where;
  for (PreparedStep *step : steps) {
    atStep(*step);
    step->run();
  }
}

void CudaProgram::runMerged(const std::vector<PreparedStep *> &steps) {
  graphs->run(steps, runAddresses, stream, [&](cuda::Stream where) { queue(steps, where); });
}

std::unique_ptr<PreparedStep> CudaProgram::prepareStep(const LaunchStep &step) {
  return std::make_unique<Launch>(*this, step);
}

std::unique_ptr<PreparedStep> CudaProgram::prepareStep(const MatmulStep &step, const SourceLocation &location) {
  MatmulShape shape = toMatmulShape(step, plan);
  if (shape.hasViews())
    throw Error("the plan has a product of views, which only CPUs multiply");
  std::shared_ptr<cuda::CublasLtProduct> product = prepareProduct(shape, {}), withEpilogue;
  if (!product)
    device.getLibrary().prepare(shape);
  if (step.libraryEpilogue.function != LibraryEpilogue::Function::None) {
    MatmulShape full = shape;
    full.result = plan.buffers[static_cast<size_t>(step.epilogueOperands.back())].dtype;
    withEpilogue = prepareProduct(full, step.libraryEpilogue);
  }
  return std::make_unique<Product>(*this, shape, std::move(product), std::move(withEpilogue), step, location);
}

std::shared_ptr<cuda::CublasLtProduct> CudaProgram::prepareProduct(const MatmulShape &shape,
                                                                   const LibraryEpilogue &epilogue) {
  auto [known, isNew] = products.try_emplace({shape, epilogue});
  if (isNew)
    known->second = cuda::CublasLtProduct::create(device.getLibrary().getBlas(), shape, epilogue);
  if (known->second)
    scratchBytes = std::max(scratchBytes, known->second->getScratchBytes());
  return known->second;
}

std::unique_ptr<PreparedStep> CudaProgram::prepareStep(const LibraryStep &step) {
  auto library = std::make_unique<Library>(*this, step);
  device.getLibrary().prepare(library->call);
  scratchBytes = std::max(scratchBytes, device.getLibrary().getScratchBytes(library->call));
  return library;
}

std::unique_ptr<PreparedStep> CudaProgram::prepareStep(const CopyStep &step) {
  return std::make_unique<Copy>(*this, step);
}

std::unique_ptr<DeviceCollective> CudaProgram::prepareCollective(const CollectiveDesc &desc, BufferId operand,
                                                                 BufferId result) {
  if (!group)
    return nullptr;
  if (!transfers)
    driver.check(driver.StreamCreate(&transfers, cuda::kStreamNonBlocking), "cuStreamCreate");
  auto transfer = std::make_unique<Transfer>(*this, desc, operand, result);
  transferScratchBytes = std::max(transferScratchBytes, transfer->collective.getScratchBytes());
  return transfer;
}

void CudaProgram::abandon(const std::string &cause) noexcept {
  stopLoops();
  if (!group)
    return;
  group->abort(cause);
  group->abortRank(position);
  // A transfer may still write to memory that a later program gets.
  constexpr std::chrono::seconds kLongest(1);
  auto began = std::chrono::steady_clock::now();
  while (transfers && driver.StreamQuery(transfers) == cuda::kNotReady &&
         std::chrono::steady_clock::now() - began < kLongest)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void CudaProgram::finishPreparation() {
  if (transferScratchBytes > 0)
    transferScratch =
        allocateFor(device, transferScratchBytes, [&] { return "the collectives of '" + plan.name + "'"; });
  // The steps of the compute stream run one after the other, so all have the same memory.
  for (const KernelInfo &kernel : plan.kernels)
    scratchBytes = std::max(scratchBytes, kernel.stateBytes);
  if (scratchBytes > 0)
    scratch = allocateFor(device, scratchBytes, [&] { return "the scratch memory of '" + plan.name + "'"; });
}

void CudaProgram::launch(int32_t number, size_t firstPointer, size_t count) {
  const KernelInfo &kernel = plan.kernels[static_cast<size_t>(number)];
  if (kernel.gridBlocks == 0)
    return;
  if (trace)
    trace->computeWithWork();
  parameters.clear();
  for (size_t i = 0; i < count; ++i)
    parameters.push_back(&pointers[firstPointer + i]);
  cuda::DevicePointer state = getScratch();
  if (kernel.stateBytes > 0) {
    check(driver.MemsetD8Async(state, 0, static_cast<size_t>(kernel.stateBytes), target), "cuMemsetD8Async");
    parameters.push_back(&state);
  }
  parameters.push_back(&coordinatesAddress);
  cuda::Result result =
      driver.LaunchKernel(code.kernels[static_cast<size_t>(number)], static_cast<unsigned>(kernel.gridBlocks), 1, 1,
                          static_cast<unsigned>(kernel.blockThreads), 1, 1, static_cast<unsigned>(kernel.sharedBytes),
                          target, parameters.data(), nullptr);
  if (result != cuda::kSuccess)
    throw Error(describeLocation() + ": the kernel '" + kernel.symbol + "' does not start: " + driver.describe(result));
}

std::string CudaProgram::describeLocation() const { return getStepLocation().str() + ": " + device.str(); }

void CudaProgram::check(cuda::Result result, const char *what) const {
  if (result != cuda::kSuccess)
    throw Error(describeLocation() + ": " + what + ": " + driver.describe(result));
}

void CudaProgram::beginRun() {
  device.getGpu().makeCurrent();
  if (group)
    group->check(comm);
  if (stop && stop->isSet()) {
    check(driver.StreamSynchronize(stream), "cuStreamSynchronize"); // A loop of the run before may not have ended yet.
    stop->set(false);
  }
  eventCount = 0;
  runAddresses.clear();
  for (size_t id = 0; id < buffers.size(); ++id)
    if (plan.buffers[id].space == BufferInfo::Space::Argument || plan.buffers[id].space == BufferInfo::Space::Result)
      runAddresses.push_back(buffers[id]);
}

void CudaProgram::endRun() { wait(); }

void CudaProgram::checkTransfers() {
  if (!group)
    return;
  try {
    group->check(comm);
  } catch (const Error &error) {
    checkVerdict();
    throw error.withContext(describeLocation());
  }
}

void CudaProgram::wait() {
  // A query costs about a microsecond; longer waits sleep between queries.
  constexpr auto spin = std::chrono::microseconds(200);
  constexpr auto nap = std::chrono::microseconds(20);
  auto began = std::chrono::steady_clock::now();
  for (;;) {
    cuda::Result result = driver.StreamQuery(stream);
    if (result == cuda::kSuccess)
      return checkTransfers(); // One that fails may leave its stream.
    if (result != cuda::kNotReady)
      throw Error(describeLocation() + " (" + device.getGpu().getName() +
                  "): a step up to here failed: " + driver.describe(result));
    try {
      checkVerdict();
      checkTransfers();
    } catch (...) {
      stopLoops();
      throw;
    }
    if (std::chrono::steady_clock::now() - began > spin)
      std::this_thread::sleep_for(nap);
  }
}

const void *CudaProgram::read(BufferId id) {
  check(driver.MemcpyDtoHAsync(control->data(), addressOf(id), bytesOf(id), stream), "cuMemcpyDtoHAsync");
  wait();
  return control->data();
}

const std::vector<void *> &CudaProgram::view(const std::vector<BufferId> &ids) {
  mirrors.resize(buffers.size());
  mirrorAddresses.resize(buffers.size(), nullptr);
  for (BufferId id : ids) {
    auto index = static_cast<size_t>(id);
    mirrors[index].resize(bytesOf(id));
    mirrorAddresses[index] = mirrors[index].data();
    if (!mirrors[index].empty())
      check(driver.MemcpyDtoHAsync(mirrors[index].data(), addressOf(id), bytesOf(id), stream), "cuMemcpyDtoHAsync");
  }
  wait();
  return mirrorAddresses;
}

void CudaProgram::writeCounter(BufferId id, int32_t value) {
  check(driver.MemsetD32Async(addressOf(id), static_cast<unsigned>(value), 1, stream), "cuMemsetD32Async");
}

void *CudaProgram::stageOperand(BufferId id, DeviceBufferRef &staging) {
  if (!staging)
    staging = allocateHost(static_cast<int64_t>(bytesOf(id)));
  if (bytesOf(id) > 0)
    check(driver.MemcpyDtoHAsync(staging->data(), addressOf(id), bytesOf(id), stream), "cuMemcpyDtoHAsync");
  wait();
  return staging->data();
}

void *CudaProgram::stageResult(BufferId id, DeviceBufferRef &staging) {
  if (!staging)
    staging = allocateHost(static_cast<int64_t>(bytesOf(id)));
  return staging->data();
}

void CudaProgram::finishResult(BufferId id, const DeviceBufferRef &staging) {
  if (bytesOf(id) > 0)
    check(driver.MemcpyHtoDAsync(addressOf(id), staging->data(), bytesOf(id), stream), "cuMemcpyHtoDAsync");
}

} // namespace spmd
