//===- ExecutionBackend.h - what runs plans on one kind of device -*- C++ -*-===//
//
// One object for an artifact that is loaded: it holds the code, and makes a program for each device of this process. A
// new kind of device is an entry of the table in ExecutionBackend.cpp.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/exec/DeviceProgram.h"

#include <memory>

namespace spmd {

class ExecutionBackend {
public:
  virtual ~ExecutionBackend() = default;

  /// For the device at this position of the mesh; called on the device's own thread.
  virtual std::unique_ptr<DeviceProgram> makeProgram(const ProgramContext &context, Device &device,
                                                     int64_t position) = 0;

  /// For the plan's backend. `devices` are those of this process. Throws spmd::Error: the code does not run here, a
  /// symbol is missing, a device is of another kind.
  static std::unique_ptr<ExecutionBackend> create(std::shared_ptr<const Artifact> artifact,
                                                  const std::vector<DeviceRef> &devices);
};

} // namespace spmd
