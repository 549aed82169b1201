//===- GpuCollective.h - one prepared collective of one GPU -----*- C++ -*-===//
//
// Every collective consists of sends and receives of bytes, with kernels of our own before and after: boxes that are
// not contiguous are packed, and operands of a reduction arrive as one array for each member and are reduced by the
// tree of Reduce.h. So the bits equal those of the same collective on CPUs. An all_reduce is a reduce_scatter of equal
// slices and an all_gather of them; in a small one each device sends its operand to all others, in one round instead of
// two.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/collective/Movement.h"
#include "runtime/collective/nccl/NcclGroup.h"
#include "runtime/device/cuda/BoxEntry.h"
#include "runtime/device/cuda/CudaDevice.h"

#include <memory>
#include <vector>

namespace spmd::cuda {

/// Boxes that one launch copies between two arrays, or sets to zero.
struct BoxList {
  std::vector<BoxEntry> entries; ///< In bytes, until `finish` converts them to units.
  int64_t unitBytes = 1, blocksPerBox = 1;
  DeviceBufferRef table;

  bool empty() const { return entries.empty(); }
  void add(const Box &box, int64_t sourceOffset, const std::vector<int64_t> &sourceStrides, int64_t targetOffset,
           const std::vector<int64_t> &targetStrides);
  /// Chooses the unit, and copies the table to the device.
  void finish(CudaDevice &device);
  void copy(const LibraryLauncher &launcher, DevicePointer source, DevicePointer target) const;
  void zero(const LibraryLauncher &launcher, DevicePointer target) const;

private:
  void launch(const char *name, const LibraryLauncher &launcher, DevicePointer source, DevicePointer target) const;
};

/// Only the thread of the device uses it, with its GPU current.
class GpuCollective {
public:
  GpuCollective(NcclGroup &group, NcclComm comm, CudaDevice &device, const MeshShape &mesh, const CollectiveDesc &desc,
                int64_t position);

  /// Bytes of device memory, aligned to 256, that `run` needs.
  int64_t getScratchBytes() const { return scratchBytes; }

  /// Queues the collective on `stream`. `result` may be `operand` for an all_reduce, and must not overlap it otherwise.
  void run(Stream stream, DevicePointer operand, DevicePointer result, DevicePointer scratch) const;

private:
  /// Data for a peer or from it: bytes of a packed array, or of the array itself.
  struct Part {
    int rank = 0;
    int64_t offset = 0, bytes = 0;
    bool isPacked = false;
  };
  struct Exchange {
    std::vector<Part> sends, receives;
    BoxList pack, unpack;
    int64_t packedSendBytes = 0, packedReceiveBytes = 0;
  };

  void loadKernels() const;
  std::string getReduceModule() const;
  std::string getReduceKernel() const;
  void prepareMoves(const MeshShape &mesh, const CollectiveDesc &desc, const Movement &own);
  void prepareReduceScatter(const MeshShape &mesh, const CollectiveDesc &desc, const Movement &own);
  void runMoves(Stream stream, DevicePointer operand, DevicePointer result, DevicePointer scratch) const;
  void runAllReduce(Stream stream, DevicePointer operand, DevicePointer result, DevicePointer scratch) const;
  void runReduceScatter(Stream stream, DevicePointer operand, DevicePointer result, DevicePointer scratch) const;
  void reduce(const LibraryLauncher &launcher, DevicePointer slabs, int64_t pitchBytes, DevicePointer target,
              int64_t bytes) const;
  void send(const Part &part, DevicePointer array, DevicePointer packed, Stream stream) const;
  void receive(const Part &part, DevicePointer array, DevicePointer packed, Stream stream) const;
  class Round;

  NcclGroup &group;
  const NcclComm comm;
  CudaDevice &device;
  const CollectiveKind kind;
  const ReductionKind reduction;
  const DType dtype;
  const int64_t elementBytes;
  std::vector<int> ranks; ///< NCCL ranks of the members.
  int64_t self = 0, operandBytes = 0, resultBytes = 0, scratchBytes = 0;
  int64_t sliceBytes = 0; ///< all_reduce in two rounds: bytes of a member's slice; 0: one round.
  int64_t reducedBytes = 0, slabBytes = 0;
  bool isReducedInPlace = false; ///< The reduced data is one run of the result.
  int64_t reducedOffset = 0;
  Exchange exchange;
  BoxList own, zeros;
};

} // namespace spmd::cuda
