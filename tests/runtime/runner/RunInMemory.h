//===- RunInMemory.h - a run of no program ----------------------*- C++ -*-===//
#pragma once

#include "runtime/runner/PreparedRun.h"

#include <sstream>

namespace spmd::test {

/// A run whose messages go to `err`. It is prepared by the tests, which set its options and environment.
struct RunInMemory {
  std::ostringstream out, err;
  RunRequest request{
      .load = [](std::ostream &) { return nullptr; }, .columns = {}, .childCommand = {}, .out = out, .err = err};
  PreparedRun run{RunOptions(), request};
};

} // namespace spmd::test
