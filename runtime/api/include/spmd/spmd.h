//===- spmd.h - the public C++ interface ------------------------*- C++ -*-===//
//
// Multi-controller programming as JAX has it: every process runs the same program and calls the same functions in the
// same order; an Array may span the devices of all processes. Public names are JAX's, in its snake_case.
//
//     spmd::initialize({.coordinator_address = "10.0.0.1:4711", .num_processes = 4, .process_id = id});
//     spmd::Mesh mesh = spmd::make_mesh({4, 2}, {"i", "j"});
//     spmd::Array x = spmd::device_put(spmd::view(values, {4, 8}), spmd::NamedSharding(mesh, spmd::P("i", "j")));
//     spmd::Function f = spmd::jit("mesh m(i=4, j=2) fn main(x: f32[4@i, 8@j]) -> f32 { return sum(sin(x)); }");
//     float total = f(x)[0].item<float>();
//     spmd::shutdown();
//
// Every error is an spmd::Error whose message is one sentence: what is wrong, where, and what to do. Functions may be
// called from one thread at a time, unless said otherwise.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/support/DType.h"
#include "runtime/support/Error.h"

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace spmd {

struct Artifact;

//===----------------------------------------------------------------------===//
// The job
//===----------------------------------------------------------------------===//

/// Numbers of devices on this machine: `2`, or `{0, 1}`.
class DeviceIds {
public:
  DeviceIds() = default;
  DeviceIds(int id) : ids(std::vector<int32_t>{id}) {}
  DeviceIds(std::initializer_list<int> list) : ids(std::vector<int32_t>(list.begin(), list.end())) {}
  DeviceIds(std::vector<int32_t> list) : ids(std::move(list)) {}
  const std::optional<std::vector<int32_t>> &get() const { return ids; }

private:
  std::optional<std::vector<int32_t>> ids;
};

/// What initialize() takes. What is left out is looked for in the environment (SPMD_COORDINATOR_ADDRESS,
/// SPMD_NUM_PROCESSES, SPMD_PROCESS_ID, ...: `SPMD_` and the name in capitals).
struct InitializeOptions {
  std::optional<std::string> coordinator_address = {};      ///< Host and port of process 0.
  std::optional<std::string> coordinator_bind_address = {}; ///< Where process 0 listens; default: that interface.
  std::optional<int> num_processes = {};
  std::optional<int> process_id = {};
  DeviceIds local_device_ids = {};
  std::optional<std::chrono::milliseconds> initialization_timeout = {}; ///< Default: 300 s, end to end.
  std::optional<int> devices_per_process = {};                          ///< CPU devices of this process; default 1.
  std::optional<std::chrono::milliseconds> heartbeat_timeout = {};      ///< Default: 10 s.
  std::optional<std::chrono::milliseconds> collective_timeout = {};     ///< Default: 300 s; 0: never.
  std::optional<std::string> job_id = {};
  std::optional<std::string> token_file = {};
  /// All connections by TLS: this process's certificate, its key, and the authority that has signed those of all
  /// processes (PEM files). All three, or none.
  std::optional<std::string> tls_cert = {}, tls_key = {}, tls_ca = {};
};

/// Joins the job; before anything that touches devices. Returns when all processes have come. With one process it is
/// harmless and opens no port; so it is when nothing at all is given or found. A second call, or a call after devices
/// were touched, is an error that says where the first was, and changes nothing.
void initialize(const InitializeOptions &options = {}, std::source_location where = std::source_location::current());

/// Leaves the job in order: waits until every process has called it. Without it, a process that ends leaves in the
/// same way, unless one of its calls had failed: then the job ends with its error.
void shutdown();

int process_index(std::source_location where = std::source_location::current());
int process_count(std::source_location where = std::source_location::current());

/// One executor of programs.
struct DeviceInfo {
  int64_t id = 0;        ///< Dense over the job, in process order.
  int process_index = 0; ///< The process that it is local to.
  std::string platform;  ///< `cpu`.
  int32_t local_id = 0;  ///< Its number on its machine.
  bool operator==(const DeviceInfo &) const = default;
  /// `CpuDevice(id=3)`.
  std::string str() const;
};

/// All devices of the job, in process order.
std::vector<DeviceInfo> devices(std::source_location where = std::source_location::current());
/// Those of this process.
std::vector<DeviceInfo> local_devices(std::source_location where = std::source_location::current());
int64_t device_count(std::source_location where = std::source_location::current());
int64_t local_device_count(std::source_location where = std::source_location::current());

/// Waits until all processes have called it with this name; at the limit an error lists those that did not.
void sync_processes(const std::string &name, std::chrono::milliseconds timeout = std::chrono::seconds(300));

//===----------------------------------------------------------------------===//
// Meshes and shardings
//===----------------------------------------------------------------------===//

/// Devices in a named grid, first axis major. A mesh may use some of the devices only.
class Mesh {
public:
  Mesh() = default;
  /// `devices` in row-major order of their coordinates; each at most once.
  Mesh(std::vector<int64_t> axis_sizes, std::vector<std::string> axis_names, const std::vector<DeviceInfo> &devices);

  const std::vector<int64_t> &axis_sizes() const { return sizes; }
  const std::vector<std::string> &axis_names() const { return names; }
  const std::vector<int64_t> &device_ids() const { return ids; }
  int64_t size() const { return static_cast<int64_t>(ids.size()); }
  bool operator==(const Mesh &) const = default;
  /// `Mesh('a': 4, 'b': 2)`.
  std::string str() const;

private:
  std::vector<int64_t> sizes;
  std::vector<std::string> names;
  std::vector<int64_t> ids;
};

/// A mesh of all devices, ordered so that the last axes stay within a host. The product of the sizes must be the
/// number of devices.
Mesh make_mesh(std::vector<int64_t> axis_sizes, std::vector<std::string> axis_names,
               std::source_location where = std::source_location::current());

/// How one dimension is cut: by an axis, by several (major to minor), or not at all (nullptr).
class DimSpec {
public:
  DimSpec(std::nullptr_t) {}
  DimSpec(const char *axis) : names{axis} {}
  DimSpec(std::string axis) : names{std::move(axis)} {}
  DimSpec(std::vector<std::string> axes) : names(std::move(axes)) {}
  const std::vector<std::string> &axes() const { return names; }
  bool operator==(const DimSpec &) const = default;

private:
  std::vector<std::string> names;
};

/// Several axes in one dimension: P(axes("a", "b"), nullptr).
template <typename... Names> DimSpec axes(Names... names) { return DimSpec(std::vector<std::string>{names...}); }

/// A partition specification: P("i", nullptr). Dimensions left out at the end are not cut.
class P {
public:
  P() = default;
  template <typename First, typename... Rest>
    requires(!std::same_as<std::remove_cvref_t<First>, P>)
  explicit P(First &&first, Rest &&...rest)
      : dims{DimSpec(std::forward<First>(first)), DimSpec(std::forward<Rest>(rest))...} {}
  static P of(std::vector<DimSpec> dims) {
    P spec;
    spec.dims = std::move(dims);
    return spec;
  }

  const std::vector<DimSpec> &dim_specs() const { return dims; }
  bool operator==(const P &) const = default;
  /// `P(i, _)`.
  std::string str() const;

private:
  std::vector<DimSpec> dims;
};

/// How an array lies on the devices of a mesh. Axes of the specification must be of the mesh, each at most once.
class NamedSharding {
public:
  NamedSharding() = default;
  NamedSharding(Mesh mesh, P spec);
  const Mesh &mesh() const { return grid; }
  const P &spec() const { return partition; }
  bool is_fully_replicated() const;
  bool operator==(const NamedSharding &) const = default;
  /// `NamedSharding(mesh=Mesh('a': 4, 'b': 2), spec=P(a, _))`.
  std::string str() const;

private:
  Mesh grid;
  P partition;
};

//===----------------------------------------------------------------------===//
// Host values
//===----------------------------------------------------------------------===//

/// The 16-bit floats, as bits.
struct bfloat16 {
  uint16_t bits = 0;
  bool operator==(const bfloat16 &) const = default;
};
struct float16 {
  uint16_t bits = 0;
  bool operator==(const float16 &) const = default;
};

/// The element type of a C++ type.
template <typename T> struct dtype_of;
template <> struct dtype_of<double> {
  static constexpr DType value = DType::F64;
};
template <> struct dtype_of<float> {
  static constexpr DType value = DType::F32;
};
template <> struct dtype_of<bfloat16> {
  static constexpr DType value = DType::BF16;
};
template <> struct dtype_of<float16> {
  static constexpr DType value = DType::F16;
};
template <> struct dtype_of<int64_t> {
  static constexpr DType value = DType::I64;
};
template <> struct dtype_of<int32_t> {
  static constexpr DType value = DType::I32;
};
template <> struct dtype_of<int8_t> {
  static constexpr DType value = DType::I8;
};
template <> struct dtype_of<uint32_t> {
  static constexpr DType value = DType::U32;
};
template <> struct dtype_of<uint8_t> {
  static constexpr DType value = DType::U8;
};
template <> struct dtype_of<bool> {
  static constexpr DType value = DType::Bool;
};

/// Row-major values on the host that somebody else owns.
struct ArrayView {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  const void *data = nullptr;
};

/// A view of contiguous elements; an error where the shape does not have as many. Without a shape: one dimension.
template <typename T> ArrayView view(std::span<const T> elements, std::vector<int64_t> shape);
template <typename T> ArrayView view(const std::vector<T> &elements, std::vector<int64_t> shape) {
  return view(std::span<const T>(elements), std::move(shape));
}
template <typename T> ArrayView view(const std::vector<T> &elements) {
  return view(elements, {static_cast<int64_t>(elements.size())});
}

/// [start, stop) of one dimension.
struct Slice {
  int64_t start = 0, stop = 0;
  bool operator==(const Slice &) const = default;
};
/// Which part of an array: one slice per dimension.
using Index = std::vector<Slice>;

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

struct Shard;
class ArrayImpl;

/// A value spread over the devices of a mesh, perhaps still being computed. Copies share the value, which never
/// changes.
class Array {
public:
  Array() = default;
  explicit Array(std::shared_ptr<const ArrayImpl> impl) : impl(std::move(impl)) {}

  const std::vector<int64_t> &shape() const;
  DType dtype() const;
  const NamedSharding &sharding() const;
  int64_t ndim() const { return static_cast<int64_t>(shape().size()); }
  int64_t size() const;
  /// As the program names it, for messages; may be empty.
  const std::string &name() const;

  /// Whether all devices that hold a part are of this process.
  bool is_fully_addressable() const;
  /// Whether every device holds all of it.
  bool is_fully_replicated() const;
  /// What the devices of this process hold. No communication.
  std::vector<Shard> addressable_shards() const;

  /// Waits for the computation, and throws its error.
  const Array &block_until_ready() const;

  /// The values, row-major; waits for them. An error where this process holds no complete copy (it names the calls
  /// that help) or T is not the dtype.
  template <typename T> std::vector<T> to_host() const;
  /// The value of an array of one element.
  template <typename T> T item() const;

  /// The values as NumPy prints them, or type and sharding where this process holds no complete copy.
  std::string str() const;

  const std::shared_ptr<const ArrayImpl> &get_impl() const { return impl; }

private:
  void copy_to_host(DType dtype, void *target) const;

  std::shared_ptr<const ArrayImpl> impl;
};

/// One device's part of an array.
struct Shard {
  DeviceInfo device;
  Index index;        ///< Of the global array; without padding.
  int64_t replica_id; ///< 0 on the first device that holds this part.
  Array data;         ///< On that device alone.
};

/// The full value from every process, which must be the same on all (compared by hash).
Array device_put(const ArrayView &value, const NamedSharding &sharding);
/// On one device of this process.
Array device_put(const ArrayView &value, const DeviceInfo &device);
/// The same value with another sharding; every process of either mesh calls it.
Array device_put(const Array &value, const NamedSharding &sharding);

/// From the rows (in general: the block) that this process's devices hold. Without a global shape, it follows from
/// the local ones, which are compared first.
Array make_array_from_process_local_data(const NamedSharding &sharding, const ArrayView &local_data,
                                         std::optional<std::vector<int64_t>> global_shape = std::nullopt);

/// From one array for each device of this process, without a copy where nothing is padded.
Array make_array_from_single_device_arrays(std::vector<int64_t> shape, const NamedSharding &sharding,
                                           const std::vector<Array> &arrays);

/// Asks for each part that this process's devices hold, once. The callback writes the row-major values of `index` to
/// `target`.
Array make_array_from_callback(std::vector<int64_t> shape, DType dtype, const NamedSharding &sharding,
                               const std::function<void(const Index &index, void *target)> &callback);
/// The same with typed values: returns as many as the index has.
template <typename T>
Array make_array_from_callback(std::vector<int64_t> shape, const NamedSharding &sharding,
                               const std::function<std::vector<T>(const Index &)> &callback);

/// The same value, complete on every process that takes part. Every process calls it.
Array process_allgather(const Array &value);

/// The box drawing of which device holds which block, of an array of one or two dimensions.
std::string visualize_array_sharding(const Array &array);
std::string visualize_sharding(const std::vector<int64_t> &shape, const NamedSharding &sharding);

//===----------------------------------------------------------------------===//
// Batches of data
//===----------------------------------------------------------------------===//

/// What becomes of the rows at the end of an epoch that are fewer than a batch. The same on all processes.
enum class LastBatch : uint8_t {
  drop, ///< They are left out of this epoch.
  keep, ///< They make a batch of fewer rows.
  wrap, ///< The batch is filled up with the next epoch's first rows.
};

struct BatchOptions {
  int64_t batch_size = 0;               ///< Rows of a batch, over all devices.
  std::optional<uint64_t> shuffle = {}; ///< A seed: each epoch has another order, the same on all processes.
  LastBatch last_batch = LastBatch::drop;
};

/// Batches of the rows of .npy files, epoch after epoch without an end: row i of a batch is the same row of every file.
/// Files are mapped, and each process reads what its devices hold of a batch; the next batch is read while the program
/// works on the one before. Every process makes the same calls.
class BatchLoader {
public:
  /// `sharding`: of a batch; its first dimension is the rows.
  BatchLoader(const std::vector<std::string> &files, const NamedSharding &sharding, BatchOptions options,
              std::source_location where = std::source_location::current());

  int64_t batches_per_epoch() const;
  /// The next batch: one array for each file.
  std::vector<Array> next();
  /// Batch `batch`, counted over all epochs from 0, comes next: to go on from a checkpoint.
  void seek(int64_t batch);

private:
  struct Impl;
  std::shared_ptr<Impl> impl;
};

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// A parameter or a result.
struct ValueDescription {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  NamedSharding sharding;
};

class FunctionImpl;

/// A compiled program, or one that is compiled at its first call.
class Function {
public:
  Function() = default;
  explicit Function(std::shared_ptr<FunctionImpl> impl) : impl(std::move(impl)) {}

  /// Runs it and returns without waiting for the results. Arguments must have the parameters' types and lie as their
  /// annotations say; the error suggests the device_put that helps.
  std::vector<Array> call(const std::vector<Array> &arguments) const;
  template <typename... Arrays> std::vector<Array> operator()(const Arrays &...arguments) const {
    return call({arguments...});
  }

  /// Of a program that is compiled.
  std::vector<ValueDescription> parameters() const;
  std::vector<ValueDescription> results() const;
  /// The text of a stage; a loaded artifact has `plan`.
  std::string as_text(const std::string &stage) const;

  const std::shared_ptr<FunctionImpl> &get_impl() const { return impl; }

private:
  std::shared_ptr<FunctionImpl> impl;
};

/// A program that `spmdc compile` wrote. Without a mesh: all devices.
Function load(const std::string &path, std::optional<Mesh> mesh = std::nullopt,
              std::source_location where = std::source_location::current());
Function load(std::shared_ptr<const Artifact> artifact, std::optional<Mesh> mesh = std::nullopt,
              std::source_location where = std::source_location::current());

struct JitOptions {
  std::string function = "main";                                   ///< The entry.
  std::optional<Mesh> mesh = {};                                   ///< Default: the source's, over all devices.
  std::vector<std::pair<std::string, std::string>> constants = {}; ///< Values of the source's consts.
  std::string file_name = "<jit>";                                 ///< In messages.
  bool check_nans = false; ///< A call whose results hold a NaN fails, naming the step that made it.
};

/// A program in the language of LANGUAGE.md; compiled at the first call and kept. Needs the library with the compiler.
Function jit(std::string source, JitOptions options = {}, std::source_location where = std::source_location::current());

//===----------------------------------------------------------------------===//
// Checkpoints
//===----------------------------------------------------------------------===//

class SaveState;

/// A checkpoint that is being written. Copies are of the same one. Thread-safe.
class CheckpointSave {
public:
  CheckpointSave() = default;
  explicit CheckpointSave(std::shared_ptr<SaveState> state) : state(std::move(state)) {}

  /// Waits until it survives a power cut. Throws what went wrong, on all processes alike; an earlier checkpoint is
  /// untouched then.
  void wait() const;
  /// Whether wait() returns at once.
  bool is_done() const;

private:
  std::shared_ptr<SaveState> state;
};

struct SaveOptions {
  int64_t keep = 0;                      ///< Remove all but so many of the newest checkpoints afterwards; 0: none.
  std::function<void()> when_saved = {}; ///< Called once it is durable, on a thread of the runtime.
};

/// Writes named arrays to the folder `directory`/step-0000000120, which all hosts must see, and returns at once: the
/// arrays are read in the background (their memory stays in use that long). Each process writes the parts that its
/// devices hold, every distinct part once, to a .safetensors file of its own. Every process calls it with the same
/// names; shutdown() waits for it. One job at a time may write to a directory.
CheckpointSave save_checkpoint(const std::string &directory, int64_t step,
                               const std::vector<std::pair<std::string, Array>> &arrays, SaveOptions options = {});

/// The steps of the complete checkpoints in a folder, ascending.
std::vector<int64_t> checkpoint_steps(const std::string &directory);

/// An array of a checkpoint.
struct SavedArray {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
};
/// What a checkpoint holds.
std::vector<SavedArray> checkpoint_contents(const std::string &directory, int64_t step);

struct RestoredCheckpoint {
  int64_t step = 0;
  std::vector<Array> arrays;         ///< As asked for.
  std::vector<std::string> warnings; ///< One sentence for each newer checkpoint that is damaged.
};

/// Reads arrays of a checkpoint into any sharding, on any mesh and number of processes: what a process reads is what
/// its devices hold, and it is compared with its checksums. Every process calls it. Without a step: the newest one
/// that is not damaged. Throws where there is none, or an array is not in it.
RestoredCheckpoint restore_checkpoint(const std::string &directory,
                                      const std::vector<std::pair<std::string, NamedSharding>> &wanted,
                                      std::optional<int64_t> step = std::nullopt);

//===----------------------------------------------------------------------===//
// Implementation of templates
//===----------------------------------------------------------------------===//

namespace detail {
void checkElementCount(size_t elements, const std::vector<int64_t> &shape);
int64_t indexElements(const Index &index);
[[noreturn]] void failItem(const Array &array);
[[noreturn]] void failCallbackSize(const Index &index, size_t elements);
} // namespace detail

template <typename T> ArrayView view(std::span<const T> elements, std::vector<int64_t> shape) {
  detail::checkElementCount(elements.size(), shape);
  return {dtype_of<T>::value, std::move(shape), elements.data()};
}

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
                               const std::function<std::vector<T>(const Index &)> &callback) {
  return make_array_from_callback(std::move(shape), dtype_of<T>::value, sharding,
                                  [&](const Index &index, void *target) {
                                    std::vector<T> values = callback(index);
                                    if (static_cast<int64_t>(values.size()) != detail::indexElements(index))
                                      detail::failCallbackSize(index, values.size());
                                    std::copy(values.begin(), values.end(), static_cast<T *>(target));
                                  });
}

} // namespace spmd
