//===- OwnProcess.h - checks in processes of their own ---------------*- C++ -*-===//
#pragma once

#include <functional>
#include <string>

namespace spmdc {

/// Runs the check in a forked process, so that a crash or a hang of the compiler is a failure like any other. Returns
/// "" on success.
std::string runInOwnProcess(const std::function<std::string()> &check, int timeoutSeconds = 60);

} // namespace spmdc
