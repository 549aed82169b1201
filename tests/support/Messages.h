//===- Messages.h - messages of errors --------------------------*- C++ -*-===//
#pragma once

#include "runtime/support/Error.h"

#include <functional>
#include <string>

namespace spmd::test {

/// Returns the message of the spmd::Error that the action throws, or `no error`.
inline std::string messageOf(const std::function<void()> &action) {
  try {
    action();
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

} // namespace spmd::test
