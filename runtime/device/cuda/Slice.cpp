//===- Slice.cpp - update_slice on a GPU ----------------------------------===//

#include "runtime/device/cuda/Slice.h"

#include "runtime/support/Error.h"

#include <algorithm>
#include <utility>

namespace spmd::cuda {
namespace {

/// Of a window that is less than this part of the array, the elements are written twice: a copy is faster than a kernel
/// that divides for each element. Half of an array took 172 us so, and the kernel alone would take as long (an H200,
/// [8192, 8192] of f32).
constexpr int64_t kSmallWindow = 4;

} // namespace

Slice::Slice(const LibraryCall &call) {
  size_t rank = call.sizes.size() / 2;
  const int64_t *shape = call.sizes.data(), *window = shape + rank;
  operandBytes = byteSize(call.dtype);
  for (size_t d = 0; d < rank; ++d) {
    units *= window[d];
    operandBytes *= shape[d];
  }
  if (units == 0)
    return;
  // From the last dimension on: a dimension that the window covers in full size is merged with the one before it.
  std::vector<Dimension> merged;
  int64_t stride = 1, full = 1;
  for (size_t d = rank; d-- > 0; stride *= shape[d]) {
    if (window[d] == shape[d]) {
      full *= shape[d];
      continue;
    }
    if (full > 1)
      merged.push_back({full, full, stride / full, -1, 0});
    full = 1;
    merged.push_back({shape[d], window[d], stride, static_cast<int64_t>(d), byteSize(call.indexTypes[d])});
  }
  if (full > 1)
    merged.push_back({full, full, stride / full, -1, 0});
  if (merged.size() > kSliceRank)
    throw Error("update_slice: more than " + std::to_string(kSliceRank) +
                " dimensions that cannot be merged are not supported on a GPU");
  // Moves the largest unit that is contiguous in both arrays, wherever the window starts.
  unitBytes = byteSize(call.dtype);
  bool hasRows = !merged.empty() && merged[0].start < 0;
  int64_t rowUnits = hasRows ? merged[0].shape : 1, factor = 1;
  while (hasRows && rowUnits % (2 * factor) == 0 && unitBytes * factor < 16)
    factor *= 2;
  unitBytes *= factor;
  units /= factor;
  isRange = merged.size() == (hasRows ? 2 : 1) && merged.back().start >= 0;
  for (size_t d = 0; d < merged.size(); ++d) {
    Dimension &dimension = dimensions[kSliceRank - 1 - d];
    dimension = merged[d];
    if (d == 0 && hasRows)
      dimension.shape = dimension.window = rowUnits / factor;
    else
      dimension.stride /= factor;
  }
}

std::string Slice::nameKernel(bool copies) const {
  return std::string(isRange ? "spmd_range_" : "spmd_slice_") + (copies ? "copy_" : "") + std::to_string(unitBytes);
}

void Slice::prepare(const LibraryKernels &kernels) const {
  if (units == 0)
    return;
  for (bool copies : {false, true})
    kernels.find("Slice", nameKernel(copies));
}

void Slice::run(const LibraryLauncher &launcher, DevicePointer operand, DevicePointer update,
                const DevicePointer *starts, DevicePointer result) const {
  int64_t all = operandBytes / unitBytes;
  bool copies = operand != result;
  if (copies && (units == 0 || (!isRange && units < all / kSmallWindow))) {
    launcher.copy(result, operand, operandBytes);
    copies = false;
  }
  if (units == 0)
    return;
  auto startOf = [&](const Dimension &d) { return d.start < 0 ? 0 : starts[d.start]; };
  if (isRange) {
    const Dimension *rows = std::find_if(std::begin(dimensions), std::end(dimensions),
                                         [](const Dimension &dimension) { return dimension.start >= 0; });
    auto launch = [&](int64_t written, auto... arguments) {
      launcher.launchOver(written, int64_t(kBlockThreads) * kRangeUnits, "Slice", nameKernel(copies), update, result,
                          arguments...);
    };
    if (copies)
      launch(all, operand, rows->shape, rows->window, rows->stride, startOf(*rows), rows->startBytes, units, all);
    else
      launch(units, rows->shape, rows->window, rows->stride, startOf(*rows), rows->startBytes, units);
    return;
  }
  auto launch = [&]<size_t... word>(std::index_sequence<word...>) {
    // Five words per dimension.
    auto read = [&](size_t i) -> uint64_t {
      const Dimension &d = dimensions[i / 5];
      const uint64_t words[] = {static_cast<uint64_t>(d.shape), static_cast<uint64_t>(d.window),
                                static_cast<uint64_t>(d.stride), startOf(d), static_cast<uint64_t>(d.startBytes)};
      return words[i % 5];
    };
    if (copies)
      launcher.launchOver(operandBytes / unitBytes, kBlockThreads, "Slice", nameKernel(copies), update, result, operand,
                          read(word)...);
    else
      launcher.launchOver(units, kBlockThreads, "Slice", nameKernel(copies), update, result, read(word)...);
  };
  launch(std::make_index_sequence<5 * kSliceRank>());
}

} // namespace spmd::cuda
