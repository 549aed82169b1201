//===- dlpack.h - memory shared with other array libraries ------*- C++ -*-===//
//
// DLPack in and out, as JAX's jax.dlpack: the memory is shared and not copied. The structure is that of
// <dlpack/dlpack.h> (any version that has DLManagedTensor), which the caller includes, or gets from the other library.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "array.h"

#include <optional>
#include <source_location>

struct DLManagedTensor;

namespace spmd {

/// An array over the tensor's memory, on one CPU device of this process (the first, if none is named); JAX's
/// `jax.dlpack.from_dlpack`. Takes the tensor: its deleter is called once, on whatever thread lets go of the memory
/// last. Nobody may write to the memory until then.
///
/// The tensor is in host memory (kDLCPU), of a type that the language has, row-major and compact, and its data lie
/// (byte_offset included) as its elements must: at a multiple of their size. Otherwise it is a usage error, and the
/// tensor stays the caller's. For an array over several devices, put the parts together with
/// make_array_from_single_device_arrays. No communication.
Array from_dlpack(DLManagedTensor *tensor, const std::optional<DeviceInfo> &device = std::nullopt,
                  std::source_location where = std::source_location::current());

/// A tensor over the array's memory; JAX's `jax.dlpack.to_dlpack`. Waits for the values, and throws what went wrong
/// with them. The memory stays until the receiver calls the tensor's deleter, once and from any thread, also after
/// shutdown(). The receiver must not write to it: an array never changes.
///
/// The array is on one device, of this process; one over several is a usage error that names the calls that help. A
/// bool is DLPack's kDLBool; random keys have no type there. No communication.
DLManagedTensor *to_dlpack(const Array &array);
/// Of one device's part. Where it is padded, it is a copy (addressable_shards()).
DLManagedTensor *to_dlpack(const Shard &shard);

} // namespace spmd
