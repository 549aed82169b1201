//===- MakeArray.cpp - creating arrays ------------------------------------===//

#include "runtime/api/ArrayImpl.h"
#include "runtime/api/Runtime.h"
#include "runtime/artifact/PlanPrinter.h"
#include "runtime/artifact/Sha256.h"
#include "runtime/device/Allocation.h"
#include "runtime/io/BoxCopy.h"
#include "runtime/support/ArraySize.h"
#include "runtime/support/CountText.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

namespace spmd {
namespace {

Error usage(const std::string &message) { return Error(message, Error::Kind::Usage); }

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text = typeText(DType::F32, shape);
  return text.substr(text.find('['));
}

/// Returns the processes that have a device of the mesh, ascending.
std::vector<int32_t> processesOf(const Job &job, const Mesh &mesh) {
  std::set<int32_t> processes;
  for (int64_t id : mesh.device_ids())
    processes.insert(job.getDevice(id).process_index);
  return {processes.begin(), processes.end()};
}

/// Checks host values before they are read.
void checkView(const ArrayView &value, const std::string &function) {
  std::string given = function + " is given a view of type " + typeText(value.dtype, value.shape);
  if (std::string problem = shapeProblem(value.dtype, value.shape); !problem.empty())
    throw usage(given + "; " + problem);
  if (!value.data && elementCount(value.shape) > 0)
    throw usage(given + " whose data is null; give the address of its first element");
}

/// The exchange of a call at this place of the program.
Exchange callAt(const std::string &function, const std::source_location &where) {
  return {function, function + " at " + where.file_name() + ":" + std::to_string(where.line()),
          Exchange::Limit::Collective};
}

/// Compares, by its hash, a host value that should be the same on all processes.
void checkSameEverywhere(Job &job, const NamedSharding &sharding, const ArrayView &value,
                         const std::source_location &where) {
  std::vector<int32_t> processes = processesOf(job, sharding.mesh());
  if (processes.size() < 2 || std::find(processes.begin(), processes.end(), job.getProcess()) == processes.end())
    return;
  std::string type = typeText(value.dtype, value.shape);
  auto bytes = static_cast<size_t>(elementCount(value.shape) * byteSize(value.dtype));
  std::string digest = toHex(sha256({type, std::string_view(static_cast<const char *>(value.data), bytes)}));
  std::vector<std::string> all = job.exchange(callAt("device_put", where), processes, type + " " + digest);
  for (size_t i = 1; i < all.size(); ++i)
    if (all[i] != all[0])
      throw usage("device_put has different values on process " + std::to_string(processes[0]) + " (" +
                  all[0].substr(0, all[0].rfind(' ')) + ") and process " + std::to_string(processes[i]) + " (" +
                  all[i].substr(0, all[i].rfind(' ')) +
                  "); give the same on all processes, or use make_array_from_process_local_data");
}

/// The part of one dimension that this process's devices hold.
struct LocalDim {
  std::vector<ShardRange> shards; ///< The distinct shards, in global order.
  int64_t shardCount = 1;         ///< The number of shards of the dimension.
  int64_t localShardCount = 1;    ///< The number of shards on this process, empty ones included.
};

/// Returns the shards of one dimension at these mesh positions.
LocalDim localDim(const MeshShape &mesh, const Sharding &sharding, size_t dim, int64_t size,
                  const std::vector<int64_t> &positions) {
  LocalDim result;
  std::map<std::vector<int64_t>, ShardRange> shards; // By coordinates over the dimension's axes, major first.
  std::vector<int64_t> sizes;
  for (const AxisRef &axis : sharding.dims[dim]) {
    sizes.push_back(axis.sizeIn(mesh));
    result.shardCount *= sizes.back();
  }
  for (int64_t position : positions) {
    std::vector<int64_t> coordinates = mesh.coordinates(position), own;
    for (const AxisRef &axis : sharding.dims[dim])
      own.push_back(axis.coordinateIn(mesh, coordinates));
    shards[own] = shardRange(size, sizes, own);
  }
  result.localShardCount = static_cast<int64_t>(shards.size());
  for (const auto &[coordinates, range] : shards)
    result.shards.push_back(range);
  return result;
}

} // namespace

std::string shapeProblem(DType dtype, const std::vector<int64_t> &shape) {
  if (std::any_of(shape.begin(), shape.end(), [](int64_t size) { return size < 0; }))
    return "sizes are not negative";
  return isAllowedSize(shape, byteSize(dtype)) ? "" : "that is more than any memory holds";
}

std::shared_ptr<ArrayImpl> planArray(const std::shared_ptr<Job> &job, DType dtype, std::vector<int64_t> shape,
                                     const NamedSharding &sharding, const std::string &name) {
  if (std::string problem = shapeProblem(dtype, shape); !problem.empty())
    throw usage("an array has the type " + typeText(dtype, shape) + "; " + problem);
  auto impl = std::make_shared<ArrayImpl>();
  impl->job = job;
  impl->dtype = dtype;
  impl->sharding = sharding;
  impl->name = name;
  MeshShape mesh = meshShapeOf(sharding.mesh());
  Sharding layout = shardingOf(sharding.spec(), shape.size());
  impl->localShape = localShape(mesh, shape, layout);
  const std::vector<int64_t> &ids = sharding.mesh().device_ids();
  for (size_t position = 0; position < ids.size(); ++position) {
    if (ids[position] < 0 || ids[position] >= static_cast<int64_t>(job->getDevices().size()))
      throw usage(sharding.mesh().str() + " has a device with id " + std::to_string(ids[position]) +
                  ", which the job does not have");
    if (DeviceRef device = job->findLocalDevice(ids[position]))
      impl->editParts().push_back({static_cast<int64_t>(position), device, nullptr,
                                   ownedRanges(mesh, shape, layout, static_cast<int64_t>(position))});
  }
  impl->shape = std::move(shape);
  return impl;
}

Array fillArray(const std::shared_ptr<Job> &job, DType dtype, std::vector<int64_t> shape, const NamedSharding &sharding,
                const FillFunction &fill, const std::string &name) {
  std::shared_ptr<ArrayImpl> impl = planArray(job, dtype, std::move(shape), sharding, name);
  int64_t bytes = elementCount(impl->localShape) * byteSize(dtype);
  std::vector<LocalPart> &parts = impl->editParts();
  for (size_t i = 0; i < parts.size(); ++i) {
    LocalPart &part = parts[i];
    auto *end = parts.data() + i;
    auto *replica = std::find_if(parts.data(), end, [&](const LocalPart &p) { return p.ranges == part.ranges; });
    // CPU devices use the host's memory: elements are written in place, and devices of a process share one copy.
    bool isHost = part.device->getBackend() == "cpu";
    if (isHost && replica != end) {
      part.buffer = replica->buffer;
      part.use = replica->use;
      continue;
    }
    part.buffer =
        allocateFor(*part.device, std::max<int64_t>(1, bytes), [&] { return "the array " + impl->describe(); });
    part.use = std::make_shared<const BufferUse>();
    std::vector<char> staging(isHost ? 0 : static_cast<size_t>(bytes));
    char *target = isHost ? static_cast<char *>(part.buffer->data()) : staging.data();
    std::vector<int64_t> owned = sizesOf(part.ranges);
    if (owned != impl->localShape)
      std::memset(target, 0, static_cast<size_t>(bytes));
    if (elementCount(owned) > 0)
      fill(part.ranges, impl->localShape, target);
    if (!isHost)
      part.device->copyFromHost(*part.buffer, staging.data(), bytes);
  }
  return Array(std::move(impl));
}

Array device_put(const ArrayView &value, const NamedSharding &sharding, std::source_location where) {
  std::shared_ptr<Job> job = currentJob(where);
  checkView(value, "device_put");
  shardingOf(sharding.spec(), value.shape.size()); // Checks the rank before any communication.
  try {
    checkSameEverywhere(*job, sharding, value, where);
  } catch (...) {
    job->markFailed();
    throw;
  }
  return fillArray(job, value.dtype, value.shape, sharding,
                   [&](const std::vector<ShardRange> &ranges, const std::vector<int64_t> &padded, void *target) {
                     copyBox(byteSize(value.dtype), sizesOf(ranges), value.data, value.shape, startsOf(ranges), target,
                             padded, std::vector<int64_t>(ranges.size()));
                   });
}

Array device_put(const ArrayView &value, const DeviceInfo &device, std::source_location where) {
  std::shared_ptr<Job> job = currentJob(where);
  if (device.process_index != job->getProcess())
    throw usage("device_put to " + device.str() + ", which is local to process " +
                std::to_string(device.process_index) + ", is called on process " + std::to_string(job->getProcess()) +
                "; put values on devices of local_devices()");
  return device_put(value, NamedSharding(Mesh({}, {}, {device}), P()), where);
}

Array device_put(const Array &value, const NamedSharding &sharding, std::source_location where) {
  return reshard(value, sharding, where);
}

Array make_array_from_callback(std::vector<int64_t> shape, DType dtype, const NamedSharding &sharding,
                               const std::function<void(const Index &index, void *target)> &callback,
                               std::source_location where) {
  std::shared_ptr<Job> job = currentJob(where);
  int64_t elementBytes = byteSize(dtype);
  return fillArray(job, dtype, std::move(shape), sharding,
                   [&](const std::vector<ShardRange> &ranges, const std::vector<int64_t> &padded, void *target) {
                     std::vector<int64_t> owned = sizesOf(ranges), zero(ranges.size());
                     if (owned == padded) {
                       callback(indexOf(ranges), target);
                       return;
                     }
                     std::vector<char> values(static_cast<size_t>(elementCount(owned) * elementBytes));
                     callback(indexOf(ranges), values.data());
                     copyBox(elementBytes, owned, values.data(), owned, zero, target, padded, zero);
                   });
}

Array make_array_from_single_device_arrays(std::vector<int64_t> shape, const NamedSharding &sharding,
                                           const std::vector<Array> &arrays, std::source_location where) {
  std::shared_ptr<Job> job = currentJob(where);
  std::map<int64_t, const ArrayImpl *> byDevice;
  for (const Array &array : arrays) {
    array.shape(); // Throws for an empty Array.
    const ArrayImpl &impl = *array.get_impl();
    PartsRef parts = impl.getParts();
    if (parts->size() != 1 || impl.sharding.mesh().size() != 1)
      throw usage("make_array_from_single_device_arrays is given " + impl.describe() +
                  ", which is not on one device of this process; make it with device_put(value, device)");
    if (!byDevice.emplace(parts->front().device->getId(), &impl).second)
      throw usage("make_array_from_single_device_arrays is given two arrays on " +
                  job->getDevice(parts->front().device->getId()).str());
  }
  if (arrays.empty())
    throw usage("make_array_from_single_device_arrays is given no array; give one for each local device");
  DType dtype = arrays[0].dtype();
  std::shared_ptr<ArrayImpl> result = planArray(job, dtype, std::move(shape), sharding);
  if (byDevice.size() != result->editParts().size())
    throw usage("make_array_from_single_device_arrays is given " +
                countText(static_cast<int64_t>(arrays.size()), "array") + " and the mesh has " +
                countText(static_cast<int64_t>(result->editParts().size()), "device") + " of this process");
  for (LocalPart &part : result->editParts()) {
    DeviceInfo device = job->getDevice(part.device->getId());
    auto found = byDevice.find(device.id);
    if (found == byDevice.end())
      throw usage("make_array_from_single_device_arrays is given no array on " + device.str());
    const ArrayImpl &source = *found->second;
    std::vector<int64_t> owned = sizesOf(part.ranges);
    if (source.shape != owned || source.dtype != dtype)
      throw usage("the array on " + device.str() + " is " + typeText(source.dtype, source.shape) + " where " +
                  typeText(dtype, owned) + " belongs, elements [" + indexText(part.ranges) + "] of " +
                  result->describe());
    source.wait();
    PartsRef given = source.getParts();
    if (owned == result->localShape) { // Without padding the buffer is shared.
      part.buffer = given->front().buffer;
      part.use = given->front().use;
      continue;
    }
    std::vector<char> values(static_cast<size_t>(elementCount(owned) * byteSize(dtype)));
    source.copyPart(given->front(), values.data());
    std::vector<char> padded(static_cast<size_t>(elementCount(result->localShape) * byteSize(dtype)));
    std::vector<int64_t> zero(owned.size());
    copyBox(byteSize(dtype), owned, values.data(), owned, zero, padded.data(), result->localShape, zero);
    part.buffer = allocateFor(*part.device, std::max<int64_t>(1, static_cast<int64_t>(padded.size())),
                              [&] { return "the array " + result->describe(); });
    part.use = std::make_shared<const BufferUse>();
    part.device->copyFromHost(*part.buffer, padded.data(), static_cast<int64_t>(padded.size()));
  }
  return Array(std::move(result));
}

Array make_array_from_process_local_data(const NamedSharding &sharding, const ArrayView &local,
                                         std::optional<std::vector<int64_t>> globalShape, std::source_location where) {
  std::shared_ptr<Job> job = currentJob(where);
  checkView(local, "make_array_from_process_local_data");
  MeshShape mesh = meshShapeOf(sharding.mesh());
  size_t rank = local.shape.size();
  Sharding layout = shardingOf(sharding.spec(), rank);
  if (globalShape && globalShape->size() != rank)
    throw usage("the global shape " + shapeText(*globalShape) + " and the local data's " + shapeText(local.shape) +
                " have different numbers of dimensions");
  std::vector<int64_t> positions;
  const std::vector<int64_t> &ids = sharding.mesh().device_ids();
  for (size_t i = 0; i < ids.size(); ++i)
    if (job->findLocalDevice(ids[i]))
      positions.push_back(static_cast<int64_t>(i));
  if (positions.empty())
    throw usage("process " + std::to_string(job->getProcess()) + " has no device in " + sharding.mesh().str());

  // Without a global shape, every process derives one from its own block; all must agree.
  std::vector<int64_t> shape = globalShape.value_or(std::vector<int64_t>());
  std::string problem;
  if (!globalShape)
    for (size_t d = 0; d < rank; ++d) {
      LocalDim dim = localDim(mesh, layout, d, 0, positions);
      if (local.shape[d] % dim.localShardCount != 0)
        problem = "dimension " + std::to_string(d) + " of " + countText(local.shape[d], "element") +
                  " does not divide among " + std::to_string(dim.localShardCount) + " shards of this process";
      shape.push_back(multiplySaturated(local.shape[d] / dim.localShardCount, dim.shardCount));
    }
  std::vector<int32_t> processes = processesOf(*job, sharding.mesh());
  std::string type = std::string(dtypeName(local.dtype));
  std::vector<std::string> all = job->exchange(callAt("make_array_from_process_local_data", where), processes,
                                               type + shapeText(shape) + " " + type + shapeText(local.shape));
  auto globalOf = [](const std::string &text) { return text.substr(0, text.find(']') + 1); };
  bool isAgreed =
      std::all_of(all.begin(), all.end(), [&](const std::string &text) { return globalOf(text) == globalOf(all[0]); });
  if (!isAgreed) {
    job->markFailed();
    std::string list;
    for (size_t i = 0; i < all.size(); ++i)
      list += (i ? ", process " : "process ") + std::to_string(processes[i]) + " has " +
              all[i].substr(globalOf(all[i]).size() + 1);
    throw usage("the local data of the processes do not make one array: " + list +
                "; give blocks of the same size, or the global shape");
  }
  if (!problem.empty())
    throw usage(problem + "; give the global shape");

  std::vector<LocalDim> dims;
  std::vector<int64_t> expected;
  for (size_t d = 0; d < rank; ++d) {
    dims.push_back(localDim(mesh, layout, d, shape[d], positions));
    int64_t size = 0;
    for (const ShardRange &shard : dims.back().shards)
      size += shard.size;
    // If the data has all elements of a dimension, it is accepted even if this process holds only a part of them.
    expected.push_back(local.shape[d] == shape[d] ? shape[d] : size);
  }
  if (local.shape != expected)
    throw usage("process " + std::to_string(job->getProcess()) + " gives local data of shape " +
                shapeText(local.shape) + " and its devices hold " + shapeText(expected) + " of " + shapeText(shape) +
                " @ " + layout.str());
  return fillArray(job, local.dtype, shape, sharding,
                   [&](const std::vector<ShardRange> &ranges, const std::vector<int64_t> &padded, void *target) {
                     std::vector<int64_t> start;
                     for (size_t d = 0; d < rank; ++d) {
                       int64_t offset = ranges[d].start;
                       if (local.shape[d] != shape[d]) {
                         offset = 0;
                         for (const ShardRange &shard : dims[d].shards)
                           offset += shard.start < ranges[d].start ? shard.size : 0;
                       }
                       start.push_back(offset);
                     }
                     copyBox(byteSize(local.dtype), sizesOf(ranges), local.data, local.shape, start, target, padded,
                             std::vector<int64_t>(rank));
                   });
}

} // namespace spmd
