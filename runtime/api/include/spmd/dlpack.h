//===- dlpack.h - memory shared with other array libraries ------*- C++ -*-===//
//
// DLPack import and export, as JAX's jax.dlpack: the memory is shared and not copied. The structure is that of
// <dlpack/dlpack.h> (any version that has DLManagedTensor), which the caller includes, or gets from the other library.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "array.h"

#include <optional>
#include <source_location>

struct DLManagedTensor;

namespace spmd {

/// Returns an array over the tensor's memory, on one CPU device of this process (the first, if none is named); JAX's
/// `jax.dlpack.from_dlpack`. Takes ownership of the tensor: its deleter is called once, on the thread that releases the
/// memory last. No other code may write to the memory until then.
///
/// The tensor must be in host memory (kDLCPU), of a type of the language, row-major and compact, and its data
/// (byte_offset included) must be aligned to the size of an element. Otherwise this is a usage error, and the caller
/// keeps the tensor. For an array over several devices, combine the parts with make_array_from_single_device_arrays. No
/// communication.
Array from_dlpack(DLManagedTensor *tensor, const std::optional<DeviceInfo> &device = std::nullopt,
                  std::source_location where = std::source_location::current());

/// Returns a tensor over the array's memory; JAX's `jax.dlpack.to_dlpack`. Waits for the values, and throws their
/// error. The memory stays until the receiver calls the tensor's deleter, once and from any thread, even after
/// shutdown(). The receiver must not write to the memory: an array never changes.
///
/// The array must be on one device of this process; an array over several devices is a usage error that names the calls
/// that help. A bool is DLPack's kDLBool; DLPack has no type for random keys. No communication.
DLManagedTensor *to_dlpack(const Array &array);
/// The same for one device's shard. A padded shard is a copy (addressable_shards()).
DLManagedTensor *to_dlpack(const Shard &shard);

} // namespace spmd
