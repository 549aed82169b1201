//===- Nccl.h - NVIDIA's library for transfers between GPUs -----*- C++ -*-===//
//
// libnccl.so.2 is opened by name. Only its sends and receives are used: they take the fastest way there is between two
// GPUs (NVLink, PCIe, InfiniBand, sockets). Reductions are our own (kernels/TreeReduce.cu), because NCCL's depend on
// the topology in their bits, drop NaN in max and min, and round 16-bit sums at each hop.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/DriverTypes.h"

#include <array>
#include <cstddef>
#include <memory>
#include <string>

namespace spmd::cuda {

using NcclResult = int;                   ///< ncclResult_t; 0 is success.
using NcclComm = struct NcclCommHandle *; ///< ncclComm_t.

inline constexpr NcclResult kNcclSuccess = 0, kNcclInProgress = 7;
/// ncclUint8: everything is sent as bytes.
inline constexpr int kNcclBytes = 1;

/// ncclUniqueId.
struct NcclId {
  std::array<char, 128> bytes;
};

/// The beginning of ncclConfig_t, as version 2.18 has it; the library takes what follows from its defaults.
struct NcclConfig {
  size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef;
  unsigned version = 21800;
  int blocking = 0; ///< Calls return at once, so that waits can have limits of our own.
  int clusterSize = kUndefined, minBlocks = kUndefined, maxBlocks = kUndefined;
  const char *network = nullptr;
  int splitShare = kUndefined;
  static constexpr int kUndefined = -2147483647 - 1; ///< NCCL_CONFIG_UNDEF_INT.
};

/// The functions that are used, with the names of nccl.h.
struct NcclEntries {
  NcclResult (*GetVersion)(int *) = nullptr;
  NcclResult (*GetUniqueId)(NcclId *) = nullptr;
  NcclResult (*CommInitRankConfig)(NcclComm *, int, NcclId, int, NcclConfig *) = nullptr;
  NcclResult (*CommGetAsyncError)(NcclComm, NcclResult *) = nullptr;
  NcclResult (*CommAbort)(NcclComm) = nullptr;
  NcclResult (*GroupStart)() = nullptr;
  NcclResult (*GroupEnd)() = nullptr;
  NcclResult (*Send)(const void *, size_t, int, int, NcclComm, Stream) = nullptr;
  NcclResult (*Recv)(void *, size_t, int, int, NcclComm, Stream) = nullptr;
  const char *(*GetErrorString)(NcclResult) = nullptr;
};

class Nccl : public NcclEntries {
public:
  /// Null where there is none; `whyNot` is then one sentence that says so. The library stays loaded.
  static std::shared_ptr<const Nccl> load(std::string *whyNot = nullptr);
  /// Of these functions, for tests.
  static std::shared_ptr<const Nccl> of(const NcclEntries &entries);

  /// `2.28.9`.
  std::string getVersion() const;
  /// Throws spmd::Error `what: text` unless the result is success, or that it goes on.
  void check(NcclResult result, const char *what) const;

private:
  Nccl() = default;
};

} // namespace spmd::cuda
