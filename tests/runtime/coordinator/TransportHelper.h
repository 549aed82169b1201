//===- TransportHelper.h - real clients on free ports -----------*- C++ -*-===//
#pragma once

#include "runtime/coordinator/Client.h"
#include "runtime/support/Process.h"
#include "tests/support/Messages.h"

#include <functional>
#include <string>
#include <vector>

namespace spmd::test {

/// A listening socket on a port that the kernel chose.
struct Port {
  Port();
  std::string address; ///< `127.0.0.1:port`
  UniqueFd fd;
};

/// Returns options for process `process` of `numProcesses` at this port, with short time limits.
JoinOptions optionsFor(Port &port, int32_t process, int32_t numProcesses);

/// Runs one thread per process and returns the error of each ("" for none).
std::vector<std::string> runProcesses(int32_t numProcesses, const std::function<void(int32_t)> &body);

/// Returns all members of a job, joined by threads of this process.
std::vector<std::unique_ptr<Client>> joinAll(Port &port, int32_t numProcesses,
                                             const std::function<void(JoinOptions &)> &change = {});

/// All members leave together; none may fail.
void sayGoodbye(std::vector<std::unique_ptr<Client>> &clients);

/// Returns how long `body` takes, in seconds.
double secondsOf(const std::function<void()> &body);

/// Opens a TCP connection to the address, for tests that do not speak the protocol.
UniqueFd connectTo(const std::string &address);
/// Reads until the other side closes or `milliseconds` have passed; false in the latter case.
bool waitForClose(int fd, int milliseconds, std::string *received = nullptr);

} // namespace spmd::test
