// Client::join: checks the options before anything is opened, and constructs the kind of client that the job needs.

#include "runtime/coordinator/Client.h"

#include "runtime/artifact/Sha256.h"
#include "runtime/coordinator/Address.h"
#include "runtime/coordinator/LocalClient.h"
#include "runtime/coordinator/NetworkClient.h"
#include "runtime/support/Error.h"
#include "runtime/support/OutOfMemory.h"
#include "runtime/support/Process.h"

#include <algorithm>
#include <chrono>
#include <system_error>

namespace spmd {

using namespace coordinator;

static Error usage(const std::string &text) { return Error(text, Error::Kind::Usage); }

static void checkOptions(const JoinOptions &options) {
  if (options.numProcesses < 1 || options.numProcesses > maxProcesses)
    throw usage("num_processes is " + std::to_string(options.numProcesses) + ", but should be from 1 to " +
                std::to_string(maxProcesses));
  if (options.processId < 0 || options.processId >= options.numProcesses)
    throw usage("process_id is " + std::to_string(options.processId) + ", but should be from 0 to " +
                std::to_string(options.numProcesses - 1) + ", because num_processes is " +
                std::to_string(options.numProcesses));
  if (options.localDeviceIds.empty())
    throw usage("process " + std::to_string(options.processId) + " has no devices: local_device_ids is empty");
  if (options.address.empty() && options.numProcesses > 1)
    throw usage("coordinator_address is missing: with num_processes = " + std::to_string(options.numProcesses) +
                ", give the HOST:PORT of process 0");
  if (options.jobId.size() > 256)
    throw usage("job_id has " + std::to_string(options.jobId.size()) + " bytes; the limit is 256");
  if (options.initializationTimeout.count() <= 0)
    throw usage("initialization_timeout is " + std::to_string(options.initializationTimeout.count()) +
                " ms, but should be more than 0");
  if (options.heartbeatTimeout < 2 * heartbeatInterval)
    throw usage("heartbeat_timeout is " + std::to_string(options.heartbeatTimeout.count()) +
                " ms, but should be at least " + std::to_string(2 * heartbeatInterval.count()) +
                " ms: heartbeats are sent every " + std::to_string(heartbeatInterval.count()) + " ms");
  if (options.collectiveTimeout.count() < 0)
    throw usage("collective_timeout is " + std::to_string(options.collectiveTimeout.count()) +
                " ms, but should be at least 0 (never)");
}

/// Replaces large columns (a program's text of megabytes) by their hash. They still differ if the texts differ; only
/// the line cannot be named.
static void shortenColumns(std::vector<JoinColumn> &columns) {
  size_t total = 0;
  for (const JoinColumn &column : columns)
    total += column.value.size();
  if (total <= maxColumnBytes)
    return;
  for (JoinColumn &column : columns) {
    if (column.value.size() <= 1024)
      continue;
    column.value = std::to_string(column.value.size()) + " bytes, sha256 " + toHex(sha256({column.value}));
  }
}

std::unique_ptr<Client> Client::join(JoinOptions options) {
  keepMemoryReserve();
  checkOptions(options);
  if (!options.address.empty())
    parseAddress(options.address,
                 "coordinator_address"); // A wrong address is an error even if the job does not need it.
  if (options.numProcesses == 1)
    return std::make_unique<LocalClient>(options);
  shortenColumns(options.columns);
  try {
    return NetworkClient::join(std::move(options));
  } catch (const std::system_error &error) { // There are no descriptors, or no memory for them.
    throw Error("cannot join the job: " + systemErrorText(error.code().value()));
  }
}

void Client::tellFailure(JoinOptions options, const std::string &why) {
  constexpr std::chrono::milliseconds longest{10'000};
  options.initializationTimeout = std::min(options.initializationTimeout, longest);
  options.columns.clear();
  options.failure = why;
  try {
    checkOptions(options);
    if (options.numProcesses > 1)
      NetworkClient::join(std::move(options));
  } catch (const Error &) { // The verdict, unless telling it failed.
  }
}

} // namespace spmd
