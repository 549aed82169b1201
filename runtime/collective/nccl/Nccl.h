//===- Nccl.h - NVIDIA's library for transfers between GPUs -----*- C++ -*-===//
//
// Opens libnccl.so.2 by name. Only its sends and receives are used: they take the fastest path between two GPUs
// (NVLink, PCIe, InfiniBand, sockets). Reductions are our own (kernels/TreeReduce.cu), because the bits of NCCL's
// depend on the topology, its max and min drop NaN, and it rounds 16-bit sums at each hop.
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
/// 2.27. Earlier versions crash here: up to 2.22, sends write to the memory of another GPU in the same process, which
/// pools do not allow; from 2.19 to 2.25, asking for errors leaves a finished group in the thread's state.
inline constexpr int kNcclLeastVersion = 22700;
/// ncclUint8: all data is sent as bytes.
inline constexpr int kNcclBytes = 1;

/// ncclUniqueId.
struct NcclId {
  std::array<char, 128> bytes;
};

/// The first fields of ncclConfig_t; the library uses its defaults for later fields. It reads as many bytes as `size`
/// says, whatever the version.
struct NcclConfig {
  size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef;
  unsigned version = kNcclLeastVersion;
  int blocking = 0; ///< Calls return at once, so that waits can have our own limits.
  int clusterSize = kUndefined, minBlocks = kUndefined, maxBlocks = kUndefined;
  const char *network = nullptr;
  int splitShare = kUndefined, trafficClass = kUndefined;
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
  /// Returns null if NCCL cannot be loaded; `whyNot` is then one sentence with the reason. The library stays loaded.
  static std::shared_ptr<const Nccl> load(std::string *whyNot = nullptr);
  /// Makes an instance of these functions, for tests.
  static std::shared_ptr<const Nccl> of(const NcclEntries &entries);

  /// `2.28.9`.
  std::string getVersion() const;
  /// Throws spmd::Error `what: text` unless the result is success or "in progress".
  void check(NcclResult result, const char *what) const;

private:
  Nccl() = default;
};

} // namespace spmd::cuda
