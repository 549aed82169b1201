//===- CublasLt.h - matrix products by cuBLASLt -----------------*- C++ -*-===//
//
// cuBLASLt comes with the CUDA toolkit or with Python packages, and is opened by name. A product is prepared once for
// its shape: the library's heuristic selects the algorithm by shape and GPU, never by a measurement, so the same
// product gives the same bits each time. f32 is multiplied in f32, or in TF32 if the shape allows it; 16-bit types
// are summed in f32.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/Plan.h"
#include "runtime/device/MatmulShape.h"
#include "runtime/device/cuda/DriverTypes.h"

#include <memory>
#include <string>

namespace spmd::cuda {

struct CublasLtEntries;

/// The library, with a handle for the GPU that was current when it was loaded. Thread-safe.
class CublasLt {
public:
  /// Returns null if there is no library; `whyNot` is then one sentence that lists where it was searched. `toolkit` is
  /// the folder of a CUDA toolkit to search as well; it may be empty.
  static std::shared_ptr<const CublasLt> load(const std::string &toolkit, std::string *whyNot = nullptr);
  /// Makes a library of these functions, for tests without a GPU; null if it does not start.
  static std::shared_ptr<const CublasLt> make(const CublasLtEntries &entries);
  ~CublasLt();
  CublasLt(const CublasLt &) = delete;
  CublasLt &operator=(const CublasLt &) = delete;

  const CublasLtEntries &getEntries() const { return *entries; }
  struct Handle;
  Handle *getHandle() const { return handle; }
  /// `13.0.2`, as the library reports it.
  std::string getVersion() const;

private:
  CublasLt() = default;
  std::unique_ptr<CublasLtEntries> entries;
  Handle *handle = nullptr;
};

/// A product of one shape, with an epilogue if it has one.
class CublasLtProduct {
public:
  /// The arrays of a product in device memory. `array` and `bias` are those of the epilogue; 0 if it has none.
  struct Operands {
    DevicePointer lhs = 0, rhs = 0, array = 0, bias = 0;
  };

  /// Returns null if the library has no algorithm for the shape, its types and the epilogue. `shape.result` is the type
  /// of the epilogue's result. Of the epilogue's operands it only counts whether there are any.
  static std::unique_ptr<CublasLtProduct> create(std::shared_ptr<const CublasLt> library, const MatmulShape &shape,
                                                 const LibraryEpilogue &epilogue = {});
  ~CublasLtProduct();
  CublasLtProduct(const CublasLtProduct &) = delete;
  CublasLtProduct &operator=(const CublasLtProduct &) = delete;

  /// Bytes of device memory, aligned to 256, that `run` needs.
  int64_t getScratchBytes() const;
  /// Queues the product. The result overlaps no operand. Throws spmd::Error. Not thread-safe.
  void run(Stream stream, const Operands &operands, DevicePointer result, DevicePointer scratch);

private:
  struct State;
  explicit CublasLtProduct(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace spmd::cuda
