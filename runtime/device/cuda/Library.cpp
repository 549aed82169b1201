//===- Library.cpp - library steps on a GPU -------------------------------===//

#include "runtime/device/cuda/Library.h"

#include "runtime/device/cuda/Product.h"
#include "runtime/device/cuda/Scatter.h"
#include "runtime/device/cuda/Slice.h"
#include "runtime/device/cuda/Sort.h"
#include "runtime/support/Error.h"

namespace spmd::cuda {
namespace {

Sort makeSort(const LibraryCall &call) {
  if (call.sizes.size() != 3)
    throw Error("the plan sorts a range of places, which a GPU does not");
  SortKeys keys = SortKeys::of(call.dtype, isDescending(call.function));
  return Sort(keys, keys.bits, call.sizes[0] * call.sizes[2], call.sizes[1],
              returnsSortedValues(call.function) ? Sort::Result::Values : Sort::Result::Positions);
}

/// Returns the bytes of the first input of a scatter.
int64_t countBytes(const LibraryCall &call) {
  return byteSize(call.dtype) * call.sizes[0] * call.sizes[1] * call.sizes[3];
}

} // namespace

Library::Library(std::shared_ptr<const Driver> driver, int capability, std::shared_ptr<const CublasLt> given,
                 std::shared_ptr<Cupti> cupti)
    : kernels(driver), capability(capability), mayLoad(driver->isSystems()), driverVersion(driver->getVersion()),
      cupti(std::move(cupti)), blas(std::move(given)) {}

std::shared_ptr<const CublasLt> Library::getBlas() const {
  std::call_once(hasLookedForBlas, [&] {
    if (!blas && mayLoad)
      blas = CublasLt::load("");
  });
  return blas;
}

std::shared_ptr<Cupti> Library::getCupti() const { return cupti || !mayLoad ? cupti : Cupti::ofProcess(driverVersion); }

void Library::prepare(const LibraryCall &call) const {
  if (isFourier(call.function))
    throw Error("the plan has a Fourier transform of the library, which is products on a GPU");
  if (isSort(call.function))
    makeSort(call).prepare(kernels);
  else if (call.function == LibraryFunction::UpdateSlice)
    Slice(call).prepare(kernels);
  else
    Scatter(call).prepare(kernels);
}

void Library::prepare(const MatmulShape &shape) const { Product(shape, capability).prepare(kernels); }

int64_t Library::getScratchBytes(const LibraryCall &call) const {
  if (isSort(call.function))
    return makeSort(call).getScratchBytes();
  return call.function == LibraryFunction::UpdateSlice ? 0 : Scatter(call).getScratchBytes();
}

void Library::run(const LibraryCall &call, Stream stream, const std::vector<DevicePointer> &inputs,
                  DevicePointer result, DevicePointer scratch) const {
  LibraryLauncher launcher(kernels, stream);
  if (isSort(call.function)) {
    Sort::Arrays arrays;
    arrays.elements = inputs[0];
    arrays.result = result;
    arrays.elementInner = arrays.resultInner = call.sizes[2];
    if (!returnsSortedValues(call.function))
      arrays.positionBytes = byteSize(call.indexTypes[0]);
    return makeSort(call).run(launcher, arrays, scratch);
  }
  if (call.function == LibraryFunction::UpdateSlice)
    return Slice(call).run(launcher, inputs[0], inputs[1], inputs.data() + 2, result);
  if (result != inputs[0])
    launcher.copy(result, inputs[0], countBytes(call));
  Scatter(call).run(launcher, inputs[1], inputs[2], result, scratch);
}

void Library::multiply(const MatmulShape &shape, Stream stream, DevicePointer lhs, DevicePointer rhs,
                       DevicePointer result) const {
  Product(shape, capability).run(LibraryLauncher(kernels, stream), lhs, rhs, result);
}

} // namespace spmd::cuda
