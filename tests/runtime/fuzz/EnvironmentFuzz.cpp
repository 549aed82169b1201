// Environment variables of clusters and users: Slurm's lists of hosts, addresses, numbers. The input is split at
// newlines into the values of all variables that are read.

#include "runtime/coordinator/Address.h"
#include "runtime/support/Cluster.h"
#include "runtime/support/Env.h"
#include "runtime/support/HostList.h"
#include "tests/runtime/fuzz/FuzzSupport.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view rest(reinterpret_cast<const char *>(data), size);
  auto next = [&](const char *) -> std::optional<std::string> {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.empty())
      return std::nullopt;
    return std::string(line.substr(0, line.find('\0')));
  };
  std::string all(rest);
  spmd::expandHostList(all);
  try {
    spmd::coordinator::parseAddress(all, "address");
  } catch (const spmd::Error &) {
  }
  try {
    spmd::Environment::parse(next);
  } catch (const spmd::Error &) {
  }
  return 0;
}
