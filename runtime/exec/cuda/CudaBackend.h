//===- CudaBackend.h - plans on GPUs ----------------------------*- C++ -*-===//
#pragma once

#include "runtime/exec/ExecutionBackend.h"

namespace spmd {

std::unique_ptr<ExecutionBackend> createCudaBackend(std::shared_ptr<const Artifact> artifact,
                                                    const std::vector<DeviceRef> &devices);

} // namespace spmd
