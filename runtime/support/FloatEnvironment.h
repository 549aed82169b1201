//===- FloatEnvironment.h - how a thread computes with floats ---*- C++ -*-===//
#pragma once

#include <cfenv>

namespace spmd {

/// While it lives, the calling thread rounds to nearest, keeps subnormal numbers, and traps no floating-point
/// exception, whatever the application has set. A program's bits may not depend on the thread that runs it.
class DefaultFloatEnvironment {
public:
  DefaultFloatEnvironment() {
    std::fegetenv(&old);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatEnvironment() { std::fesetenv(&old); }
  DefaultFloatEnvironment(const DefaultFloatEnvironment &) = delete;
  DefaultFloatEnvironment &operator=(const DefaultFloatEnvironment &) = delete;

private:
  std::fenv_t old;
};

} // namespace spmd
