//===- Library.cpp - steps of the runtime library -------------------------===//

#include "runtime/device/cpu/Library.h"

#include "runtime/artifact/CopyGrain.h"

#include <algorithm>
#include <cstring>

namespace spmd {
namespace {

int64_t product(const int64_t *sizes, size_t count) {
  int64_t result = 1;
  for (size_t i = 0; i < count; ++i)
    result *= sizes[i];
  return result;
}

/// Copies the first input into the result.
void copyOperand(const LibraryCall &call, ParallelFor &parallelFor, const void *operand, void *result) {
  int64_t elements = call.function == LibraryFunction::UpdateSlice ? product(call.sizes.data(), call.sizes.size() / 2)
                                                                   : call.sizes[0] * call.sizes[1] * call.sizes[3];
  parallelFor.run(elements * byteSize(call.dtype), copyGrainBytes, [&](int64_t begin, int64_t end, int) {
    std::memcpy(static_cast<char *>(result) + begin, static_cast<const char *>(operand) + begin, end - begin);
  });
}

} // namespace

void updateSlice(const LibraryCall &call, ParallelFor &parallelFor, const void *const *inputs, void *result) {
  size_t rank = call.sizes.size() / 2;
  const int64_t *shape = call.sizes.data(), *window = shape + rank;
  if (product(window, rank) == 0)
    return;
  // Trailing dimensions that the window covers in full size form one contiguous run.
  size_t outer = rank;
  int64_t runBytes = byteSize(call.dtype);
  while (outer > 0 && window[outer - 1] == shape[outer - 1])
    runBytes *= shape[--outer];
  int64_t pitch = runBytes; // Byte stride of the last dimension that the window does not cover.
  if (outer > 0)
    runBytes *= window[--outer];
  std::vector<int64_t> starts(rank);
  for (size_t d = 0; d < rank; ++d)
    visitIndexType(call.indexTypes[d], [&](auto index) {
      int64_t start = *static_cast<const decltype(index) *>(inputs[2 + d]);
      starts[d] = std::clamp<int64_t>(start, 0, shape[d] - window[d]);
    });
  const char *update = static_cast<const char *>(inputs[1]);
  int64_t grain = std::max<int64_t>(1, copyGrainBytes / std::max<int64_t>(1, runBytes));
  parallelFor.run(product(window, outer), grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t rest = row, position = 0, stride = rank > 0 ? pitch * shape[outer] : 0;
      for (size_t d = outer; d-- > 0; stride *= shape[d]) {
        position += (rest % window[d] + starts[d]) * stride;
        rest /= window[d];
      }
      if (outer < rank)
        position += starts[outer] * pitch;
      std::memcpy(static_cast<char *>(result) + position, update + row * runBytes, runBytes);
    }
  });
}

void runLibrary(const LibraryCall &call, ParallelFor &parallelFor, const void *const *inputs, void *result) {
  if (isSort(call.function))
    return sort(call, parallelFor, inputs[0], result);
  if (result != inputs[0])
    copyOperand(call, parallelFor, inputs[0], result);
  if (call.function == LibraryFunction::UpdateSlice)
    updateSlice(call, parallelFor, inputs, result);
  else
    scatter(call, parallelFor, inputs[1], inputs[2], result);
}

} // namespace spmd
