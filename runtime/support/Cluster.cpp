#include "runtime/support/Cluster.h"

#include "runtime/support/HostList.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

namespace spmd {
namespace {

using Lookup = std::function<std::optional<std::string>(const char *)>;

/// JAX uses the same range: ports that the system does not assign by itself. Each job gets its own port.
std::string portOf(uint64_t number) { return std::to_string(61440 + number % 4096); }

std::string withPort(const std::string &host, const std::string &port) {
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + port;
}

/// Collects the variables of one cluster; the first missing or wrong one determines why this is not the cluster.
class Finder {
public:
  /// `isNamedClearly`: no other software uses variables of these names.
  Finder(const Lookup &lookup, std::string name, bool isNamedClearly = true)
      : lookup(lookup), isNamedClearly(isNamedClearly) {
    cluster.name = std::move(name);
  }

  std::string text(const char *name) {
    std::optional<std::string> value = lookup(name);
    if (!value || value->empty()) {
      lacksVariable |= isGood();
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
    std::optional<uint64_t> result = peek(name, limit);
    if (!value.empty() && !result)
      refuse(std::string(name) + " is `" + value + "`, which is not a valid number");
    return result.value_or(0);
  }
  /// Returns the value of a variable if it is a number.
  std::optional<uint64_t> peek(const char *name, uint64_t limit = INT32_MAX) const {
    std::string value = lookup(name).value_or("");
    uint64_t result = 0;
    auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), result);
    bool isNumber = code == std::errc() && end == value.data() + value.size() && result <= limit;
    return isNumber ? std::optional(result) : std::nullopt;
  }
  void refuse(const std::string &why) {
    if (cluster.whyNot.empty())
      cluster.whyNot = why;
  }
  bool isGood() const { return cluster.whyNot.empty(); }
  void setProcess(uint64_t processId, uint64_t numProcesses) {
    if (isGood() && processId >= numProcesses)
      refuse("process " + std::to_string(processId) + " of " + std::to_string(numProcesses) + " does not exist");
    cluster.processId = static_cast<int32_t>(processId);
    cluster.numProcesses = static_cast<int32_t>(numProcesses);
  }
  /// Sets the standing of a cluster that was not found, by the variables with this process's number and the number of
  /// processes, `count`.
  void judge(const char *idName, const char *countName, std::optional<uint64_t> count) {
    bool hasBoth = has(idName) && has(countName), hasOne = has(idName) || has(countName);
    bool isSeveral = count.value_or(0) > 1 || peek(idName).value_or(0) > 0;
    if (isGood())
      return;
    if (hasBoth && isSeveral && (isNamedClearly || !lacksVariable))
      cluster.standing = Cluster::Standing::Contradictory;
    else if ((hasBoth || (hasOne && isNamedClearly)) && (isSeveral || (has(countName) && !count)))
      cluster.standing = Cluster::Standing::Doubtful;
  }
  Cluster finish() {
    if (isGood())
      cluster.standing = Cluster::Standing::Found;
    if (cluster.isFound())
      return std::move(cluster);
    return Cluster{.name = cluster.name, .standing = cluster.standing, .whyNot = cluster.whyNot};
  }

  Cluster cluster;

private:
  const Lookup &lookup;
  const bool isNamedClearly;
  bool lacksVariable = false; ///< A missing variable is the reason.
};

Cluster findSlurm(const Lookup &lookup) {
  Finder finder(lookup, "Slurm");
  uint64_t job = finder.number("SLURM_JOB_ID", UINT32_MAX);
  if (finder.isGood() && !finder.has("SLURM_STEP_NODELIST"))
    finder.refuse("SLURM_STEP_NODELIST is not set: processes of a job are started with srun");
  std::string nodes = finder.text("SLURM_STEP_NODELIST");
  uint64_t tasks = finder.number("SLURM_NTASKS"), task = finder.number("SLURM_PROCID");
  finder.number("SLURM_LOCALID");
  finder.setProcess(task, tasks);
  auto hosts = expandHostList(nodes);
  if (finder.isGood() && !hosts)
    finder.refuse("SLURM_STEP_NODELIST is `" + nodes + "`, which is not a list of hosts");
  if (finder.isGood() && (tasks == 1 || finder.peek("SLURM_STEP_NUM_TASKS") == 1))
    finder.refuse("the step has one task");
  if (finder.isGood() && hosts->size() > tasks)
    finder.refuse("SLURM_STEP_NODELIST has " + std::to_string(hosts->size()) + " hosts, but SLURM_NTASKS is " +
                  std::to_string(tasks));
  // A shell or script in an allocation has no step; the shell of an interactive step has the allocation's tasks.
  if (finder.has("SLURM_STEP_NODELIST") && finder.peek("SLURM_STEP_NUM_TASKS") != 1)
    finder.judge("SLURM_PROCID", "SLURM_NTASKS", finder.peek("SLURM_NTASKS"));
  finder.cluster.coordinatorAddress = withPort(hosts ? hosts->front() : "", portOf(job));
  // Steps of a job share its port: without the step's number, processes of two steps would join one another.
  std::optional<uint64_t> step = finder.peek("SLURM_STEP_ID", UINT32_MAX);
  finder.cluster.jobId = "slurm-" + std::to_string(job) + (step ? "." + std::to_string(*step) : "");
  return finder.finish();
}

/// Parses `1531576320.0;tcp://10.96.0.1,10.148.0.1:34911` or `...;tcp6://[fe80::1,fd00::1]:34911`: mpirun's address.
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

/// Parses `prterun-node-7-4711@1`: Open MPI 5 names a job after the host and the process id of its mpirun.
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
  finder.setProcess(rank, size);
  if (finder.isGood() && size == 1)
    finder.refuse("the job has one process");
  if (finder.isGood() && !finder.has("OMPI_MCA_orte_hnp_uri") && finder.has("PMIX_NAMESPACE")) { // Open MPI 5
    std::string name = finder.text("PMIX_NAMESPACE"), host;
    uint64_t pid = 0;
    bool isOneHost = finder.has("OMPI_COMM_WORLD_LOCAL_SIZE") && finder.number("OMPI_COMM_WORLD_LOCAL_SIZE") == size;
    // Started in another way, such as by a resource manager: then the user has to give the address.
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
      finder.refuse("OMPI_MCA_orte_hnp_uri is `" + uri + "`, which has no TCP address");
    }
  }
  finder.judge("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", finder.peek("OMPI_COMM_WORLD_SIZE"));
  return finder.finish();
}

/// mpiexec of MPICH and its descendants (Hydra) do not publish the address at which they run.
Cluster findMpich(const Lookup &lookup) {
  Finder finder(lookup, "MPICH");
  uint64_t size = finder.number("PMI_SIZE"), rank = finder.number("PMI_RANK");
  finder.setProcess(rank, size);
  if (finder.isGood() && size == 1)
    finder.refuse("the job has one process");
  finder.judge("PMI_RANK", "PMI_SIZE", finder.peek("PMI_SIZE"));
  return finder.finish();
}

/// An indexed job (or one of a JobSet) tells each pod its index. Only its manifest has the number of pods and the
/// service name of the first one.
Cluster findKubernetes(const Lookup &lookup) {
  Finder finder(lookup, "Kubernetes");
  finder.text("KUBERNETES_SERVICE_HOST");
  finder.cluster.processId = static_cast<int32_t>(finder.number("JOB_COMPLETION_INDEX"));
  if (!finder.isGood() && finder.has("KUBERNETES_SERVICE_HOST") && finder.has("JOB_COMPLETION_INDEX"))
    finder.cluster.standing = Cluster::Standing::Doubtful;
  return finder.finish();
}

Cluster findTorchrun(const Lookup &lookup) {
  // Much software other than torchrun sets RANK and WORLD_SIZE.
  Finder finder(lookup, "torchrun", /*isNamedClearly=*/false);
  uint64_t size = finder.number("WORLD_SIZE"), rank = finder.number("RANK");
  finder.number("LOCAL_RANK");
  std::string host = finder.text("MASTER_ADDR");
  uint64_t port = finder.number("MASTER_PORT", 65535);
  finder.setProcess(rank, size);
  if (finder.isGood() && size == 1)
    finder.refuse("the job has one process");
  finder.judge("RANK", "WORLD_SIZE", finder.peek("WORLD_SIZE"));
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

/// Removes the port of `host:8476` or `[fd00::1]:8476`; also accepts a host alone.
std::string withoutPort(const std::string &address) {
  if (address.starts_with("["))
    return address.substr(1, address.find(']') - 1);
  size_t colon = address.find(':');
  return address.substr(0, colon == address.rfind(':') ? colon : std::string::npos);
}

Cluster findCloudTpu(const Lookup &lookup) {
  Finder finder(lookup, "Cloud TPU");
  uint64_t worker = finder.number("TPU_WORKER_ID");
  // The same list, with the ports of the TPUs' own runtime, which this runtime does not use.
  bool hasAddresses = !finder.has("TPU_WORKER_HOSTNAMES") && finder.has("TPU_PROCESS_ADDRESSES");
  const char *list = hasAddresses ? "TPU_PROCESS_ADDRESSES" : "TPU_WORKER_HOSTNAMES";
  std::vector<std::string> hosts = splitCommas(finder.text(list));
  uint64_t slices = 1, slice = 0;
  std::string first = hosts.empty() ? "" : withoutPort(hosts[0]);
  if (finder.isGood() && finder.has("MEGASCALE_NUM_SLICES")) {
    slices = finder.number("MEGASCALE_NUM_SLICES");
    slice = finder.number("MEGASCALE_SLICE_ID");
    std::string coordinator = finder.text("MEGASCALE_COORDINATOR_ADDRESS");
    first = withoutPort(coordinator);
  }
  if (finder.isGood() && worker >= hosts.size())
    finder.refuse("TPU_WORKER_ID is " + std::to_string(worker) + ", but " + list + " has " +
                  std::to_string(hosts.size()) + " hosts");
  finder.setProcess(slice * hosts.size() + worker, slices * hosts.size());
  if (finder.isGood() && slices * hosts.size() == 1)
    finder.refuse("there is one host");
  finder.judge("TPU_WORKER_ID", list,
               std::max<uint64_t>(hosts.size(), finder.peek("MEGASCALE_NUM_SLICES").value_or(1)));
  finder.cluster.coordinatorAddress = withPort(first, "8476");
  return finder.finish();
}

} // namespace

std::vector<Cluster> findClusters(const Lookup &lookup) {
  Cluster slurm = findSlurm(lookup);
  // A launcher within a step of Slurm passes the step's variables, which describe the launcher's own daemons, to its
  // processes. If both give the same numbers, the step started the processes directly, and knows their hosts.
  auto startsWithin = [&](const Cluster &cluster) {
    return slurm.standing >= Cluster::Standing::Contradictory && cluster.isFound() &&
           std::pair(cluster.numProcesses, cluster.processId) != std::pair(slurm.numProcesses, slurm.processId);
  };
  std::vector<Cluster> clusters{slurm};
  auto add = [&](Cluster cluster, bool isStarter) {
    bool isFirst = isStarter && startsWithin(cluster) && clusters.front().name == slurm.name;
    clusters.insert(isFirst ? clusters.begin() : clusters.end(), std::move(cluster));
  };
  add(findOpenMpi(lookup), true);
  add(findMpich(lookup), true);
  add(findKubernetes(lookup), false);
  add(findTorchrun(lookup), lookup("TORCHELASTIC_RUN_ID").has_value()); // Scripts set the other variables themselves.
  add(findCloudTpu(lookup), false);
  return clusters;
}

} // namespace spmd
