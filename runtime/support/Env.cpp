#include "runtime/support/Env.h"

#include "runtime/support/ByteText.h"
#include "runtime/support/Error.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include <pwd.h>
#include <unistd.h>

extern char **environ; // Defined by POSIX, but declared in no header.

namespace spmd {

namespace {

using Lookup = std::function<std::optional<std::string>(const char *)>;

std::optional<int32_t> parseInteger(std::string_view text) {
  int32_t value = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

/// Reads variables by name; an empty variable counts as unset.
struct Reader {
  const Lookup &lookup;
  std::vector<std::string> *problems;

  void wrong(const char *name, const std::string &value, const char *expected) const {
    report(name, value, std::string("but should be ") + expected);
  }

  void report(const char *name, const std::string &value, const std::string &mistake) const {
    std::string text = std::string("environment variable ") + name + " is `" + value + "`, " + mistake;
    if (!problems)
      throw Error(text, Error::Kind::Usage);
    problems->push_back(text);
  }

  std::optional<std::string> text(const char *name) const {
    std::optional<std::string> value = lookup(name);
    return value && !value->empty() ? value : std::nullopt;
  }

  std::optional<int32_t> integer(const char *name, int32_t least, const char *expected) const {
    std::optional<std::string> value = text(name);
    if (!value)
      return std::nullopt;
    std::optional<int32_t> number = parseInteger(*value);
    if (number && *number >= least)
      return number;
    wrong(name, *value, expected);
    return std::nullopt;
  }

  std::optional<std::chrono::milliseconds> seconds(const char *name, bool zeroAllowed) const {
    std::optional<std::string> value = text(name);
    if (!value)
      return std::nullopt;
    double number = 0;
    auto [end, code] = std::from_chars(value->data(), value->data() + value->size(), number);
    bool whole = code == std::errc() && end == value->data() + value->size();
    if (!whole || !std::isfinite(number) || number < 0 || number > 1e9 || (number == 0 && !zeroAllowed)) {
      wrong(name, *value, zeroAllowed ? "a number of seconds, or 0 for never" : "a positive number of seconds");
      return std::nullopt;
    }
    return std::chrono::milliseconds(static_cast<int64_t>(std::ceil(number * 1000)));
  }

  std::optional<int64_t> bytes(const char *name) const {
    std::optional<std::string> value = text(name);
    std::optional<int64_t> number = value ? parseBytes(*value) : std::nullopt;
    if (value && !number)
      report(name, *value, "which " + bytesMistake(*value));
    return number;
  }

  std::optional<std::vector<int32_t>> integers(const char *name) const {
    std::optional<std::string> value = text(name);
    if (!value)
      return std::nullopt;
    std::vector<int32_t> numbers;
    for (std::string_view rest = *value;;) {
      size_t comma = rest.find(',');
      std::optional<int32_t> number = parseInteger(rest.substr(0, comma));
      if (!number || *number < 0) {
        wrong(name, *value, "a list of device numbers such as 0,1");
        return std::nullopt;
      }
      numbers.push_back(*number);
      if (comma == std::string_view::npos)
        return numbers;
      rest.remove_prefix(comma + 1);
    }
  }
};

std::string homeOfUserDatabase() {
  passwd entry = {};
  passwd *found = nullptr;
  std::vector<char> buffer(16384);
  if (getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found) != 0 || !found || !entry.pw_dir)
    return "";
  return entry.pw_dir;
}

/// Returns `$XDG_.../spmd`, or `~/.../spmd`. A relative path in the variable is ignored, as the XDG specification
/// demands.
std::optional<std::string> userFolder(const Reader &reader, const char *xdg, const char *underHome) {
  if (auto folder = reader.text(xdg); folder && folder->front() == '/')
    return *folder + "/spmd";
  std::string home = reader.text("HOME").value_or("");
  if (home.empty())
    home = homeOfUserDatabase();
  if (home.empty() || home.front() != '/')
    return std::nullopt;
  return home + "/" + underHome + "/spmd";
}

/// Fills items that SPMD_* variables leave open from the first cluster that is found; if there is none, reports what is
/// wrong with the clusters whose variables are set.
void fillFromCluster(Environment &result) {
  // A cluster without a number of processes is only used if the user gives the number: pods of an indexed job may work
  // independently.
  auto isUsable = [&](const Cluster &each) { return each.isFound() && (each.numProcesses || result.numProcesses); };
  auto cluster = std::find_if(result.clusters.begin(), result.clusters.end(), isUsable);
  if (cluster != result.clusters.end()) {
    auto fill = [](auto &item, const auto &found) { item = item ? item : found; };
    fill(result.coordinatorAddress, cluster->coordinatorAddress);
    fill(result.numProcesses, cluster->numProcesses);
    fill(result.processId, cluster->processId);
    fill(result.jobId, cluster->jobId);
    return;
  }
  if (result.coordinatorAddress && result.numProcesses && result.processId)
    return;
  bool isGiven = result.coordinatorAddress || result.numProcesses || result.processId;
  for (const Cluster &each : result.clusters) {
    if (each.standing == Cluster::Standing::Contradictory && result.clusterError.empty())
      result.clusterError = each.name +
                            "'s variables say that this process is one of several, and are wrong: " + each.whyNot +
                            "; correct or unset them, or give num_processes (SPMD_NUM_PROCESSES), which is 1 for a "
                            "process alone, else with coordinator_address and process_id";
    bool isDoubtful = each.standing == Cluster::Standing::Doubtful || each.isFound();
    if (isDoubtful && !isGiven && result.clusterWarning.empty())
      result.clusterWarning = "this process runs alone, although it may be one of several: it has variables of " +
                              each.name + ", but " + (each.isFound() ? Cluster::lacksCount : each.whyNot) +
                              "; set SPMD_NUM_PROCESSES, which is 1 for a process alone";
  }
}

} // namespace

Environment Environment::parse(const Lookup &lookup, std::vector<std::string> *problems, bool isAlone) {
  Reader reader{lookup, problems};
  Environment result;
  result.coordinatorAddress = reader.text("SPMD_COORDINATOR_ADDRESS");
  result.coordinatorBindAddress = reader.text("SPMD_COORDINATOR_BIND_ADDRESS");
  result.numProcesses = reader.integer("SPMD_NUM_PROCESSES", 1, "a number of processes, at least 1");
  result.processId = reader.integer("SPMD_PROCESS_ID", 0, "the number of a process, at least 0");
  result.localDeviceIds = reader.integers("SPMD_LOCAL_DEVICE_IDS");
  result.devicesPerProcess = reader.integer("SPMD_DEVICES_PER_PROCESS", 1, "a number of devices, at least 1");
  result.initializationTimeout = reader.seconds("SPMD_INITIALIZATION_TIMEOUT", false);
  result.heartbeatTimeout = reader.seconds("SPMD_HEARTBEAT_TIMEOUT", false);
  result.collectiveTimeout = reader.seconds("SPMD_COLLECTIVE_TIMEOUT", true);
  result.jobId = reader.text("SPMD_JOB_ID");
  result.clusters = findClusters(lookup);
  if (!isAlone && result.numProcesses != 1)
    fillFromCluster(result);
  result.hostId = reader.text("SPMD_HOST_ID");
  result.token = reader.text("SPMD_TOKEN");
  result.tokenFile = reader.text("SPMD_TOKEN_FILE");
  result.tlsCert = reader.text("SPMD_TLS_CERT");
  result.tlsKey = reader.text("SPMD_TLS_KEY");
  result.tlsCa = reader.text("SPMD_TLS_CA");
  result.statusToken = reader.text("SPMD_STATUS_TOKEN");
  result.coordinatorFd = reader.integer("SPMD_COORDINATOR_FD", 0, "a file descriptor");
  result.launcherFd = reader.integer("SPMD_LAUNCHER_FD", 0, "a file descriptor");
  result.resumes = reader.text("SPMD_RESUME").has_value();
  result.restartCount = reader.integer("SPMD_RESTART_COUNT", 0, "a number of restarts");
  result.cacheDirectory = reader.text("SPMD_CACHE_DIR");
  result.isCacheDirectoryNamed = result.cacheDirectory.has_value();
  if (!result.cacheDirectory)
    result.cacheDirectory = userFolder(reader, "XDG_CACHE_HOME", ".cache");
  result.noCache = reader.text("SPMD_NO_CACHE").value_or("0") != "0";
  result.cacheLimit = reader.bytes("SPMD_CACHE_LIMIT").value_or(result.cacheLimit);
  result.configDirectory = userFolder(reader, "XDG_CONFIG_HOME", ".config");
  result.noColor = reader.text("NO_COLOR").has_value();
  result.platform = reader.text("SPMD_PLATFORM");
  result.hasNcclHostId = reader.text("NCCL_HOSTID").has_value();
  result.sharesGpus = reader.text("SPMD_SHARE_GPUS").value_or("0") != "0";
  result.cudaToolkit = reader.text("CUDA_HOME");
  if (!result.cudaToolkit)
    result.cudaToolkit = reader.text("CUDA_PATH");
  return result;
}

static std::optional<std::string> lookUp(const char *name) {
  const char *value = getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

/// Returns the names of all variables.
static std::vector<std::string> allNames() {
  std::vector<std::string> names;
  for (char **entry = environ; entry && *entry; ++entry)
    names.emplace_back(*entry, std::string_view(*entry).find('='));
  return names;
}

Environment Environment::read(bool isAlone, std::vector<std::string> *problems) {
  Environment result = parse(lookUp, problems, isAlone);
  if (!result.launcherFd)
    result.misspelt = findMisspelt(allNames());
  return result;
}

std::string Environment::explain() { return explain(lookUp, allNames()); }

std::vector<std::string>
environmentWith(const std::vector<std::pair<std::string, std::optional<std::string>>> &changes) {
  std::vector<std::string> result;
  for (char **entry = environ; entry && *entry; ++entry) {
    std::string_view text = *entry;
    std::string_view name = text.substr(0, text.find('='));
    bool changed = false;
    for (const auto &[key, value] : changes)
      changed |= key == name;
    if (!changed)
      result.emplace_back(text);
  }
  for (const auto &[key, value] : changes)
    if (value)
      result.push_back(key + "=" + *value);
  return result;
}

} // namespace spmd
