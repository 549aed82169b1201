//===- Scatter.cpp - adds updates at indices, on a GPU --------------------===//

#include "runtime/device/cuda/Scatter.h"

#include "runtime/support/Error.h"

#include <bit>

namespace spmd::cuda {
namespace {

int64_t alignUp(int64_t bytes) { return (bytes + 255) / 256 * 256; }

/// Returns the atomic kernel for this type, or an empty text if the order of additions matters or the type has less
/// than 32 bits (a GPU has no atomic addition of those).
std::string nameAtomicKernel(DType dtype) {
  if (dtype == DType::Bool)
    return "spmd_scatter_atomic_bool";
  if (!isInteger(dtype) || byteSize(dtype) < 4)
    return "";
  return "spmd_scatter_atomic_i" + std::to_string(8 * byteSize(dtype));
}

/// Returns the module that adds elements of this type in order; narrow integers are added as unsigned ones.
std::string nameRunsModule(DType dtype) {
  return "ScatterRuns_" +
         (isInteger(dtype) ? "i" + std::to_string(8 * byteSize(dtype)) : std::string(dtypeName(dtype)));
}

constexpr const char *kIndices = "ScatterIndices";

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Returns how many neighboring packs of columns a block adds up: up to 1 KiB, so that a block's last runs do not take
/// long, and down to 128 bytes, a memory transaction, for enough blocks to fill a GPU a few times.
int64_t chooseGroup(int64_t parts, int64_t packs, int64_t packBytes) {
  constexpr int64_t kEnoughBlocks = 2048;
  int64_t group = 1024 / packBytes;
  while (group > 128 / packBytes && parts * ceilDiv(packs, group) < kEnoughBlocks)
    group /= 2;
  // Groups of equal sizes: no block has a small rest.
  return ceilDiv(packs, ceilDiv(packs, group));
}

/// Bytes of kWide elements (ScatterRuns.cu).
constexpr int64_t kWideBytes = 16;

} // namespace

Scatter::Scatter(const LibraryCall &call)
    : outer(call.sizes[0]), rows(call.sizes[1]), count(call.sizes[2]), inner(call.sizes[3]),
      indexBytes(byteSize(call.indexTypes[0])), elementBytes(byteSize(call.dtype)),
      isAlong(call.function == LibraryFunction::ScatterAddAlong) {
  if (call.dtype == DType::Key)
    throw Error("scatter_add: random keys cannot be added");
  if (outer * rows * inner == 0 || count == 0)
    return;
  lines = isAlong ? outer * inner : 1;
  atomicKernel = nameAtomicKernel(call.dtype);
  if (!atomicKernel.empty()) {
    method = Method::Atomic;
    return;
  }
  // Neighboring columns of a result row are added together if they are contiguous in the updates, too.
  isWide = !isAlong && inner * elementBytes % kWideBytes == 0;
  module = nameRunsModule(call.dtype);
  if (count <= kFewUpdates) {
    method = Method::Few;
    return;
  }
  method = Method::Sorted;
  if (rows >= UINT32_MAX)
    throw Error("scatter_add into " + std::to_string(rows) + " rows: a GPU adds to up to " +
                std::to_string(UINT32_MAX - 1));
  // Keys are rows, and `rows` for indices out of range.
  sort.emplace(SortKeys(), std::bit_width(static_cast<uint64_t>(rows)), lines, count, Sort::Result::Positions);
}

void Scatter::prepare(const LibraryKernels &kernels) const {
  switch (method) {
  case Method::Nothing:
    return;
  case Method::Atomic:
    kernels.find(kIndices, atomicKernel);
    return;
  case Method::Few:
    kernels.find(module, "spmd_scatter_few");
    return;
  case Method::Sorted:
    kernels.find(kIndices, "spmd_scatter_keys");
    sort->prepare(kernels);
    kernels.find(module, nameShortKernel());
    kernels.find(module, "spmd_scatter_long");
  }
}

Scatter::Layout Scatter::layOut() const {
  int64_t array = alignUp(lines * count * int64_t(sizeof(uint32_t)));
  return {0, array, 2 * array, 3 * array, 3 * array + sort->getScratchBytes()};
}

int64_t Scatter::getScratchBytes() const { return method == Method::Sorted ? layOut().bytes : 0; }

void Scatter::runSorted(const LibraryLauncher &launcher, DevicePointer indices, DevicePointer updates,
                        DevicePointer result, DevicePointer scratch) const {
  Layout layout = layOut();
  DevicePointer keys = scratch + layout.keys, sortedKeys = scratch + layout.sortedKeys;
  DevicePointer positions = scratch + layout.positions;
  launcher.launchOver(lines * count, kBlockThreads, kIndices, "spmd_scatter_keys", indices, indexBytes, rows, count,
                      isAlong ? inner : 1, lines, keys);
  Sort::Arrays arrays;
  arrays.elements = keys;
  arrays.newKeys = sortedKeys;
  arrays.result = positions;
  sort->run(launcher, arrays, scratch + layout.sort);
  int64_t columns = outer * inner / lines, width = isWide ? kWideBytes / elementBytes : 1, packs = columns / width;
  int64_t parts = ceilDiv(lines * count, kBlockThreads), group = chooseGroup(parts, packs, width * elementBytes);
  launcher.launch(module, nameShortKernel(), parts * ceilDiv(packs, group), sortedKeys, positions, updates, result,
                  outer, rows, count, inner, lines, group);
  if (count <= kLongRun)
    return;
  width = static_cast<int64_t>(std::min<uint64_t>(kRunColumns, std::bit_ceil(static_cast<uint64_t>(columns))));
  parts = ceilDiv(count, kRunPlaces * kLongRun);
  launcher.launchOver(lines * parts * ceilDiv(columns, width), 1, module, "spmd_scatter_long", sortedKeys, positions,
                      updates, result, outer, rows, count, inner, lines, width);
}

void Scatter::run(const LibraryLauncher &launcher, DevicePointer indices, DevicePointer updates, DevicePointer result,
                  DevicePointer scratch) const {
  int64_t additions = outer * count * inner;
  switch (method) {
  case Method::Nothing:
    return;
  case Method::Atomic:
    return launcher.launchOver(additions, kBlockThreads, kIndices, atomicKernel, indices, indexBytes, isAlong, updates,
                               result, outer, rows, count, inner);
  case Method::Few:
    return launcher.launchOver(additions, kBlockThreads, module, "spmd_scatter_few", indices, indexBytes, isAlong,
                               updates, result, outer, rows, count, inner);
  case Method::Sorted:
    return runSorted(launcher, indices, updates, result, scratch);
  }
}

} // namespace spmd::cuda
