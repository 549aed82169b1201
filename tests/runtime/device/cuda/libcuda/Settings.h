//===- Settings.h - the GPUs of a process, for tests ------------*- C++ -*-===//
//
// Environment variables:
//
//   SPMD_TEST_GPUS=80,90            compute capabilities of the machine's cards
//   CUDA_VISIBLE_DEVICES=1,0        the cards of this process, as NVIDIA's driver reads it; without it all of them
//   SPMD_TEST_GPU_SEED=7            order of the work of different streams
//   SPMD_TEST_GPU_MEMORY=1000000    bytes of each card's memory
//   SPMD_TEST_GPU_DRIVER=12020      version of CUDA that the driver is for
//   SPMD_TEST_NCCL=22700            version of NCCL
//   SPMD_TEST_GPU_FAULTS=LaunchKernel:3:719,kernel:0:5,hang:0:9
//                                   the third launch is refused with error 719; the fifth kernel that runs on GPU 0
//                                   accesses an illegal address; the ninth never ends
//   SPMD_TEST_CUPTI=drop:3          CUPTI drops the third record of a kernel or copy
//   SPMD_TEST_CUPTI=refuse:39       CUPTI does not record, with this status
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/runtime/device/cuda/doubles/FakeCupti.h"
#include "tests/runtime/device/cuda/doubles/FakeDriver.h"

namespace spmd::cuda {

/// The version of NCCL that the variable names.
int readNcclVersion();

/// Returns what the variables describe. Ends the process, with a message, if one of them is invalid.
FakeDriverOptions readGpuSettings();

/// Prepares the faults that the variables list.
void prepareFaults(FakeDriver &driver);
void prepareFaults(FakeCupti &cupti);

} // namespace spmd::cuda
