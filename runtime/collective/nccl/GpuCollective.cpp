//===- GpuCollective.cpp - one prepared collective of one GPU -------------===//

#include "runtime/collective/nccl/GpuCollective.h"

#include "runtime/collective/Reduce.h"
#include "runtime/device/Allocation.h"
#include "runtime/support/Error.h"

#include <algorithm>
#include <numeric>

namespace spmd::cuda {
namespace {

/// Alignment of all parts of the scratch memory.
constexpr int64_t kAlignment = 256;
int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// An all_reduce up to this size takes one round: for fewer bytes a round costs no more than its latency.
constexpr int64_t kOneRoundBytes = 64 << 10;

/// Approximate units that one thread of a box's launch copies: enough loads in flight, and blocks for the full GPU.
constexpr int64_t kUnitsPerThread = 4, kMostBlocksPerBox = 1024;

/// Strides that put the runs of a box one after the other.
std::vector<int64_t> denseStrides(const Box &box) {
  std::vector<int64_t> strides(box.counts.size());
  int64_t stride = box.runBytes;
  for (size_t d = strides.size(); d-- > 0; stride *= box.counts[d])
    strides[d] = stride;
  return strides;
}

int64_t bytesOf(const Box &box) { return box.runCount() * box.runBytes; }

} // namespace

void BoxList::add(const Box &box, int64_t sourceOffset, const std::vector<int64_t> &sourceStrides, int64_t targetOffset,
                  const std::vector<int64_t> &targetStrides) {
  BoxEntry entry{};
  entry.source = sourceOffset;
  entry.target = targetOffset;
  entry.run = box.runBytes;
  entry.units = bytesOf(box);
  entry.rank = static_cast<int64_t>(box.counts.size());
  for (size_t d = 0; d < box.counts.size(); ++d) {
    entry.counts[d] = box.counts[d];
    entry.sourceStrides[d] = sourceStrides[d];
    entry.targetStrides[d] = targetStrides[d];
  }
  if (entry.units > 0)
    entries.push_back(entry);
}

void BoxList::finish(CudaDevice &device) {
  if (entries.empty())
    return;
  int64_t common = 16, most = 0; // The widest access of a thread.
  for (const BoxEntry &entry : entries) {
    common = std::gcd(std::gcd(common, entry.source), std::gcd(entry.target, entry.run));
    for (int64_t d = 0; d < entry.rank; ++d)
      common = std::gcd(common, std::gcd(entry.sourceStrides[d], entry.targetStrides[d]));
  }
  unitBytes = common;
  for (BoxEntry &entry : entries) {
    for (int64_t *bytes : {&entry.source, &entry.target, &entry.run, &entry.units})
      *bytes /= unitBytes;
    for (int64_t d = 0; d < entry.rank; ++d) {
      entry.sourceStrides[d] /= unitBytes;
      entry.targetStrides[d] /= unitBytes;
    }
    most = std::max(most, entry.units);
  }
  blocksPerBox = std::clamp<int64_t>(most / (kUnitsPerThread * kBlockThreads), 1, kMostBlocksPerBox);
  auto bytes = static_cast<int64_t>(entries.size() * sizeof(BoxEntry));
  table = allocateFor(device, bytes, [] { return "the boxes of a collective"; });
  static_cast<Device &>(device).copyFromHost(*table, entries.data(), bytes);
}

void BoxList::launch(const char *name, const LibraryLauncher &launcher, DevicePointer source,
                     DevicePointer target) const {
  if (!entries.empty())
    launcher.launch("Boxes", name + std::to_string(unitBytes), static_cast<int64_t>(entries.size()) * blocksPerBox,
                    reinterpret_cast<DevicePointer>(table->data()), source, target, blocksPerBox);
}
void BoxList::copy(const LibraryLauncher &launcher, DevicePointer source, DevicePointer target) const {
  launch("spmd_copy_boxes_", launcher, source, target);
}
void BoxList::zero(const LibraryLauncher &launcher, DevicePointer target) const {
  launch("spmd_zero_boxes_", launcher, target, target);
}

GpuCollective::GpuCollective(NcclGroup &group, NcclComm comm, CudaDevice &device, const MeshShape &mesh,
                             const CollectiveDesc &desc, int64_t position)
    : group(group), comm(comm), device(device), kind(desc.kind), reduction(desc.reduction), dtype(desc.dtype),
      elementBytes(byteSize(desc.dtype)) {
  Movement movement = computeMovement(mesh, desc, position);
  for (int64_t member : movement.group)
    ranks.push_back(static_cast<int>(member));
  self = movement.self;
  operandBytes = movement.operandBytes;
  resultBytes = movement.resultBytes;
  auto members = static_cast<int64_t>(ranks.size());
  if (kind == CollectiveKind::AllReduce) {
    TreeReducer(dtype, reduction, members); // Throws if the reduction is undefined for the type.
    if (operandBytes > kOneRoundBytes)
      sliceBytes = aligned((operandBytes + members - 1) / members);
    slabBytes = aligned(sliceBytes > 0 ? sliceBytes : operandBytes);
    scratchBytes = members * slabBytes;
  } else if (kind == CollectiveKind::ReduceScatter) {
    TreeReducer(dtype, reduction, members);
    prepareReduceScatter(mesh, desc, movement);
  } else {
    prepareMoves(mesh, desc, movement);
  }
  for (const Box &box : movement.zeros)
    zeros.add(box, 0, std::vector<int64_t>(box.counts.size(), 0), box.targetOffset, box.targetStrides);
  for (BoxList *list : {&exchange.pack, &exchange.unpack, &own, &zeros})
    list->finish(device);
  loadKernels();
}

/// Loads the modules before the run: loading a module may wait for all work of the GPU. A transfer in flight could then
/// wait for a peer that waits for this device.
void GpuCollective::loadKernels() const {
  const LibraryKernels &kernels = device.getLibrary().getKernels();
  for (const BoxList *list : {&exchange.pack, &exchange.unpack, &own})
    if (!list->empty())
      kernels.find("Boxes", "spmd_copy_boxes_" + std::to_string(list->unitBytes));
  if (!zeros.empty())
    kernels.find("Boxes", "spmd_zero_boxes_" + std::to_string(zeros.unitBytes));
  if (kind == CollectiveKind::AllReduce || kind == CollectiveKind::ReduceScatter)
    kernels.find(getReduceModule(), getReduceKernel());
}

std::string GpuCollective::getReduceModule() const { return "TreeReduce_" + std::string(dtypeName(dtype)); }
std::string GpuCollective::getReduceKernel() const { return std::string("spmd_reduce_") + reductionName(reduction); }

void GpuCollective::prepareMoves(const MeshShape &mesh, const CollectiveDesc &desc, const Movement &movement) {
  auto members = static_cast<int64_t>(ranks.size());
  for (int64_t peer = 0; peer < members; ++peer) {
    if (peer == self)
      continue;
    // Both sides compute the same boxes in the same order, so they agree on the layout of a packed array.
    Movement theirs = computeMovement(mesh, desc, movement.group[static_cast<size_t>(peer)],
                                      [&](int64_t member) { return member == self; });
    std::vector<const Box *> out, in;
    for (const Box &box : theirs.boxes)
      if (box.source == self)
        out.push_back(&box);
    for (const Box &box : movement.boxes)
      if (box.source == peer)
        in.push_back(&box);
    auto add = [&](const std::vector<const Box *> &boxes, bool isSend) {
      int64_t bytes = 0;
      for (const Box *box : boxes)
        bytes += bytesOf(*box);
      if (bytes == 0)
        return;
      std::vector<Part> &parts = isSend ? exchange.sends : exchange.receives;
      int rank = ranks[static_cast<size_t>(peer)];
      if (boxes.size() == 1 && boxes[0]->runCount() == 1) {
        parts.push_back({rank, isSend ? boxes[0]->sourceOffset : boxes[0]->targetOffset, bytes, false});
        return;
      }
      int64_t &packed = isSend ? exchange.packedSendBytes : exchange.packedReceiveBytes;
      parts.push_back({rank, packed, bytes, true});
      int64_t offset = packed;
      for (const Box *box : boxes) {
        std::vector<int64_t> dense = denseStrides(*box);
        if (isSend)
          exchange.pack.add(*box, box->sourceOffset, box->sourceStrides, offset, dense);
        else
          exchange.unpack.add(*box, offset, dense, box->targetOffset, box->targetStrides);
        offset += bytesOf(*box);
      }
      packed = aligned(packed + bytes);
    };
    add(out, true);
    add(in, false);
  }
  for (const Box &box : movement.boxes)
    if (box.source == self)
      own.add(box, box.sourceOffset, box.sourceStrides, box.targetOffset, box.targetStrides);
  scratchBytes = exchange.packedSendBytes + exchange.packedReceiveBytes;
}

void GpuCollective::prepareReduceScatter(const MeshShape &mesh, const CollectiveDesc &desc, const Movement &movement) {
  auto members = static_cast<int64_t>(ranks.size());
  for (const Box &box : movement.boxes)
    reducedBytes += bytesOf(box);
  slabBytes = aligned(reducedBytes);
  for (int64_t peer = 0; peer < members; ++peer) {
    Movement theirs = peer == self ? movement : computeMovement(mesh, desc, movement.group[static_cast<size_t>(peer)]);
    int64_t bytes = 0;
    for (const Box &box : theirs.boxes)
      bytes += bytesOf(box);
    if (bytes == 0)
      continue;
    int rank = ranks[static_cast<size_t>(peer)];
    // This device's own contribution is packed directly into its slab.
    int64_t offset = exchange.packedSendBytes;
    if (peer != self) {
      bool isRun = theirs.boxes.size() == 1 && theirs.boxes[0].runCount() == 1;
      exchange.sends.push_back({rank, isRun ? theirs.boxes[0].sourceOffset : offset, bytes, !isRun});
      if (isRun)
        continue;
    }
    int64_t target = peer == self ? self * slabBytes : offset;
    for (const Box &box : theirs.boxes) {
      (peer == self ? own : exchange.pack).add(box, box.sourceOffset, box.sourceStrides, target, denseStrides(box));
      target += bytesOf(box);
    }
    if (peer != self)
      exchange.packedSendBytes = aligned(offset + bytes);
  }
  if (reducedBytes > 0)
    for (int64_t peer = 0; peer < members; ++peer)
      if (peer != self)
        exchange.receives.push_back({ranks[static_cast<size_t>(peer)], peer * slabBytes, reducedBytes, true});
  isReducedInPlace = movement.boxes.size() == 1 && movement.boxes[0].runCount() == 1;
  if (isReducedInPlace) {
    reducedOffset = movement.boxes[0].targetOffset;
  } else {
    int64_t offset = 0;
    for (const Box &box : movement.boxes) {
      exchange.unpack.add(box, offset, denseStrides(box), box.targetOffset, box.targetStrides);
      offset += bytesOf(box);
    }
  }
  // Scratch memory: one slab for each member, one for the reduced data unless that is in place, and the packed sends.
  scratchBytes = (members + (isReducedInPlace ? 0 : 1)) * slabBytes + exchange.packedSendBytes;
}

/// Queues calls of NCCL together (ncclGroupStart and ncclGroupEnd). It ends the group after an error too, because a
/// communicator can only be aborted outside of a group.
class GpuCollective::Round {
public:
  explicit Round(const GpuCollective &collective) : collective(collective), nccl(collective.group.getNccl()) {
    nccl.check(nccl.GroupStart(), "ncclGroupStart");
  }
  ~Round() {
    if (isOpen)
      nccl.GroupEnd();
  }
  Round(const Round &) = delete;
  Round &operator=(const Round &) = delete;

  /// Returns when all calls are queued in the stream.
  void finish() {
    isOpen = false;
    nccl.check(nccl.GroupEnd(), "ncclGroupEnd");
    collective.group.waitUntilQueued(collective.comm);
  }

private:
  const GpuCollective &collective;
  const Nccl &nccl;
  bool isOpen = true;
};

void GpuCollective::send(const Part &part, DevicePointer array, DevicePointer packed, Stream stream) const {
  const Nccl &nccl = group.getNccl();
  auto *data =
      reinterpret_cast<const void *>((part.isPacked ? packed : array) + static_cast<DevicePointer>(part.offset));
  nccl.check(nccl.Send(data, static_cast<size_t>(part.bytes), kNcclBytes, part.rank, comm, stream), "ncclSend");
}

void GpuCollective::receive(const Part &part, DevicePointer array, DevicePointer packed, Stream stream) const {
  const Nccl &nccl = group.getNccl();
  auto *data = reinterpret_cast<void *>((part.isPacked ? packed : array) + static_cast<DevicePointer>(part.offset));
  nccl.check(nccl.Recv(data, static_cast<size_t>(part.bytes), kNcclBytes, part.rank, comm, stream), "ncclRecv");
}

void GpuCollective::reduce(const LibraryLauncher &launcher, DevicePointer slabs, int64_t pitchBytes,
                           DevicePointer target, int64_t bytes) const {
  int64_t count = bytes / elementBytes;
  launcher.launchOver(count, kBlockThreads, getReduceModule(), getReduceKernel(), slabs, pitchBytes / elementBytes,
                      static_cast<int64_t>(ranks.size()), target, count);
}

void GpuCollective::run(Stream stream, DevicePointer operand, DevicePointer result, DevicePointer scratch) const {
  if (kind == CollectiveKind::AllReduce)
    runAllReduce(stream, operand, result, scratch);
  else if (kind == CollectiveKind::ReduceScatter)
    runReduceScatter(stream, operand, result, scratch);
  else
    runMoves(stream, operand, result, scratch);
  zeros.zero(LibraryLauncher(device.getLibrary().getKernels(), stream), result);
}

void GpuCollective::runMoves(Stream stream, DevicePointer operand, DevicePointer result, DevicePointer scratch) const {
  LibraryLauncher launcher(device.getLibrary().getKernels(), stream);
  DevicePointer received = scratch + static_cast<DevicePointer>(exchange.packedSendBytes);
  exchange.pack.copy(launcher, operand, scratch);
  own.copy(launcher, operand, result);
  if (!exchange.sends.empty() || !exchange.receives.empty()) {
    Round round(*this);
    for (const Part &part : exchange.sends)
      send(part, operand, scratch, stream);
    for (const Part &part : exchange.receives)
      receive(part, result, received, stream);
    round.finish();
  }
  exchange.unpack.copy(launcher, received, result);
}

void GpuCollective::runReduceScatter(Stream stream, DevicePointer operand, DevicePointer result,
                                     DevicePointer scratch) const {
  LibraryLauncher launcher(device.getLibrary().getKernels(), stream);
  auto members = static_cast<int64_t>(ranks.size());
  DevicePointer reduced = scratch + static_cast<DevicePointer>(members * slabBytes);
  DevicePointer packed = reduced + static_cast<DevicePointer>(isReducedInPlace ? 0 : slabBytes);
  exchange.pack.copy(launcher, operand, packed);
  own.copy(launcher, operand, scratch);
  if (!exchange.sends.empty() || !exchange.receives.empty()) {
    Round round(*this);
    for (const Part &part : exchange.sends)
      send(part, operand, packed, stream);
    for (const Part &part : exchange.receives)
      receive(part, result, scratch, stream);
    round.finish();
  }
  if (reducedBytes == 0)
    return;
  DevicePointer target = isReducedInPlace ? result + static_cast<DevicePointer>(reducedOffset) : reduced;
  reduce(launcher, scratch, slabBytes, target, reducedBytes);
  exchange.unpack.copy(launcher, reduced, result);
}

void GpuCollective::runAllReduce(Stream stream, DevicePointer operand, DevicePointer result,
                                 DevicePointer scratch) const {
  LibraryLauncher launcher(device.getLibrary().getKernels(), stream);
  auto members = static_cast<int64_t>(ranks.size());
  if (operandBytes == 0)
    return;
  // Member p reduces [begin(p), begin(p) + size(p)); in one round each member reduces all elements.
  auto begin = [&](int64_t member) { return std::min(member * sliceBytes, operandBytes); };
  auto size = [&](int64_t member) {
    return sliceBytes == 0 ? operandBytes : std::min(sliceBytes, operandBytes - begin(member));
  };
  auto slab = [&](int64_t member) { return scratch + static_cast<DevicePointer>(member * slabBytes); };
  auto at = [](DevicePointer array, int64_t offset) { return array + static_cast<DevicePointer>(offset); };
  Round round(*this);
  for (int64_t peer = 0; peer < members; ++peer) {
    if (peer == self)
      continue;
    int rank = ranks[static_cast<size_t>(peer)];
    if (size(peer) > 0)
      send({rank, begin(peer), size(peer), false}, operand, 0, stream);
    if (size(self) > 0)
      receive({rank, 0, size(self), true}, 0, slab(peer), stream);
  }
  round.finish();
  if (size(self) > 0) {
    launcher.copy(slab(self), at(operand, begin(self)), size(self));
    reduce(launcher, scratch, slabBytes, at(result, begin(self)), size(self));
  }
  if (sliceBytes == 0)
    return;
  Round second(*this);
  for (int64_t peer = 0; peer < members; ++peer) {
    if (peer == self)
      continue;
    int rank = ranks[static_cast<size_t>(peer)];
    if (size(self) > 0)
      send({rank, begin(self), size(self), false}, result, 0, stream);
    if (size(peer) > 0)
      receive({rank, begin(peer), size(peer), false}, result, 0, stream);
  }
  second.finish();
}

} // namespace spmd::cuda
