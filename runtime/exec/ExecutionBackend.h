//===- ExecutionBackend.h - runs plans on a kind of device ------*- C++ -*-===//
//
// One object for each loaded artifact: it holds the code, and creates a program for each device of this process. A new
// kind of device is an entry of the table in ExecutionBackend.cpp; docs/add-backend.md lists all other files to change,
// among them Device.h, PlanVerifier.cpp, compiler/Target.h, passes/pipeline/Pipeline.h and api/Job.cpp.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/exec/DeviceProgram.h"

#include <memory>

namespace spmd {

class ExecutionBackend {
public:
  virtual ~ExecutionBackend() = default;

  /// Creates the program of the device at this position of the mesh; called on the device's own thread.
  virtual std::unique_ptr<DeviceProgram> makeProgram(const ProgramContext &context, Device &device,
                                                     int64_t position) = 0;

  /// Creates the backend of the plan. `devices` are those of this process. Throws spmd::Error if the code does not run
  /// here, a symbol is missing, or a device is of another kind.
  static std::unique_ptr<ExecutionBackend> create(std::shared_ptr<const Artifact> artifact,
                                                  const std::vector<DeviceRef> &devices);
};

} // namespace spmd
