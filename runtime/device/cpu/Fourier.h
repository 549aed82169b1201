//===- Fourier.h - discrete Fourier transforms on a CPU ---------*- C++ -*-===//
//
// Lines of up to kMaxShortLine numbers are transformed as many at once as a vector has lanes. A longer one is a matrix
// (Bailey, "FFTs in external or hierarchical memory", 1990): its columns are transformed side by side, then its rows.
// The length alone decides, so a line has the same bits in every batch, on any number of threads.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/LibraryCall.h"
#include "runtime/device/cpu/ParallelFor.h"

#include <memory>

namespace spmd {

/// The constants and the scratch memory of one call. One thread runs it at a time.
class Fourier {
public:
  virtual ~Fourier() = default;
  /// The operand and the result are different memory.
  virtual void run(ParallelFor &parallelFor, const void *operand, void *result) = 0;

  /// `call.function` is fft or inverse_fft, and its arrays are f32 or f64.
  static std::unique_ptr<Fourier> create(const LibraryCall &call);
};

/// The most complex numbers of a line that is transformed beside others; real lines have half as many as elements.
inline constexpr int64_t kMaxShortLine = 1024;

} // namespace spmd
