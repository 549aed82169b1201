//===- Shell.h - commands and their output ----------------------*- C++ -*-===//
#pragma once

#include <array>
#include <cstdio>
#include <string>

#include <sys/wait.h>

namespace spmd::test {

struct Printed {
  int status = -1;  ///< -1: it was killed, or could not be started.
  std::string text; ///< stdout and stderr.
};

/// Runs a shell command to its end.
inline Printed shell(const std::string &command) {
  Printed outcome;
  FILE *pipe = popen(("( " + command + " ) 2>&1").c_str(), "r");
  if (!pipe)
    return outcome;
  std::array<char, 4096> buffer;
  while (size_t count = fread(buffer.data(), 1, buffer.size(), pipe))
    outcome.text.append(buffer.data(), count);
  int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

} // namespace spmd::test
