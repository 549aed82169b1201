//===- Job.cpp - this process in its job ----------------------------------===//

#include "runtime/api/Job.h"

#include "runtime/api/Checkpoint.h"
#include "runtime/collective/net/NetCollectives.h"
#include "runtime/device/LocalDevices.h"
#include "runtime/support/Token.h"

#include <algorithm>
#include <numeric>

namespace spmd {
namespace {

std::string listed(const std::vector<std::string> &items) {
  std::string text;
  for (size_t i = 0; i < items.size(); ++i)
    text += (i == 0 ? "" : i + 1 == items.size() ? " and " : ", ") + items[i];
  return text;
}

/// Returns `0, 1`.
std::string joined(const std::vector<int32_t> &ids) {
  std::string text;
  for (int32_t id : ids)
    text += (text.empty() ? "" : ", ") + std::to_string(id);
  return text;
}

/// Returns a text that says why the variables of known clusters do not give the missing options.
std::string lookedFor(const Environment &environment, const std::vector<std::string> &missing) {
  std::string text;
  for (const Cluster &cluster : environment.clusters)
    text += (text.empty() ? "" : "; ") + cluster.name + ": " +
            (!cluster.isFound() ? cluster.whyNot : "found, but its variables do not give " + listed(missing));
  return text.empty() ? "" : "; no cluster's variables give the rest (" + text + ")";
}

std::vector<int32_t> resolveDeviceIds(const InitializeOptions &options, const Environment &environment,
                                      int defaultDevices) {
  const auto &given = options.local_device_ids.get();
  std::optional<std::vector<int32_t>> ids = given ? given : environment.localDeviceIds;
  std::optional<int> count = options.devices_per_process;
  if (!count && environment.devicesPerProcess)
    count = *environment.devicesPerProcess;
  if (count && (*count < 1 || *count > 4096))
    throw Error("devices_per_process is " + std::to_string(*count) + "; give a number from 1 to 4096",
                Error::Kind::Usage);
  if (!ids) {
    std::vector<int32_t> all(static_cast<size_t>(count.value_or(defaultDevices)));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  std::vector<int32_t> sorted = *ids;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::string> negative, outside, repeated, wrong;
  for (size_t i = 0; i != sorted.size(); ++i) {
    std::string id = std::to_string(sorted[i]);
    bool isRepeated = i + 1 != sorted.size() && sorted[i] == sorted[i + 1];
    if (i > 0 && sorted[i] == sorted[i - 1])
      continue; // Reported already with its first occurrence.
    if (isRepeated)
      repeated.push_back(id);
    if (sorted[i] < 0)
      negative.push_back(id);
    if (count && sorted[i] >= *count)
      outside.push_back(id);
  }
  auto report = [&](const std::vector<std::string> &those, const char *one, const char *several,
                    const std::string &why = "") {
    if (!those.empty())
      wrong.push_back(listed(those) + (those.size() == 1 ? one : several) + why);
  };
  report(negative, " is negative", " are negative");
  report(outside, " does not exist", " do not exist",
         ", because devices_per_process is " + std::to_string(count.value_or(0)));
  report(repeated, " is given more than once", " are given more than once");
  if (sorted.empty())
    wrong.push_back("the list is empty");
  if (!wrong.empty())
    throw Error("local_device_ids is {" + joined(*ids) + "}: " + listed(wrong) + "; give different numbers from 0 " +
                    (count ? "to " + std::to_string(*count - 1) : "on"),
                Error::Kind::Usage);
  return *ids;
}

} // namespace

JoinOptions resolveJoinOptions(const InitializeOptions &options, const Environment &environment, int defaultDevices) {
  auto pick = [](const auto &given, const auto &found) { return given ? given : found; };
  std::optional<std::string> address = pick(options.coordinator_address, environment.coordinatorAddress);
  std::optional<int32_t> numProcesses = pick(options.num_processes, environment.numProcesses);
  std::optional<int32_t> processId = pick(options.process_id, environment.processId);

  JoinOptions join;
  bool isAlone = numProcesses ? *numProcesses == 1 : !address && !processId;
  if (!isAlone) {
    std::vector<std::string> missing, variables;
    auto need = [&](bool isThere, const char *name, const char *variable) {
      if (!isThere) {
        missing.push_back(name);
        variables.push_back(variable);
      }
    };
    need(address.has_value(), "coordinator_address", "SPMD_COORDINATOR_ADDRESS");
    need(numProcesses.has_value(), "num_processes", "SPMD_NUM_PROCESSES");
    need(processId.has_value(), "process_id", "SPMD_PROCESS_ID");
    if (!missing.empty())
      throw Error(
          "cannot join a job without " + listed(missing) + ": give " + (missing.size() == 1 ? "it" : "them") +
              " or set " + listed(variables) + " in the environment" +
              (environment.clusterError.empty() ? lookedFor(environment, missing) : ": " + environment.clusterError),
          Error::Kind::Usage);
  } else if (!numProcesses && !environment.clusterError.empty()) {
    throw Error(environment.clusterError, Error::Kind::Usage);
  }
  join.address = address.value_or("");
  join.numProcesses = numProcesses.value_or(1);
  join.processId = processId.value_or(0);
  join.bindAddress = pick(options.coordinator_bind_address, environment.coordinatorBindAddress).value_or("");
  join.localDeviceIds = resolveDeviceIds(options, environment, defaultDevices);
  auto setTimeout = [&](std::chrono::milliseconds &target, const auto &given, const auto &found) {
    target = pick(given, found).value_or(target);
  };
  setTimeout(join.initializationTimeout, options.initialization_timeout, environment.initializationTimeout);
  setTimeout(join.heartbeatTimeout, options.heartbeat_timeout, environment.heartbeatTimeout);
  setTimeout(join.collectiveTimeout, options.collective_timeout, environment.collectiveTimeout);
  join.backend = pick(options.platform, environment.platform).value_or("cpu");
  if (!isPlatform(join.backend))
    throw Error("platform is '" + join.backend + "'; give " + platformNames() + " (SPMD_PLATFORM)", Error::Kind::Usage);
  join.sharesGpus = environment.sharesGpus;
  join.forcesNccl = environment.sharesGpus && environment.hasNcclHostId;
  join.hostId = environment.hostId.value_or("");
  join.jobId = pick(options.job_id, environment.jobId).value_or("");
  if (join.numProcesses > 1) {
    join.tls = resolveTls(options, environment);
    join.token = findToken(environment, options.token_file.value_or(""), &join.whyNoToken);
  }
  join.statusToken = environment.statusToken.value_or("");
  if (options.notice)
    join.notice = [tell = options.notice](const Notice &notice) {
      tell(notice.text, notice.level == Notice::Level::Warning);
    };
  join.listenFd = environment.coordinatorFd;
  join.launcherFd = environment.launcherFd;
  return join;
}

std::shared_ptr<const TlsIdentity> resolveTls(const InitializeOptions &options, const Environment &environment) {
  auto pick = [](const auto &given, const auto &found) { return (given ? given : found).value_or(""); };
  TlsFiles files{pick(options.tls_cert, environment.tlsCert), pick(options.tls_key, environment.tlsKey),
                 pick(options.tls_ca, environment.tlsCa)};
  return files.areGiven() ? TlsIdentity::load(files) : nullptr;
}

std::shared_ptr<Job> Job::join(JoinOptions options) {
  std::shared_ptr<Job> job(new Job());
  job->timeout = options.initializationTimeout;
  constexpr std::chrono::hours noLimit{24 * 365 * 100};
  job->collectiveTimeout = options.collectiveTimeout.count() > 0 ? options.collectiveTimeout : noLimit;
  options.statistics = [self = job.get()] { return self->statistics(); };
  NetworkAddresses network;
  network.tls = options.tls;
  job->client = Client::join(options);
  try {
    job->makeDevices(options, std::move(network));
  } catch (const Error &error) {
    // The other processes count this one as a member, so its end is a failure.
    job->markFailed();
    if (error.getKind() == Error::Kind::Verdict || job->getProcessCount() == 1)
      throw;
    job->client->reportFailure(error.what());
    job->client->throwVerdict();
  }
  return job;
}

/// Returns the numbers of this process's devices on this machine: its device ids. If processes of this host have the
/// same ids, because the user gave none, each process takes the devices after those of the processes before it.
std::vector<int32_t> Job::ordinalsOf(const Topology &topology, const ProcessInfo &self) const {
  std::vector<int32_t> ordinals = self.localDeviceIds;
  int32_t before = 0;
  bool isShared = false;
  for (const ProcessInfo &process : topology.processes) {
    if (process.index >= self.index || hostOf(process.index) != hostOf(self.index))
      continue;
    before += static_cast<int32_t>(process.localDeviceIds.size());
    for (int32_t id : process.localDeviceIds)
      isShared |= std::find(ordinals.begin(), ordinals.end(), id) != ordinals.end();
  }
  if (isShared)
    for (int32_t &ordinal : ordinals)
      ordinal += before;
  return ordinals;
}

void Job::makeDevices(const JoinOptions &options, NetworkAddresses network) {
  const Topology &topology = client->topology();
  const ProcessInfo &self = topology.processes[static_cast<size_t>(getProcess())];
  ShmOptions shm;
  int hostDevices = 0;
  for (const ProcessInfo &process : topology.processes) {
    network.addresses.push_back(process.address);
    for (size_t i = 0; i < process.localDeviceIds.size(); ++i) {
      DeviceInfo info{process.firstDevice + static_cast<int64_t>(i), process.index, options.backend,
                      process.localDeviceIds[i]};
      devices.push_back(std::move(info));
      shm.places.push_back({process.index, hostOf(process.index)});
      hostDevices += hostOf(process.index) == hostOf(self.index);
    }
  }
  LocalDeviceRequest request;
  request.ids.resize(static_cast<size_t>(self.deviceCount()));
  std::iota(request.ids.begin(), request.ids.end(), self.firstDevice);
  request.ordinals = ordinalsOf(topology, self);
  request.hostDeviceCount = hostDevices;
  request.sharesGpus = options.sharesGpus;
  LocalDevices made = createLocalDevices(options.backend, request);
  localDevices = std::move(made.devices);
  shm.localDevices = std::move(made.hosts);
  shm.process = self.index;
  shm.store = client.get();
  shm.health = client.get();
  shm.timeouts.collective = options.collectiveTimeout;
  ConnectionEnds ends = client->coordinatorConnection();
  network.own = ends.own;
  network.coordinator = ends.coordinator;
  network.token = ends.token;
  collectives = createCollectives(std::move(shm), std::move(network));
  client->setAwaitedCalls([backend = collectives.get()] { return backend->findAwaitedCalls(); });
  if (devices.size() > 1)
    connectGpus(options);
}

void Job::connectGpus(const JoinOptions &options) {
  std::vector<int32_t> processOf;
  for (const DeviceInfo &device : devices)
    processOf.push_back(device.process_index);
  std::string whyNot;
  gpuTransport = cuda::connectGpus(
      localDevices, {nullptr, getProcess(), std::move(processOf), client.get(), client.get()}, options.forcesNccl,
      [this](const std::string &own) { return exchangeAll({"gpus", "the connection of the GPUs"}, own); }, whyNot);
  if (!whyNot.empty() && options.notice && getProcess() == 0)
    options.notice(
        {Notice::Level::Info, "collectives between GPUs go through the memory of the host, because " + whyNot});
}

ProcessStatistics Job::statistics() const {
  ProcessStatistics result;
  result.launches = counters.launches.load(std::memory_order_relaxed);
  result.launchNanoseconds = counters.launchNanoseconds.load(std::memory_order_relaxed);
  result.wireBytes = counters.wireBytes.load(std::memory_order_relaxed);
  result.stepsDone = stepsDone.load(std::memory_order_relaxed);
  result.stepsWanted = stepsWanted.load(std::memory_order_relaxed);
  result.residentBytes = residentBytes();
  return result;
}

Job::~Job() {
  try {
    finishCheckpoints();
    if (client && !hasLeft && !failed) {
      finishLaunches(); // Others may rely on it: a process that has left makes no calls any more.
      if (collectives)
        collectives->leave();
      client->goodbye();
    }
  } catch (const Error &) {
    // The job is over; the call that saw the verdict has thrown it.
  }
  gpuTransport.reset();
  if (client)
    client->setAwaitedCalls(nullptr);
  collectives.reset();
  localDevices.clear();
}

void Job::finishCheckpoints() {
  // After an error, a writer may wait for an event that never comes.
  if (failed && !checkpointWriters.empty())
    client->reportFailure("the process ends after an error of one of its calls");
  checkpointWriters.clear();
}

void Job::finishLaunches() {
  try {
    openLaunches.wait();
  } catch (...) {
    markFailed();
    throw;
  }
}

void Job::leave() {
  finishLaunches();
  checkpointWriters.clear();
  hasLeft = true;
  collectives->leave();
  client->goodbye();
}

DeviceRef Job::findLocalDevice(int64_t id) const {
  for (const DeviceRef &device : localDevices)
    if (device->getId() == id)
      return device;
  return nullptr;
}

std::string Job::hostOf(int32_t process) const {
  const ProcessInfo &info = client->topology().processes[static_cast<size_t>(process)];
  return info.bootId + "/" + info.host;
}

uint64_t Job::nextSequence(const std::string &name) {
  std::lock_guard lock(sequencesMutex);
  return sequences[name]++;
}

std::vector<std::string> Job::exchange(const Exchange &what, const std::vector<int32_t> &processes,
                                       const std::string &value) {
  std::string group = what.name;
  for (int32_t process : processes)
    group += "." + std::to_string(process);
  // The previous round is removed below, when all have read it: rounds of one group do not overlap.
  std::mutex *round = nullptr;
  {
    std::lock_guard lock(sequencesMutex);
    round = &rounds[group];
  }
  std::lock_guard inRound(*round);
  uint64_t sequence = nextSequence(group);
  auto keyOf = [&](uint64_t number, int32_t process) {
    return "api/" + group + "/" + std::to_string(number) + "/" + std::to_string(process);
  };
  client->set(keyOf(sequence, getProcess()), value);
  std::vector<std::string> values;
  auto limit = what.limit == Exchange::Limit::Collective ? collectiveTimeout : timeout;
  for (int32_t process : processes)
    values.push_back(process == getProcess() ? value
                                             : client->wait(keyOf(sequence, process), {process, limit, what.call}));
  // All processes have published this round, so all have read the previous one.
  if (sequence > 0 && getProcess() == processes.front())
    client->removePrefix("api/" + group + "/" + std::to_string(sequence - 1) + "/");
  return values;
}

std::vector<std::string> Job::exchangeAll(const Exchange &what, const std::string &value) {
  std::vector<int32_t> processes(static_cast<size_t>(getProcessCount()));
  std::iota(processes.begin(), processes.end(), 0);
  return exchange(what, processes, value);
}

} // namespace spmd
