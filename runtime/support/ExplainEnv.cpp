//===- ExplainEnv.cpp - the environment in words --------------------------===//

#include "runtime/support/Env.h"

#include <algorithm>

namespace spmd {
namespace {

using Lookup = std::function<std::optional<std::string>(const char *)>;

std::string textOf(const std::optional<std::string> &value) { return value.value_or("not set"); }
std::string textOf(const std::optional<int32_t> &value) { return value ? std::to_string(*value) : "not set"; }

class Explanation {
public:
  Explanation(const Lookup &lookup, const std::vector<std::string> &names)
      : lookup(lookup), found(Environment::parse(lookup, &problems)) {
    for (std::string &misspelt : Environment::findMisspelt(names))
      problems.push_back(std::move(misspelt));
  }

  std::string write() {
    show("SPMD_COORDINATOR_ADDRESS", found.coordinatorAddress);
    show("SPMD_NUM_PROCESSES", found.numProcesses);
    show("SPMD_PROCESS_ID", found.processId);
    show("SPMD_DEVICES_PER_PROCESS", found.devicesPerProcess);
    show("SPMD_PLATFORM", found.platform);
    show("SPMD_JOB_ID", found.jobId);
    for (const Cluster &cluster : found.clusters)
      showCluster(cluster);
    findContradictions();
    for (const std::string &problem : problems)
      text += "wrong: " + problem + "\n";
    text += conclusion() + "\n";
    return std::move(text);
  }

private:
  template <typename Value> void show(const char *name, const std::optional<Value> &value) {
    text += std::string(name) + ": " + textOf(value) + "\n";
  }

  bool isSet(const char *name) const { return !lookup(name).value_or("").empty(); }

  void showCluster(const Cluster &cluster) {
    text += cluster.name + ": ";
    if (!cluster.isFound())
      text += "no: " + cluster.whyNot;
    else if (!cluster.numProcesses && !found.numProcesses)
      text += std::string("found, but not used: ") + Cluster::lacksCount + "; set SPMD_NUM_PROCESSES";
    else if (used)
      text += "found, but not used: " + used->name + " comes before it";
    else if (found.numProcesses == 1)
      text += "found, but not used: SPMD_NUM_PROCESSES is 1";
    else
      text += "found";
    text += "\n";
    if (used || !cluster.isFound() || !(cluster.numProcesses || found.numProcesses))
      return;
    used = &cluster;
    compare("SPMD_COORDINATOR_ADDRESS", found.coordinatorAddress, cluster.coordinatorAddress);
    compare("SPMD_NUM_PROCESSES", found.numProcesses, cluster.numProcesses);
    compare("SPMD_PROCESS_ID", found.processId, cluster.processId);
  }

  template <typename Value>
  void compare(const char *name, const std::optional<Value> &given, const std::optional<Value> &cluster) {
    if (isSet(name) && given && cluster && *given != *cluster)
      text += std::string("  ") + name + " is set, and has precedence over " + used->name +
              "'s value: " + textOf(cluster) + "\n";
  }

  void findContradictions() {
    if (found.processId && found.numProcesses && *found.processId >= *found.numProcesses)
      problems.push_back("process " + textOf(found.processId) + " of " + textOf(found.numProcesses) +
                         " does not exist: SPMD_PROCESS_ID is from 0 to " + std::to_string(*found.numProcesses - 1));
    if (found.coordinatorAddress && found.coordinatorAddress->rfind(':') == std::string::npos)
      problems.push_back("SPMD_COORDINATOR_ADDRESS is `" + *found.coordinatorAddress +
                         "`, but should be HOST:PORT: the port is missing");
    if (isSet("SPMD_TOKEN") && isSet("SPMD_TOKEN_FILE"))
      problems.push_back("SPMD_TOKEN and SPMD_TOKEN_FILE are both set: the file is used");
    int tls = found.tlsCert.has_value() + found.tlsKey.has_value() + found.tlsCa.has_value();
    if (tls != 0 && tls != 3)
      problems.push_back("TLS needs all of SPMD_TLS_CERT, SPMD_TLS_KEY and SPMD_TLS_CA, and " + std::to_string(tls) +
                         (tls == 1 ? " is" : " are") + " set");
    auto ids = found.localDeviceIds;
    if (ids && found.devicesPerProcess &&
        std::any_of(ids->begin(), ids->end(), [&](int32_t id) { return id >= *found.devicesPerProcess; }))
      problems.push_back("SPMD_LOCAL_DEVICE_IDS has numbers that are not below SPMD_DEVICES_PER_PROCESS, which is " +
                         textOf(found.devicesPerProcess));
  }

  std::string conclusion() const {
    if (found.numProcesses == 1)
      return "one process on this machine";
    std::string missing;
    auto need = [&](const char *name, bool isThere) {
      if (!isThere)
        missing += (missing.empty() ? "" : ", ") + std::string(name);
    };
    need("SPMD_COORDINATOR_ADDRESS", found.coordinatorAddress.has_value());
    need("SPMD_NUM_PROCESSES", found.numProcesses.has_value());
    need("SPMD_PROCESS_ID", found.processId.has_value());
    if (missing.empty())
      return "a process of a cluster";
    if (!found.clusterError.empty())
      return "cannot tell which process this is: " + found.clusterError;
    if (!found.clusterWarning.empty())
      return found.clusterWarning;
    bool isNothing = !found.coordinatorAddress && !found.processId;
    if (isNothing && !found.numProcesses)
      return "one process on this machine";
    return "not enough to join a job: " + missing + " (or the option of that name) is missing" +
           (isNothing ? "; run starts the processes here" : "");
  }

  const Lookup &lookup;
  std::vector<std::string> problems;
  const Environment found;
  const Cluster *used = nullptr;
  std::string text;
};

} // namespace

std::string Environment::explain(const Lookup &lookup, const std::vector<std::string> &names) {
  return Explanation(lookup, names).write();
}

} // namespace spmd
