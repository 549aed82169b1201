//===- ProcessJobs.cpp - programs run by several real processes -----------===//

#include "tests/programs/support/ProcessJobs.h"

#include "runtime/artifact/ArtifactFile.h"
#include "runtime/support/Error.h"
#include "tests/programs/generator/Random.h"
#include "tests/programs/processes/Wire.h"

#include <algorithm>
#include <numeric>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/un.h>
#include <sys/wait.h>

namespace spmdc {

using spmd::testing_processes::Message;

namespace {

constexpr int kTimeoutMs = 60'000;

/// Copies a device's box of a result into the full result. Replicas on other devices must have the same bits.
std::string place(const spmd::ValueInfo &info, const std::vector<int64_t> &ranges, std::string_view bytes,
                  std::vector<char> &whole, std::vector<bool> &isKnown) {
  size_t rank = info.shape.size(), elementBytes = static_cast<size_t>(spmd::byteSize(info.dtype));
  std::vector<int64_t> at(rank);
  for (size_t element = 0; element * elementBytes < bytes.size(); ++element) {
    int64_t offset = 0;
    for (size_t d = 0; d < rank; ++d)
      offset = offset * info.shape[d] + ranges[2 * d] + at[d];
    char *target = whole.data() + static_cast<size_t>(offset) * elementBytes;
    const char *source = bytes.data() + element * elementBytes;
    if (isKnown[static_cast<size_t>(offset)] && std::memcmp(target, source, elementBytes) != 0)
      return "two devices hold different bits of element " + std::to_string(offset);
    std::memcpy(target, source, elementBytes);
    isKnown[static_cast<size_t>(offset)] = true;
    for (size_t d = rank; d-- > 0;) {
      if (++at[d] < ranges[2 * d + 1])
        break;
      at[d] = 0;
    }
  }
  return {};
}

} // namespace

int64_t ProcessJobs::Layout::deviceCount() const { return std::accumulate(devices.begin(), devices.end(), int64_t(0)); }

std::string ProcessJobs::Layout::str() const {
  std::string text;
  for (size_t i = 0; i < devices.size(); ++i)
    text += (i == 0 ? "" : ",") + std::to_string(devices[i]) + "@" + std::to_string(hosts[i]);
  return text;
}

class ProcessJobs::Job {
public:
  Job(const std::string &program, const std::string &gpuLibraries, const Layout &layout) : layout(layout) {
    static int number = 0;
    std::string name = "spmd-programs-" + std::to_string(getpid()) + "-" + std::to_string(number++);
    int listener = listenOn(name);
    std::string devices = layout.str();
    launcher = fork();
    if (launcher == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (!gpuLibraries.empty())
        setGpus(gpuLibraries, layout.deviceCount());
      execl(program.c_str(), program.c_str(), "launch", name.c_str(), devices.c_str(), nullptr);
      _exit(127);
    }
    fds.resize(layout.devices.size(), -1);
    std::string failure;
    for (size_t i = 0; i < layout.devices.size() && failure.empty(); ++i)
      failure = acceptOne(listener);
    close(listener);
    // They join together, so each sends its hello only when all have joined.
    for (size_t i = 0; i < accepted.size() && failure.empty(); ++i) {
      Message hello;
      if (!spmd::testing_processes::receiveMessage(accepted[i], hello, kTimeoutMs))
        failure = "a process does not join";
      else if (failure = hello.text(); failure.empty())
        fds[static_cast<size_t>(hello.number())] = accepted[i];
    }
    if (failure.empty())
      return;
    end();
    throw spmd::Error("the job of processes with " + devices + " devices cannot be started with " + program + ": " +
                      failure);
  }
  ~Job() { end(); }

  const Layout &getLayout() const { return layout; }

  std::string run(const Message &request, const spmd::Plan &plan, std::vector<ResultBytes> &results) {
    for (int fd : fds)
      if (!spmd::testing_processes::sendMessage(fd, request))
        return "a process is gone";
    std::vector<std::vector<bool>> isKnown;
    results.clear();
    for (const spmd::ValueInfo &info : plan.results) {
      int64_t count = std::accumulate(info.shape.begin(), info.shape.end(), int64_t(1), std::multiplies<>());
      results.emplace_back(static_cast<size_t>(count * spmd::byteSize(info.dtype)));
      isKnown.emplace_back(static_cast<size_t>(count));
    }
    for (size_t process = 0; process < fds.size(); ++process) {
      std::string who = "process " + std::to_string(process) + ": ";
      Message answer;
      if (!spmd::testing_processes::receiveMessage(fds[process], answer, kTimeoutMs))
        return who + "no answer";
      if (std::string failure(answer.text()); !failure.empty())
        return who + failure;
      int64_t count = answer.number();
      for (int64_t i = 0; i < count; ++i)
        for (int64_t parts = answer.number(); parts > 0; --parts) {
          std::vector<int64_t> ranges = answer.numbers();
          std::string failure =
              place(plan.results[i], ranges, answer.text(), results[static_cast<size_t>(i)], isKnown[i]);
          if (!failure.empty())
            return "result " + std::to_string(i) + ": " + failure;
        }
    }
    for (size_t i = 0; i < isKnown.size(); ++i)
      if (std::find(isKnown[i].begin(), isKnown[i].end(), false) != isKnown[i].end())
        return "result " + std::to_string(i) + ": no device holds some of it";
    return {};
  }

private:
  /// Gives each machine as many GPUs as the job has devices.
  static void setGpus(const std::string &libraries, int64_t count) {
    std::string gpus;
    for (int64_t i = 0; i < count; ++i)
      gpus += "90,";
    setenv("LD_LIBRARY_PATH", libraries.c_str(), 1);
    setenv("SPMD_TEST_GPUS", gpus.c_str(), 1);
    setenv("SPMD_PLATFORM", "cuda", 1);
  }

  static int listenOn(const std::string &name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
    auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, reinterpret_cast<sockaddr *>(&address), size) != 0 || listen(fd, 64) != 0)
      throw spmd::Error("cannot create a socket for worker processes");
    return fd;
  }

  std::string acceptOne(int listener) {
    pollfd wait{listener, POLLIN, 0};
    // A launcher that has ended sends no more processes.
    for (int waited = 0; waited < kTimeoutMs; waited += 200) {
      if (poll(&wait, 1, 200) > 0) {
        accepted.push_back(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
        return {};
      }
      if (waitpid(launcher, nullptr, WNOHANG) == launcher) {
        launcher = -1;
        return "it has ended";
      }
    }
    return "a process does not come";
  }

  /// Workers exit when the socket closes; one that does not is killed with the launcher.
  void end() {
    for (int fd : accepted)
      close(fd);
    accepted.clear();
    if (launcher < 0)
      return;
    for (int waited = 0; waited < 2000; waited += 5) {
      if (waitpid(launcher, nullptr, WNOHANG) == launcher)
        return;
      usleep(5000);
    }
    kill(launcher, SIGKILL);
    waitpid(launcher, nullptr, 0);
  }

  Layout layout;
  std::vector<int> accepted, fds; ///< In the order of arrival, and by process.
  pid_t launcher = -1;
};

ProcessJobs::ProcessJobs(std::string workerProgram, std::string gpuLibraries)
    : workerProgram(std::move(workerProgram)), gpuLibraries(std::move(gpuLibraries)) {}
ProcessJobs::~ProcessJobs() = default;

/// Few jobs serve all programs: a mesh may use a part of the devices.
std::vector<ProcessJobs::Layout> ProcessJobs::layoutsFor(int64_t devices) {
  if (devices > 8) {
    int quarter = static_cast<int>(std::max<int64_t>(16, devices) + 3) / 4;
    return {{{4 * quarter}, {0}},
            {{2 * quarter, 2 * quarter}, {0, 0}},
            {{quarter, quarter, quarter, quarter}, {0, 0, 0, 0}},
            {{quarter, 2 * quarter, quarter}, {0, 1, 2}}};
  }
  return {{{8}, {0}},
          {{4, 4}, {0, 0}},
          {{4, 4}, {0, 1}},
          {{3, 1, 4}, {0, 0, 0}},
          {{3, 1, 4}, {0, 1, 1}},
          {{2, 2, 2, 2}, {0, 1, 2, 0}},
          {{1, 1, 1, 1, 1, 1, 1, 1}, {0, 0, 0, 0, 0, 0, 0, 0}}};
}

ProcessJobs::Job &ProcessJobs::jobOf(const Layout &layout) {
  for (std::unique_ptr<Job> &job : jobs)
    if (job->getLayout() == layout)
      return *job;
  jobs.push_back(std::make_unique<Job>(workerProgram, gpuLibraries, layout));
  return *jobs.back();
}

void ProcessJobs::prepare(int64_t devices) {
  for (const Layout &layout : layoutsFor(devices))
    jobOf(layout);
}

void ProcessJobs::reset() { jobs.clear(); }

std::string ProcessJobs::run(const spmd::Artifact &artifact, const std::vector<std::vector<char>> &arguments,
                             uint64_t seed, std::vector<ResultBytes> &results) {
  std::string encoded = spmd::encodeArtifact(artifact);
  int64_t devices = artifact.plan.mesh.deviceCount();
  Random random(seed);
  std::string first;
  for (const Layout &layout : layoutsFor(devices)) {
    std::vector<int64_t> ids(static_cast<size_t>(layout.deviceCount()));
    std::iota(ids.begin(), ids.end(), 0);
    bool isShuffled = random.chance(50);
    for (size_t i = ids.size(); isShuffled && i > 1; --i)
      std::swap(ids[i - 1], ids[static_cast<size_t>(random.integer(0, static_cast<int64_t>(i) - 1))]);
    ids.resize(static_cast<size_t>(devices));
    Message request;
    request.put(encoded);
    request.put(ids);
    for (const std::vector<char> &argument : arguments)
      request.put(std::string_view(argument.data(), argument.size()));
    std::vector<ResultBytes> here;
    std::string where = "processes of " + layout.str() + " devices" + (isShuffled ? ", in another order" : "");
    if (std::string failure = jobOf(layout).run(request, artifact.plan, here); !failure.empty())
      return "run fails: " + where + ": " + failure;
    if (first.empty()) {
      first = where;
      results = std::move(here);
      continue;
    }
    for (size_t i = 0; i < here.size(); ++i)
      if (here[i] != results[i])
        return "different bits: result " + std::to_string(i) + " on " + where + " and on " + first;
  }
  return {};
}

} // namespace spmdc
