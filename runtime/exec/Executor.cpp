//===- Executor.cpp - runs a plan on this process's devices ---------------===//

#include "runtime/exec/Executor.h"
#include "runtime/artifact/ArtifactFile.h"
#include "runtime/artifact/PlanFields.h"
#include "runtime/exec/ExecutionBackend.h"
#include "runtime/exec/ProfileLog.h"
#include "runtime/support/CountText.h"
#include "runtime/support/Futex.h"
#include "runtime/support/NanError.h"
#include "runtime/support/OutOfMemory.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

namespace spmd {
namespace {

/// Resources that the plan's steps, including nested ones, need.
struct Needs {
  bool collectives = false;
};

uint64_t hashText(const std::string &text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (unsigned char c : text)
    hash = (hash ^ c) * 0x100000001b3u;
  return hash;
}

/// Numbers the steps in the same order as DeviceProgram.
void describeSteps(const Plan &plan, const std::vector<Step> &steps, std::vector<StepInfo> &infos, Needs &needs,
                   std::map<int32_t, int32_t> &starts) {
  for (const Step &step : steps) {
    size_t index = infos.size();
    infos.emplace_back();
    infos.back().location = step.location;
    std::string name;
    if (auto *launch = std::get_if<LaunchStep>(&step.op)) {
      name = plan.kernels[launch->kernel].symbol;
    } else if (std::get_if<MatmulStep>(&step.op)) {
      name = "matmul";
    } else if (auto *start = std::get_if<CollectiveStartStep>(&step.op)) {
      name = std::string(plan_fields::collectiveNames[static_cast<size_t>(start->desc.kind)]) + " start";
      needs.collectives = true;
      infos[index].collective = StepInfo::Collective::Start;
      infos[index].pairedStep = starts[start->id] = static_cast<int32_t>(index);
      infos[index].axes = start->desc.axes;
    } else if (auto *done = std::get_if<CollectiveDoneStep>(&step.op)) {
      name = "collective done";
      if (auto begun = starts.find(done->id); begun != starts.end()) {
        const StepInfo &start = infos[static_cast<size_t>(begun->second)];
        infos[index].axes = start.axes;
        infos[index].pairedStep = begun->second;
        infos[index].collective = StepInfo::Collective::Done;
        name = start.name.substr(0, start.name.rfind(' ')) + " done";
      }
    } else if (std::get_if<CopyStep>(&step.op)) {
      name = "copy";
    } else if (auto *library = std::get_if<LibraryStep>(&step.op)) {
      name = plan_fields::libraryNames[static_cast<size_t>(library->function)];
    } else if (auto *branch = std::get_if<IfStep>(&step.op)) {
      name = "if";
      describeSteps(plan, branch->thenSteps, infos, needs, starts);
      describeSteps(plan, branch->elseSteps, infos, needs, starts);
    } else if (auto *loop = std::get_if<WhileStep>(&step.op)) {
      name = "while";
      describeSteps(plan, loop->condition, infos, needs, starts);
      describeSteps(plan, loop->body, infos, needs, starts);
    } else if (auto *counted = std::get_if<ForStep>(&step.op)) {
      name = "for";
      describeSteps(plan, counted->body, infos, needs, starts);
    } else if (auto *print = std::get_if<PrintStep>(&step.op)) {
      name = "print";
      for (const ValueInfo &info : print->infos)
        needs.collectives |= !info.sharding.isFullyReplicated();
    }
    infos[index].name = std::move(name);
  }
}

class LaunchState final : public Launch {
public:
  /// The first thread that waits may run the work of the devices `helped` itself.
  explicit LaunchState(size_t devices, std::shared_ptr<const std::vector<DeviceRef>> helped = nullptr)
      : remaining(static_cast<uint32_t>(devices)), running(static_cast<uint32_t>(devices)), helped(std::move(helped)) {}

  void wait() override {
    auto isOver = [&] { return isDone(); };
    if (helped && !isWaitedFor.exchange(true, std::memory_order_relaxed))
      for (const DeviceRef &device : *helped)
        device->runQueued(isOver);
    if (!spinUntil(isOver, spinTime)) {
      sleepers.fetch_add(1);
      while (uint32_t left = remaining.load())
        futexWait(remaining, left, std::chrono::seconds(1));
      sleepers.fetch_sub(1);
    }
    std::lock_guard lock(mutex);
    if (hasNoMemory)
      throw Error(noMemoryText());
    if (isNan)
      throw NanError(cause);
    if (hasFailed)
      throw Error(cause, kind);
  }
  bool isDone() const override { return remaining.load(std::memory_order_acquire) == 0; }

  /// The first error is the cause; later ones usually follow from it. It is kept as text: each wait throws an error of
  /// its own, so that threads share no exception.
  void fail(std::string_view message, Error::Kind errorKind) noexcept { fail(message, errorKind, /*metNan=*/false); }
  /// Like fail, for a NaN: all devices fail with it.
  void failForNan(std::string_view message) noexcept { fail(message, Error::Kind::Failed, /*metNan=*/true); }
  /// Called before finishDevice; returns whether this is the last device.
  bool isLastDevice() { return running.fetch_sub(1) == 1; }
  void finishDevice() {
    if (remaining.fetch_sub(1) == 1 && sleepers.load() != 0)
      futexWakeAll(remaining);
  }

  std::vector<std::vector<DeviceBufferRef>> arguments, results;
  std::vector<ProfileEvent> *profile = nullptr;
  std::mutex mutex;

private:
  void fail(std::string_view message, Error::Kind errorKind, bool metNan) noexcept {
    std::lock_guard lock(mutex);
    if (hasFailed)
      return;
    hasFailed = true;
    kind = errorKind;
    isNan = metNan;
    try {
      cause = message;
    } catch (const std::bad_alloc &) {
      hasNoMemory = true;
    }
  }

  std::atomic<uint32_t> remaining, running; ///< Devices that have not ended; `running` is lowered first.
  const std::shared_ptr<const std::vector<DeviceRef>> helped;
  std::atomic<bool> isWaitedFor{false};
  std::atomic<uint32_t> sleepers{0}; ///< Threads in wait() that sleep, or are about to.
  bool hasFailed = false, isNan = false, hasNoMemory = false;
  std::string cause;
  Error::Kind kind = Error::Kind::Failed;
};

/// Held while a run of any program is queued on all devices of the process.
std::mutex &launchOrder() {
  static std::mutex mutex;
  return mutex;
}

class PlanExecutor final : public Executor {
public:
  PlanExecutor(std::shared_ptr<const Artifact> artifact, ExecutorOptions options);
  ~PlanExecutor() override;

  const Artifact &getArtifact() const override { return *context.artifact; }
  const std::vector<int64_t> &getLocalPositions() const override { return positions; }
  const std::vector<DeviceRef> &getLocalDevices() const override { return devices; }
  std::shared_ptr<Launch> launch(std::vector<std::vector<DeviceBufferRef>> arguments,
                                 std::vector<std::vector<DeviceBufferRef>> results,
                                 std::vector<ProfileEvent> *profile) override;
  const std::vector<StepInfo> &getStepInfo() const override { return stepInfo; }
  int64_t bytesPerDevice() const override {
    return programs.front()->getBytes() + static_cast<int64_t>(context.artifact->constants.size());
  }

private:
  void prepareDevices();
  void onAllDevices(const std::function<void(size_t)> &body);
  void runDevice(size_t local, uint64_t number, LaunchState &state);
  void failRun(size_t local, LaunchState &state, const std::string &cause, Error::Kind kind) noexcept;
  template <typename Describe>
  void failRunFor(size_t local, LaunchState &state, Error::Kind kind, const Describe &describe) noexcept;
  void logEvents(uint64_t number, std::vector<ProfileEvent> events) noexcept;
  void checkBuffers(const char *what, const std::vector<ValueInfo> &infos,
                    const std::vector<std::vector<DeviceBufferRef>> &buffers) const;

  ProgramContext context;
  std::shared_ptr<Communicator> communicator;
  std::unique_ptr<ExecutionBackend> backend; ///< Outlives the programs.
  std::vector<int64_t> positions;
  std::vector<DeviceRef> devices;
  std::shared_ptr<const std::vector<DeviceRef>> helped; ///< Whose work a thread that waits for a launch may run.
  std::vector<std::unique_ptr<DeviceProgram>> programs;
  std::vector<StepInfo> stepInfo;
  uint64_t launches = 0; ///< Guarded by launchOrder().
};

PlanExecutor::PlanExecutor(std::shared_ptr<const Artifact> artifact, ExecutorOptions options) {
  const Plan &plan = artifact->plan;
  context.artifact = artifact;
  keepMemoryReserve();
  if (static_cast<int64_t>(options.devices.size()) != plan.mesh.deviceCount())
    throw Error("the mesh of '" + plan.name + "' has " + countText(plan.mesh.deviceCount(), "device") + ", but " +
                    std::to_string(options.devices.size()) +
                    (options.devices.size() == 1 ? " was given" : " were given"),
                Error::Kind::Usage);
  for (size_t position = 0; position < options.devices.size(); ++position)
    for (const DeviceRef &device : options.localDevices)
      if (device->getId() == options.devices[position]) {
        positions.push_back(static_cast<int64_t>(position));
        devices.push_back(device);
      }
  if (positions.empty())
    throw Error("no device of this process is in the mesh of '" + plan.name + "'", Error::Kind::Usage);
  backend = ExecutionBackend::create(artifact, devices);
  Needs needs;
  std::map<int32_t, int32_t> starts;
  describeSteps(plan, plan.steps, stepInfo, needs, starts);
  // Devices that look for NaNs agree on the result. Without collectives no device has another device's values.
  needs.collectives |= options.checkNans && plan.mesh.deviceCount() > 1 && options.collectives;
  if (needs.collectives) {
    if (!options.collectives)
      throw Error("'" + plan.name + "' has collectives, but none are set up", Error::Kind::Usage);
    communicator = options.collectives->communicator(options.devices, options.prepareTimeout);
    context.communicator = communicator.get();
  }
  context.health = options.health;
  context.counters = options.counters;
  context.profileLog = options.profileLog;
  context.checkNans = options.checkNans;
  context.nansEndJob = options.nansEndJob;
  context.localPositions = positions;
  context.devices = options.devices;
  context.gpuTransport = options.gpuTransport;
  context.prepareTimeout = options.prepareTimeout;
  context.stepInfo = &stepInfo;
  context.print = std::move(options.print);
  context.printPosition = std::min_element(options.devices.begin(), options.devices.end()) - options.devices.begin();
  context.fingerprint = options.fingerprint;
  if (context.fingerprint == 0)
    context.fingerprint = hashText(fingerprint(*artifact));
  // With collectives the work of a device waits for that of the others, which other threads must run meanwhile.
  bool mayRunAll = !communicator && devices.front()->sharesCores();
  helped = std::make_shared<std::vector<DeviceRef>>(devices.begin(), mayRunAll ? devices.end() : devices.begin() + 1);
  prepareDevices();
}

PlanExecutor::~PlanExecutor() {
  // Queued runs refer to the programs; each program ends on its device's thread, after them.
  onAllDevices([&](size_t i) { programs[i].reset(); });
}

void PlanExecutor::onAllDevices(const std::function<void(size_t)> &body) {
  auto state = std::make_shared<LaunchState>(devices.size());
  for (size_t i = 0; i < devices.size(); ++i)
    devices[i]->enqueue([state, &body, i] {
      try {
        body(i);
      } catch (const Error &error) {
        state->fail(error.what(), error.getKind());
      } catch (const std::bad_alloc &) {
        releaseMemoryReserve();
        state->fail(noMemoryText(), Error::Kind::Failed);
      } catch (const std::exception &error) {
        state->fail(error.what(), Error::Kind::Failed);
      }
      state->finishDevice();
    });
  state->wait();
}

void PlanExecutor::prepareDevices() {
  programs.resize(devices.size());
  try {
    onAllDevices([&](size_t i) {
      programs[i] = backend->makeProgram(context, *devices[i], positions[i]);
      programs[i]->prepare();
    });
  } catch (const Error &error) {
    throw error.withContext("preparing '" + context.artifact->plan.name + "'");
  }
}

void PlanExecutor::checkBuffers(const char *what, const std::vector<ValueInfo> &infos,
                                const std::vector<std::vector<DeviceBufferRef>> &buffers) const {
  auto fail = [&](const std::string &why) {
    throw Error("'" + context.artifact->plan.name + "': " + why, Error::Kind::Usage);
  };
  if (buffers.size() != devices.size())
    fail(std::string(what) + "s for " + countText(static_cast<int64_t>(buffers.size()), "device") +
         " were given, but this process has " + std::to_string(devices.size()));
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].size() != infos.size())
      fail(std::to_string(buffers[i].size()) + " " + what + "s were given instead of " + std::to_string(infos.size()));
    for (size_t j = 0; j < infos.size(); ++j)
      if (!buffers[i][j] || buffers[i][j]->bytes() < infos[j].localBytes())
        fail(std::string("the buffer of ") + what + " '" + infos[j].name + "' on " + devices[i]->str() + " has " +
             std::to_string(buffers[i][j] ? buffers[i][j]->bytes() : 0) + " bytes, but " +
             std::to_string(infos[j].localBytes()) + " are needed");
  }
}

std::shared_ptr<Launch> PlanExecutor::launch(std::vector<std::vector<DeviceBufferRef>> arguments,
                                             std::vector<std::vector<DeviceBufferRef>> results,
                                             std::vector<ProfileEvent> *profile) {
  checkBuffers("argument", context.artifact->plan.params, arguments);
  checkBuffers("result", context.artifact->plan.results, results);
  auto state = std::make_shared<LaunchState>(devices.size(), helped);
  state->arguments = std::move(arguments);
  state->results = std::move(results);
  state->profile = profile;
  // All devices queue the runs of all programs in the same order: two devices that wait for each other's collectives in
  // different orders would wait forever.
  std::lock_guard lock(launchOrder());
  uint64_t number = ++launches;
  if (context.health)
    context.health->onLaunch();
  for (size_t i = 0; i < devices.size(); ++i)
    devices[i]->enqueue([this, state, i, number] { runDevice(i, number, *state); });
  return state;
}

/// Called when the run has failed on this device: tells the other devices, here and on other processes, because they
/// would wait in vain.
void PlanExecutor::failRun(size_t local, LaunchState &state, const std::string &cause, Error::Kind kind) noexcept {
  state.fail(cause, kind);
  if (context.health && kind != Error::Kind::Verdict)
    context.health->reportFailure(cause);
  if (communicator)
    communicator->abort(cause);
  programs[local]->settle(cause);
}

/// Like failRun, with the text that `describe` returns; if there is no memory for that, with a static text.
template <typename Describe>
void PlanExecutor::failRunFor(size_t local, LaunchState &state, Error::Kind kind, const Describe &describe) noexcept {
  std::string cause;
  for (bool isSecond : {false, true})
    try {
      cause = describe();
      return failRun(local, state, cause, kind);
    } catch (const std::bad_alloc &) {
      releaseMemoryReserve();
      if (isSecond)
        failRun(local, state, noMemoryText(), kind);
    }
}

void PlanExecutor::logEvents(uint64_t number, std::vector<ProfileEvent> events) noexcept {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  for (ProfileEvent &event : events)
    if (event.endNs == 0)
      event.endNs = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  try {
    context.profileLog->add(number, std::move(events));
  } catch (const std::bad_alloc &) { // A trace with a gap is better than a failed run.
    releaseMemoryReserve();
  }
}

void PlanExecutor::runDevice(size_t local, uint64_t number, LaunchState &state) {
  std::vector<ProfileEvent> events;
  try {
    auto began = std::chrono::steady_clock::now();
    programs[local]->run(number, state.arguments[local], state.results[local],
                         state.profile || context.profileLog ? &events : nullptr);
    if (context.counters && local == 0) {
      auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - began);
      context.counters->launches.fetch_add(1, std::memory_order_relaxed);
      context.counters->launchNanoseconds.fetch_add(static_cast<uint64_t>(time.count()), std::memory_order_relaxed);
    }
    if (state.profile) {
      std::lock_guard lock(state.mutex);
      state.profile->insert(state.profile->end(), events.begin(), events.end());
    }
  } catch (const NanError &error) { // All devices of the mesh have met at the end of the run and throw the same error.
    state.failForNan(error.what());
  } catch (const Error &error) {
    failRunFor(local, state, error.getKind(), [&] { return std::string(error.what()); });
  } catch (const std::bad_alloc &) {
    releaseMemoryReserve();
    failRunFor(local, state, Error::Kind::Failed, [&] {
      return devices[local]->str() + " at " + programs[local]->getStepLocation().str() + ": " + noMemoryText();
    });
  } catch (const std::exception &error) {
    failRunFor(local, state, Error::Kind::Failed, [&] { return devices[local]->str() + ": " + error.what(); });
  }
  // Also for a failed run: the current events end here.
  if (context.profileLog)
    logEvents(number, std::move(events));
  // The buffers are released before the run counts as done, so that their memory can be reused at once.
  state.arguments[local].clear();
  state.results[local].clear();
  // A thread that waits may end the job as soon as the run is done.
  if (state.isLastDevice() && context.health)
    context.health->onLaunchEnd();
  state.finishDevice();
}

} // namespace

std::unique_ptr<Executor> Executor::create(std::shared_ptr<const Artifact> artifact, ExecutorOptions options) {
  return std::make_unique<PlanExecutor>(std::move(artifact), std::move(options));
}

} // namespace spmd
