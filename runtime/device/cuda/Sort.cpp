//===- Sort.cpp - stable sorts of lines on a GPU --------------------------===//

#include "runtime/device/cuda/Sort.h"

#include "runtime/support/Error.h"

#include <bit>

namespace spmd::cuda {
namespace {

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t alignUp(int64_t bytes) { return (bytes + 255) / 256 * 256; }

/// Elements whose digits a block counts before it adds them to the counts of the line: enough to amortise clearing and
/// adding its counters (twice as many words), and few enough that the chunks keep a GPU of some hundred multiprocessors
/// busy.
constexpr int64_t kLeastChunk = 4096, kMostChunks = 1024;

/// The bits of +inf of a float type.
uint64_t infinityOf(DType dtype) {
  return dtype == DType::F64    ? 0x7ff0000000000000
         : dtype == DType::F32  ? 0x7f800000
         : dtype == DType::BF16 ? 0x7f80
                                : 0x7c00;
}

} // namespace

SortKeys SortKeys::of(DType dtype, bool isDescending) {
  const DTypeInfo &info = infoOf(dtype);
  uint64_t flags = isDescending ? uint64_t(kDescending | kTotalOrder) : 0;
  auto bits = static_cast<int>(8 * info.bytes);
  switch (info.kind) {
  case DTypeKind::Float:
    return {bits, kFloatKeys | flags, infinityOf(dtype)};
  case DTypeKind::Signed:
    return {bits, kSignedKeys | flags, 0};
  case DTypeKind::Unsigned:
    return {bits, kUnsignedKeys | flags, 0};
  case DTypeKind::Bool:
    return {bits, kBoolKeys | flags, 0};
  case DTypeKind::Key:
    break;
  }
  throw Error("sort: random keys have no order");
}

Sort::Sort(const SortKeys &keys, int keyBits, int64_t lines, int64_t size, Result result)
    : keys(keys), lines(lines), size(size), passes(ceilDiv(keyBits, kDigitBits)), result(result) {
  if (size >= UINT32_MAX)
    throw Error("sorting " + std::to_string(size) + " elements along a dimension: a GPU sorts up to " +
                std::to_string(UINT32_MAX - 1));
  int64_t blockItems = sortItems(keys.bits) * kBlockThreads;
  lineTiles = ceilDiv(size, blockItems);
  method = size <= kWarpLine ? Method::Warps : size <= blockItems ? Method::Lines : Method::Radix;
}

std::string Sort::nameLineKernel() const {
  int items = size <= kBlockThreads ? 1 : size <= 4 * kBlockThreads ? 4 : sortItems(keys.bits);
  return "spmd_sort_lines_" + std::to_string(items);
}

void Sort::prepare(const LibraryKernels &kernels) const {
  if (method != Method::Radix) {
    kernels.find(nameModule("LineSort"), method == Method::Warps ? "spmd_sort_warps" : nameLineKernel());
    return;
  }
  kernels.find(nameModule("DigitCounts"), "spmd_sort_count");
  kernels.find(nameModule("DigitCounts"), "spmd_sort_sum");
  if (result == Result::Values)
    kernels.find(nameModule("ValueSort"), "spmd_sort_values");
  else
    kernels.find(nameModule("RadixSort"), "spmd_sort_pass");
}

Sort::Layout Sort::layOut() const {
  Layout layout;
  layout.tickets = 0;
  layout.counts = alignUp(passes * sizeof(uint32_t));
  layout.trivial = layout.counts + alignUp(lines * passes * kDigitValues * sizeof(uint32_t));
  layout.states = layout.trivial + alignUp(lines * int64_t(sizeof(uint32_t)));
  layout.cleared = layout.bytes = layout.states + alignUp(lines * lineTiles * kDigitValues * sizeof(uint64_t));
  // Between two passes: keys and positions, or values, which alternate with the result.
  bool hasPositions = result == Result::Positions;
  for (int64_t i = 0; i < 2; ++i) {
    bool isUsed = passes > i + 1 && (hasPositions || i == 0);
    layout.keys[i] = layout.bytes;
    layout.positions[i] = layout.keys[i] + (isUsed ? alignUp(lines * size * keys.bits / 8) : 0);
    layout.bytes =
        layout.positions[i] + (isUsed && hasPositions ? alignUp(lines * size * int64_t(sizeof(uint32_t))) : 0);
  }
  return layout;
}

int64_t Sort::getScratchBytes() const { return method == Method::Radix ? layOut().bytes : 0; }

void Sort::runRadix(const LibraryLauncher &launcher, const Arrays &arrays, DevicePointer scratch) const {
  Layout layout = layOut();
  DevicePointer tickets = scratch + layout.tickets, counts = scratch + layout.counts, states = scratch + layout.states;
  DevicePointer trivial = scratch + layout.trivial;
  launcher.fill(scratch, 0, layout.cleared);
  int64_t chunk = std::max(kLeastChunk, ceilDiv(size, kMostChunks));
  std::string counting = nameModule("DigitCounts");
  launcher.launch(counting, "spmd_sort_count", lines * ceilDiv(size, chunk), arrays.elements, keys.order, keys.infinity,
                  size, arrays.elementInner, passes, chunk, lines, counts);
  launcher.launch(counting, "spmd_sort_sum", lines * passes, counts, size, passes, trivial);
  for (int64_t pass = 0; pass < passes; ++pass)
    if (result == Result::Values)
      launcher.launch(nameModule("ValueSort"), "spmd_sort_values", lines * lineTiles, arrays.elements, arrays.result,
                      scratch + layout.keys[0], keys.order, keys.infinity, size, arrays.elementInner, pass, passes,
                      lines, counts, trivial, states, tickets);
    else
      launcher.launch(nameModule("RadixSort"), "spmd_sort_pass", lines * lineTiles, arrays.elements, arrays.newKeys,
                      arrays.result, arrays.positionBytes, scratch + layout.keys[0], scratch + layout.keys[1],
                      scratch + layout.positions[0], scratch + layout.positions[1], keys.order, keys.infinity, size,
                      arrays.elementInner, arrays.resultInner, pass, passes, lines, counts, trivial, states, tickets);
}

void Sort::run(const LibraryLauncher &launcher, const Arrays &arrays, DevicePointer scratch) const {
  if (lines == 0 || size == 0)
    return;
  if (method == Method::Radix)
    return runRadix(launcher, arrays, scratch);
  std::string module = nameModule("LineSort");
  DevicePointer values = result == Result::Values ? arrays.result : 0;
  DevicePointer positions = result == Result::Positions ? arrays.result : 0;
  if (method == Method::Lines)
    return launcher.launchOver(lines, 1, module, nameLineKernel(), arrays.elements, arrays.newKeys, values, positions,
                               arrays.positionBytes, keys.order, keys.infinity, size, arrays.elementInner,
                               arrays.resultInner, lines, passes);
  auto width = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(size)));
  launcher.launchOver(lines, kBlockThreads / width, module, "spmd_sort_warps", arrays.elements, arrays.newKeys, values,
                      positions, arrays.positionBytes, keys.order, keys.infinity, size, arrays.elementInner,
                      arrays.resultInner, lines, width);
}

} // namespace spmd::cuda
