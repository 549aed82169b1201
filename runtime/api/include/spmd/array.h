//===- array.h - arrays distributed over devices ----------------*- C++ -*-===//
#pragma once

#include "host_values.h"
#include "sharding.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace spmd {

struct Shard;
class ArrayImpl;
class TracedValue;

/// A value distributed over the devices of a mesh, perhaps still being computed. Copies share the value, which never
/// changes; so several threads may read, copy and pass one Array. A program that assigns to a variable that another
/// thread uses needs a lock of its own, as with any value. Inside of a callable that jit, grad and the like trace, an
/// Array may be symbolic: it then has only a shape and a dtype, and other uses throw an error.
class Array {
public:
  Array() = default;
  explicit Array(std::shared_ptr<const ArrayImpl> impl) : impl(std::move(impl)) {}
  explicit Array(std::shared_ptr<const TracedValue> traced) : traced(std::move(traced)) {}

  const std::vector<int64_t> &shape() const;
  DType dtype() const;
  const NamedSharding &sharding() const;
  int64_t ndim() const { return static_cast<int64_t>(shape().size()); }
  int64_t size() const;
  /// The name that the program gave it, for messages; may be empty.
  const std::string &name() const;

  /// Returns whether the array is symbolic, a value of a program that is being traced; JAX's `isinstance(x,
  /// jax.core.Tracer)`.
  bool is_traced() const { return traced != nullptr; }
  /// Returns whether the array was donated to a call: only its type and sharding are known then.
  bool is_deleted() const;

  /// Returns whether all devices that hold a part are local to this process.
  bool is_fully_addressable() const;
  /// Returns whether every device holds all of the array.
  bool is_fully_replicated() const;
  /// Returns the shards on the devices of this process. No communication.
  std::vector<Shard> addressable_shards() const;

  /// Waits for the computation, and throws its error.
  const Array &block_until_ready() const;

  /// Returns the values, row-major; waits for them. Throws an error if this process holds no complete copy (the error
  /// names the calls that help) or if T does not match the dtype.
  template <typename T> std::vector<T> to_host() const;
  /// Returns the value of an array of one element.
  template <typename T> T item() const;

  /// Returns the values as NumPy prints them, or type and sharding if this process holds no complete copy.
  std::string str() const;

  /// Null for an Array that was never assigned. Throws an error for a traced or deleted one.
  const std::shared_ptr<const ArrayImpl> &get_impl() const;
  const std::shared_ptr<const TracedValue> &get_traced() const { return traced; }

private:
  void copy_to_host(DType dtype, void *target) const;

  std::shared_ptr<const ArrayImpl> impl;
  std::shared_ptr<const TracedValue> traced; ///< Set for a traced array, which has no impl.
};

/// The shard of one device. A value, as Array is.
struct Shard {
  DeviceInfo device;
  Index index;        ///< The part of the global array, without padding.
  int64_t replica_id; ///< 0 on the first device that holds this part.
  Array data;         ///< An array on that device alone.
};

/// Creates an array from its full value, which must be the same on all processes (compared by hash).
Array device_put(const ArrayView &value, const NamedSharding &sharding,
                 std::source_location where = std::source_location::current());
/// Creates an array on one device of this process.
Array device_put(const ArrayView &value, const DeviceInfo &device,
                 std::source_location where = std::source_location::current());
/// Reshards an array; every process of either mesh calls it.
Array device_put(const Array &value, const NamedSharding &sharding,
                 std::source_location where = std::source_location::current());

/// Creates an array from the rows (in general: the block) that this process's devices hold. Without a global shape, the
/// global shape follows from the local ones, which the processes compare first.
Array make_array_from_process_local_data(const NamedSharding &sharding, const ArrayView &local_data,
                                         std::optional<std::vector<int64_t>> global_shape = std::nullopt,
                                         std::source_location where = std::source_location::current());

/// Creates an array from one array for each device of this process; copies only where a shard is padded.
Array make_array_from_single_device_arrays(std::vector<int64_t> shape, const NamedSharding &sharding,
                                           const std::vector<Array> &arrays,
                                           std::source_location where = std::source_location::current());

/// Creates an array; calls the callback once for each part that this process's devices hold. The callback writes the
/// row-major values of `index` to `target`.
Array make_array_from_callback(std::vector<int64_t> shape, DType dtype, const NamedSharding &sharding,
                               const std::function<void(const Index &index, void *target)> &callback,
                               std::source_location where = std::source_location::current());
/// The same with typed values: the callback returns as many as the index has.
template <typename T>
Array make_array_from_callback(std::vector<int64_t> shape, const NamedSharding &sharding,
                               const std::function<std::vector<T>(const Index &)> &callback,
                               std::source_location where = std::source_location::current());

/// Returns the same value, complete on every process that takes part. Every process calls it.
Array process_allgather(const Array &value, std::source_location where = std::source_location::current());

/// Returns a drawing of boxes that shows which device holds which block of an array of one or two dimensions.
std::string visualize_array_sharding(const Array &array);
std::string visualize_sharding(const std::vector<int64_t> &shape, const NamedSharding &sharding);

//===----------------------------------------------------------------------===//
// Implementation of templates
//===----------------------------------------------------------------------===//

namespace detail {
int64_t indexElements(const Index &index);
[[noreturn]] void failItem(const Array &array);
[[noreturn]] void failCallbackSize(const Index &index, size_t elements);
} // namespace detail

template <typename T> std::vector<T> Array::to_host() const {
  static_assert(sizeof(bool) == 1);
  auto count = static_cast<size_t>(size());
  if constexpr (std::is_same_v<T, bool>) {
    std::vector<uint8_t> bytes(count);
    copy_to_host(DType::Bool, bytes.data());
    return std::vector<bool>(bytes.begin(), bytes.end());
  } else {
    std::vector<T> values(count);
    copy_to_host(dtype_of<T>::value, values.data());
    return values;
  }
}

template <typename T> T Array::item() const {
  if (size() != 1)
    detail::failItem(*this);
  return to_host<T>()[0];
}

template <typename T>
Array make_array_from_callback(std::vector<int64_t> shape, const NamedSharding &sharding,
                               const std::function<std::vector<T>(const Index &)> &callback,
                               std::source_location where) {
  return make_array_from_callback(
      std::move(shape), dtype_of<T>::value, sharding,
      [&](const Index &index, void *target) {
        std::vector<T> values = callback(index);
        if (static_cast<int64_t>(values.size()) != detail::indexElements(index))
          detail::failCallbackSize(index, values.size());
        std::copy(values.begin(), values.end(), static_cast<T *>(target));
      },
      where);
}

} // namespace spmd
