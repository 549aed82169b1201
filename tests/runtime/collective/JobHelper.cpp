//===- JobHelper.cpp - test jobs of real processes ------------------------===//

#include "JobHelper.h"
#include "runtime/support/Error.h"
#include "tests/support/TimeLimit.h"

#include <cstring>
#include <future>
#include <gtest/gtest.h>
#include <new>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace spmd::test {

struct SharedJob {
  struct Entry {
    char key[128], value[256];
  };
  std::atomic<uint32_t> lock{0}, version{0}, isOver{0};
  std::atomic<uint32_t> points[16] = {};
  char verdict[1024] = {};
  int count = 0;
  Entry entries[4096] = {};

  template <typename Body> auto locked(Body &&body) {
    while (lock.exchange(1, std::memory_order_acquire))
      usleep(10);
    auto result = body();
    lock.store(0, std::memory_order_release);
    return result;
  }
  void changed() {
    version.fetch_add(1);
    futexWakeAll(version);
  }
};

namespace {

SharedJob *theJob = nullptr;

void writeAll(int fd, const void *data, size_t bytes) {
  auto *p = static_cast<const char *>(data);
  while (bytes > 0) {
    ssize_t n = write(fd, p, bytes);
    if (n <= 0)
      _exit(3);
    p += n;
    bytes -= n;
  }
}

bool readAll(int fd, void *data, size_t bytes) {
  auto *p = static_cast<char *>(data);
  while (bytes > 0) {
    ssize_t n = read(fd, p, bytes);
    if (n <= 0)
      return false;
    p += n;
    bytes -= n;
  }
  return true;
}

} // namespace

SharedJob &currentJob() { return *theJob; }

void SharedStore::set(const std::string &key, const std::string &value) {
  job.locked([&] {
    auto &entry = job.entries[job.count++];
    strncpy(entry.key, key.c_str(), sizeof entry.key - 1);
    strncpy(entry.value, value.c_str(), sizeof entry.value - 1);
    return 0;
  });
  job.changed();
}

std::string SharedStore::wait(const std::string &key, const Awaited &awaited) {
  auto deadline = std::chrono::steady_clock::now() + awaited.timeout;
  for (;;) {
    uint32_t seen = job.version.load();
    std::string value = job.locked([&] {
      for (int i = 0; i < job.count; ++i)
        if (key == job.entries[i].key)
          return std::string(job.entries[i].value);
      return std::string();
    });
    if (!value.empty())
      return value;
    if (std::chrono::steady_clock::now() > deadline)
      throw Error("store: no process set " + key);
    futexWait(job.version, seen, std::chrono::milliseconds(20));
  }
}

void SharedStore::removePrefix(const std::string &) {}

bool SharedHealth::isOver() const { return job.isOver.load(std::memory_order_acquire) != 0; }
void SharedHealth::throwVerdict() { throw Error(job.verdict, Error::Kind::Verdict); }
void SharedHealth::reportFailure(const std::string &message) { declareOver(job, message); }
void SharedHealth::reportMissing(int32_t process, const std::string &message) {
  declareOver(job, "process " + std::to_string(process) + " is to blame: " + message);
}

void declareOver(SharedJob &job, const std::string &verdict) {
  job.locked([&] {
    if (!job.isOver.load())
      strncpy(job.verdict, verdict.c_str(), sizeof job.verdict - 1);
    job.isOver.store(1, std::memory_order_release);
    return 0;
  });
}

void signalPoint(SharedJob &job, int point) {
  job.points[point].fetch_add(1);
  futexWakeAll(job.points[point]);
}

void awaitPoint(SharedJob &job, int point, int count) {
  for (;;) {
    uint32_t seen = job.points[point].load();
    if (static_cast<int>(seen) >= count)
      return;
    futexWait(job.points[point], seen, std::chrono::seconds(1));
  }
}

std::vector<char> DeviceContext::call(const MeshShape &mesh, const CollectiveDesc &desc,
                                      const std::vector<char> &operand, const CallSite &site) {
  auto call = endpoint->prepare(mesh, desc, site);
  int64_t resultBytes = elementCount(desc.resultShape) * byteSize(desc.dtype);
  auto from = device->allocate(static_cast<int64_t>(operand.size())), to = device->allocate(resultBytes);
  std::memcpy(from->data(), operand.data(), operand.size());
  std::memset(to->data(), 0xcd, resultBytes);
  call->start(from->data(), to->data());
  call->done();
  auto *data = static_cast<char *>(to->data());
  return std::vector<char>(data, data + resultBytes);
}

int64_t elementCount(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

namespace {

/// Creates devices and collectives of one process, then runs its body.
void withProcess(const Layout &layout, int process, SharedJob &job, const std::function<void(ProcessContext &)> &body) {
  int devices = layout.devicesPerProcess, total = layout.processes * devices;
  std::vector<int64_t> local;
  std::vector<DeviceLocation> places;
  for (int device = 0; device < total; ++device) {
    int owner = device / devices;
    places.push_back({owner, layout.hosts.empty() ? "host" : "host" + std::to_string(layout.hosts[owner])});
    if (owner == process)
      local.push_back(device);
  }
  SharedStore store(job);
  SharedHealth health(job);
  auto deviceRefs = createCpuDevices(local, {.hostDeviceCount = total, .threadsPerDevice = layout.threadsPerDevice});
  auto backend = createCollectives(
      {process, places, deviceRefs, &store, &health, layout.timeouts},
      {std::vector<std::string>(layout.processes, "127.0.0.1"), "127.0.0.1", "127.0.0.1", "the token of the test"});
  ProcessContext context{process, deviceRefs, backend.get(), &health};
  body(context);
}

std::vector<Outcome> runDevices(const Layout &layout, int process, SharedJob &job, const DeviceBody &body) {
  std::vector<Outcome> outcomes(layout.devicesPerProcess);
  try {
    withProcess(layout, process, job, [&](ProcessContext &context) {
      std::vector<int64_t> all;
      for (int device = 0; device < layout.processes * layout.devicesPerProcess; ++device)
        all.push_back(device);
      auto communicator = context.collectives->communicator(all, timeLimit(std::chrono::seconds(20)));
      std::vector<std::promise<void>> done(context.devices.size());
      for (size_t i = 0; i < context.devices.size(); ++i)
        context.devices[i]->enqueue([&, i] {
          int64_t id = context.devices[i]->getId();
          DeviceContext device{
              id, process, context.devices[i], communicator, &communicator->getEndpoint(id), context.health};
          auto begin = std::chrono::steady_clock::now();
          try {
            outcomes[i].bytes = body(device);
          } catch (const std::exception &error) {
            outcomes[i].error = error.what();
          }
          outcomes[i].seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
          done[i].set_value();
        });
      for (auto &each : done)
        each.get_future().wait();
    });
  } catch (const std::exception &error) {
    for (Outcome &outcome : outcomes)
      outcome.error = error.what();
  }
  return outcomes;
}

/// Forks the processes; `body` returns so many outcomes for each.
std::vector<Outcome> forkJob(const Layout &layout, int outcomesPerProcess,
                             const std::function<std::vector<Outcome>(int process, SharedJob &)> &body,
                             const Overseer &overseer) {
  void *memory = mmap(nullptr, sizeof(SharedJob), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  theJob = new (memory) SharedJob;
  std::vector<pid_t> pids;
  std::vector<int> pipes;
  for (int process = 0; process < layout.processes; ++process) {
    int ends[2];
    if (pipe(ends) != 0)
      abort();
    pid_t pid = fork();
    if (pid == 0) {
      alarm(timeLimit(120));
      for (int other : pipes)
        close(other);
      close(ends[0]);
      for (const Outcome &outcome : body(process, *theJob)) {
        uint64_t sizes[2] = {outcome.bytes.size(), outcome.error.size()};
        writeAll(ends[1], sizes, sizeof sizes);
        writeAll(ends[1], &outcome.seconds, sizeof outcome.seconds);
        writeAll(ends[1], outcome.bytes.data(), outcome.bytes.size());
        writeAll(ends[1], outcome.error.data(), outcome.error.size());
      }
      close(ends[1]);
      _exit(0);
    }
    close(ends[1]);
    pids.push_back(pid);
    pipes.push_back(ends[0]);
  }
  if (overseer)
    overseer(pids, *theJob);
  std::vector<Outcome> outcomes;
  for (int process = 0; process < layout.processes; ++process) {
    for (int i = 0; i < outcomesPerProcess; ++i) {
      Outcome outcome;
      uint64_t sizes[2];
      if (readAll(pipes[process], sizes, sizeof sizes) &&
          readAll(pipes[process], &outcome.seconds, sizeof outcome.seconds)) {
        outcome.bytes.resize(sizes[0]);
        outcome.error.resize(sizes[1]);
        readAll(pipes[process], outcome.bytes.data(), sizes[0]);
        readAll(pipes[process], outcome.error.data(), sizes[1]);
      } else {
        outcome.error = "process died";
      }
      outcomes.push_back(std::move(outcome));
    }
    close(pipes[process]);
  }
  for (pid_t pid : pids) {
    int status = 0;
    waitpid(pid, &status, 0);
    // Sanitizers report through the exit status.
    if (!(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)) {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
    }
  }
  munmap(memory, sizeof(SharedJob));
  theJob = nullptr;
  return outcomes;
}

} // namespace

std::vector<Outcome> runJob(const Layout &layout, const DeviceBody &body, const Overseer &overseer) {
  return forkJob(
      layout, layout.devicesPerProcess,
      [&](int process, SharedJob &job) { return runDevices(layout, process, job, body); }, overseer);
}

std::vector<Outcome> runProcesses(const Layout &layout, const ProcessBody &body, const Overseer &overseer) {
  return forkJob(
      layout, 1,
      [&](int process, SharedJob &job) {
        Outcome outcome;
        auto begin = std::chrono::steady_clock::now();
        try {
          withProcess(layout, process, job, [&](ProcessContext &context) { outcome.bytes = body(context); });
        } catch (const std::exception &error) {
          outcome.error = error.what();
        }
        outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        return std::vector<Outcome>{outcome};
      },
      overseer);
}

} // namespace spmd::test
