//===- CpuBackend.h - plans on CPU devices ----------------------*- C++ -*-===//
#pragma once

#include "runtime/exec/ExecutionBackend.h"

namespace spmd {

std::unique_ptr<ExecutionBackend> createCpuBackend(std::shared_ptr<const Artifact> artifact,
                                                   const std::vector<DeviceRef> &devices);

} // namespace spmd
