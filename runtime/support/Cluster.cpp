#include "runtime/support/Cluster.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace spmd {
namespace {

using Lookup = std::function<std::optional<std::string>(const char *)>;

/// Ports that the system does not give to others by itself, as JAX uses them: each job gets one of its own.
std::string portOf(uint64_t number) { return std::to_string(61440 + number % 4096); }

std::string withPort(const std::string &host, const std::string &port) {
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + port;
}

/// Collects variables of one cluster; the first that is missing or wrong says why it is not this cluster.
class Finder {
public:
  Finder(const Lookup &lookup, std::string name) : lookup(lookup) { cluster.name = std::move(name); }

  std::string text(const char *name) {
    std::optional<std::string> value = lookup(name);
    if (!value || value->empty()) {
      refuse(std::string(name) + " is not set");
      return "";
    }
    return *value;
  }
  bool has(const char *name) const {
    std::optional<std::string> value = lookup(name);
    return value && !value->empty();
  }
  uint64_t number(const char *name, uint64_t limit = INT32_MAX) {
    std::string value = text(name);
    uint64_t result = 0;
    auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), result);
    if (!value.empty() && (code != std::errc() || end != value.data() + value.size() || result > limit))
      refuse(std::string(name) + " is `" + value + "`, which is no number that it could be");
    return result;
  }
  void refuse(const std::string &why) {
    if (cluster.whyNot.empty())
      cluster.whyNot = why;
  }
  bool isGood() const { return cluster.whyNot.empty(); }
  void setPlace(uint64_t processId, uint64_t numProcesses) {
    if (isGood() && processId >= numProcesses)
      refuse("process " + std::to_string(processId) + " of " + std::to_string(numProcesses) + " does not exist");
    cluster.processId = static_cast<int32_t>(processId);
    cluster.numProcesses = static_cast<int32_t>(numProcesses);
  }
  Cluster finish() {
    if (cluster.whyNot.empty())
      return std::move(cluster);
    return Cluster{cluster.name, cluster.whyNot, {}, {}, {}, {}};
  }

  Cluster cluster;

private:
  const Lookup &lookup;
};

Cluster findSlurm(const Lookup &lookup) {
  Finder finder(lookup, "Slurm");
  uint64_t job = finder.number("SLURM_JOB_ID", UINT32_MAX);
  if (finder.isGood() && !finder.has("SLURM_STEP_NODELIST"))
    finder.refuse("SLURM_STEP_NODELIST is not set: processes of a job are started with srun");
  std::string nodes = finder.text("SLURM_STEP_NODELIST");
  uint64_t tasks = finder.number("SLURM_NTASKS"), task = finder.number("SLURM_PROCID");
  finder.number("SLURM_LOCALID");
  finder.setPlace(task, tasks);
  auto hosts = expandHostList(nodes);
  if (finder.isGood() && !hosts)
    finder.refuse("SLURM_STEP_NODELIST is `" + nodes + "`, which is no list of hosts");
  if (finder.isGood() && tasks == 1)
    finder.refuse("the step has one task");
  if (finder.isGood() && hosts->size() > tasks)
    finder.refuse("SLURM_STEP_NODELIST has " + std::to_string(hosts->size()) + " hosts, but SLURM_NTASKS is " +
                  std::to_string(tasks));
  finder.cluster.coordinatorAddress = withPort(hosts ? hosts->front() : "", portOf(job));
  finder.cluster.jobId = "slurm-" + std::to_string(job);
  return finder.finish();
}

/// `1531576320.0;tcp://10.96.0.1,10.148.0.1:34911` or `...;tcp6://[fe80::1,fd00::1]:34911`: where mpirun runs.
bool parseLauncher(const std::string &uri, uint64_t &job, std::string &host) {
  auto [end, code] = std::from_chars(uri.data(), uri.data() + uri.size(), job);
  if (code != std::errc() || end == uri.data() + uri.size() || *end != '.')
    return false;
  for (const char *scheme : {"tcp://", "tcp6://["}) {
    size_t at = uri.find(scheme);
    if (at == std::string::npos)
      continue;
    at += std::string(scheme).size();
    size_t stop = uri.find_first_of(std::string(scheme) == "tcp://" ? ",:" : ",]", at);
    host = uri.substr(at, stop == std::string::npos ? stop : stop - at);
    return !host.empty() && stop != std::string::npos;
  }
  return false;
}

/// `prterun-node-7-4711@1`: Open MPI 5 names a job after the host of its mpirun and that one's process id.
bool parseNamespace(const std::string &name, uint64_t &pid, std::string &host) {
  size_t at = name.rfind('@'), last = name.rfind('-', at), first = name.find('-');
  if (at == std::string::npos || first == std::string::npos || last <= first + 1)
    return false;
  host = name.substr(first + 1, last - first - 1);
  auto [end, code] = std::from_chars(name.data() + last + 1, name.data() + at, pid);
  return code == std::errc() && end == name.data() + at;
}

Cluster findOpenMpi(const Lookup &lookup) {
  Finder finder(lookup, "Open MPI");
  uint64_t size = finder.number("OMPI_COMM_WORLD_SIZE"), rank = finder.number("OMPI_COMM_WORLD_RANK");
  finder.number("OMPI_COMM_WORLD_LOCAL_RANK");
  finder.setPlace(rank, size);
  if (finder.isGood() && size == 1)
    finder.refuse("the job has one process");
  if (finder.isGood() && !finder.has("OMPI_MCA_orte_hnp_uri") && finder.has("PMIX_NAMESPACE")) { // Open MPI 5
    std::string name = finder.text("PMIX_NAMESPACE"), host;
    uint64_t pid = 0;
    bool isOneHost = finder.has("OMPI_COMM_WORLD_LOCAL_SIZE") && finder.number("OMPI_COMM_WORLD_LOCAL_SIZE") == size;
    // Started in another way, such as by a resource manager: then the address has to be given.
    if (parseNamespace(name, pid, host)) {
      finder.cluster.coordinatorAddress = withPort(isOneHost ? "127.0.0.1" : host, portOf(pid));
      finder.cluster.jobId = "openmpi-" + name;
    }
  }
  if (finder.isGood() && finder.has("OMPI_MCA_orte_hnp_uri")) {
    std::string uri = finder.text("OMPI_MCA_orte_hnp_uri"), host;
    uint64_t job = 0;
    if (parseLauncher(uri, job, host)) {
      finder.cluster.coordinatorAddress = withPort(host, portOf(job / 4096));
      finder.cluster.jobId = "openmpi-" + std::to_string(job);
    } else {
      finder.refuse("OMPI_MCA_orte_hnp_uri is `" + uri + "`, which names no TCP address");
    }
  }
  return finder.finish();
}

/// mpiexec of MPICH and what descends from it (Hydra) says nothing of where it runs.
Cluster findMpich(const Lookup &lookup) {
  Finder finder(lookup, "MPICH");
  uint64_t size = finder.number("PMI_SIZE"), rank = finder.number("PMI_RANK");
  finder.setPlace(rank, size);
  if (finder.isGood() && size == 1)
    finder.refuse("the job has one process");
  return finder.finish();
}

/// An indexed job (or one of a JobSet) says which of its pods this is; how many there are, and which service name the
/// first one has, stands in its manifest.
Cluster findKubernetes(const Lookup &lookup) {
  Finder finder(lookup, "Kubernetes");
  finder.text("KUBERNETES_SERVICE_HOST");
  finder.cluster.processId = static_cast<int32_t>(finder.number("JOB_COMPLETION_INDEX"));
  return finder.finish();
}

Cluster findTorchrun(const Lookup &lookup) {
  Finder finder(lookup, "torchrun");
  uint64_t size = finder.number("WORLD_SIZE"), rank = finder.number("RANK");
  finder.number("LOCAL_RANK");
  std::string host = finder.text("MASTER_ADDR");
  uint64_t port = finder.number("MASTER_PORT", 65535);
  finder.setPlace(rank, size);
  if (finder.isGood() && size == 1)
    finder.refuse("the job has one process");
  // torchrun itself listens at MASTER_PORT.
  finder.cluster.coordinatorAddress = withPort(host, portOf(port));
  return finder.finish();
}

std::vector<std::string> splitCommas(const std::string &text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin)
      parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

Cluster findCloudTpu(const Lookup &lookup) {
  Finder finder(lookup, "Cloud TPU");
  uint64_t worker = finder.number("TPU_WORKER_ID");
  std::vector<std::string> hosts = splitCommas(finder.text("TPU_WORKER_HOSTNAMES"));
  uint64_t slices = 1, slice = 0;
  std::string first = hosts.empty() ? "" : hosts[0];
  if (finder.isGood() && finder.has("MEGASCALE_NUM_SLICES")) {
    slices = finder.number("MEGASCALE_NUM_SLICES");
    slice = finder.number("MEGASCALE_SLICE_ID");
    std::string coordinator = finder.text("MEGASCALE_COORDINATOR_ADDRESS");
    // With or without a port, which is not ours.
    first = coordinator.substr(0, coordinator.find(':'));
  }
  if (finder.isGood() && worker >= hosts.size())
    finder.refuse("TPU_WORKER_ID is " + std::to_string(worker) + ", but TPU_WORKER_HOSTNAMES has " +
                  std::to_string(hosts.size()) + " hosts");
  finder.setPlace(slice * hosts.size() + worker, slices * hosts.size());
  if (finder.isGood() && slices * hosts.size() == 1)
    finder.refuse("there is one host");
  finder.cluster.coordinatorAddress = withPort(first, "8476");
  return finder.finish();
}

} // namespace

std::vector<Cluster> findClusters(const Lookup &lookup) {
  return {findSlurm(lookup),      findOpenMpi(lookup),  findMpich(lookup),
          findKubernetes(lookup), findTorchrun(lookup), findCloudTpu(lookup)};
}

//===----------------------------------------------------------------------===//
// Lists of hosts
//===----------------------------------------------------------------------===//

namespace {

/// `007-009`: numbers keep the width of the first.
struct Range {
  uint64_t first = 0, last = 0;
  size_t width = 0;
};

std::optional<std::pair<uint64_t, size_t>> takeNumber(std::string_view &rest) {
  uint64_t number = 0;
  auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  auto digits = static_cast<size_t>(end - rest.data());
  if (code != std::errc() || digits == 0 || digits > 18)
    return std::nullopt;
  rest.remove_prefix(digits);
  return std::pair(number, digits);
}

/// What stands between brackets: `007-009,12`.
std::optional<std::vector<Range>> parseRanges(std::string_view rest) {
  std::vector<Range> ranges;
  for (;;) {
    auto first = takeNumber(rest);
    if (!first)
      return std::nullopt;
    Range range{first->first, first->first, first->second};
    if (!rest.empty() && rest.front() == '-') {
      rest.remove_prefix(1);
      auto last = takeNumber(rest);
      if (!last || last->first < range.first)
        return std::nullopt;
      range.last = last->first;
    }
    ranges.push_back(range);
    if (rest.empty())
      return ranges;
    if (rest.front() != ',')
      return std::nullopt;
    rest.remove_prefix(1);
  }
}

/// Appends each number of the ranges to each host; false where that makes too many.
bool appendNumbers(std::vector<std::string> &hosts, const std::vector<Range> &ranges, size_t limit) {
  uint64_t count = 0;
  for (const Range &range : ranges) {
    if (range.last - range.first >= limit)
      return false;
    count += range.last - range.first + 1;
  }
  if (count * hosts.size() > limit)
    return false;
  std::vector<std::string> result;
  for (const std::string &host : hosts)
    for (const Range &range : ranges)
      for (uint64_t number = range.first; number <= range.last; ++number) {
        std::string digits = std::to_string(number);
        result.push_back(host + std::string(range.width - std::min(range.width, digits.size()), '0') + digits);
      }
  hosts = std::move(result);
  return true;
}

/// One entry of a list, from `at` to the comma after it.
std::optional<std::vector<std::string>> expandEntry(std::string_view list, size_t &at, size_t limit) {
  std::vector<std::string> hosts{""};
  while (at < list.size() && list[at] != ',') {
    char c = list[at++];
    if (c == '[') {
      size_t close = list.find(']', at);
      if (close == std::string_view::npos)
        return std::nullopt;
      auto ranges = parseRanges(list.substr(at, close - at));
      if (!ranges || !appendNumbers(hosts, *ranges, limit))
        return std::nullopt;
      at = close + 1;
      continue;
    }
    bool isOfName = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                    c == '.' || c == '_' || c == ':';
    if (!isOfName)
      return std::nullopt;
    for (std::string &host : hosts)
      host += c;
  }
  if (hosts.front().empty() || hosts.front().size() > 255)
    return std::nullopt;
  return hosts;
}

} // namespace

std::optional<std::vector<std::string>> expandHostList(const std::string &list, size_t limit) {
  std::vector<std::string> all;
  if (list.size() > 16 * limit)
    return std::nullopt;
  for (size_t at = 0;; ++at) {
    auto hosts = expandEntry(list, at, limit - std::min(limit, all.size()));
    if (!hosts || all.size() + hosts->size() > limit)
      return std::nullopt;
    all.insert(all.end(), hosts->begin(), hosts->end());
    if (at == list.size())
      return all;
  }
}

} // namespace spmd
