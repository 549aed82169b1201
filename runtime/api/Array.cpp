//===- Array.cpp - arrays, and reading their values -----------------------===//

#include "runtime/api/ArrayImpl.h"

#include "runtime/api/TracedValue.h"
#include "runtime/artifact/PlanPrinter.h"
#include "runtime/device/Allocation.h"
#include "runtime/io/BoxCopy.h"
#include "runtime/io/NumpyPrinter.h"
#include "runtime/io/ShardingDrawing.h"
#include "runtime/support/NanError.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

namespace spmd {

//===----------------------------------------------------------------------===//
// Pending
//===----------------------------------------------------------------------===//

void Pending::wait() {
  std::vector<std::shared_ptr<Pending>> before;
  {
    std::lock_guard lock(mutex);
    before = arguments;
  }
  try {
    for (const auto &argument : before)
      argument->wait();
    launch->wait();
  } catch (const NanError &) { // This error concerns only this call.
    throw;
  } catch (...) {
    job->markFailed();
    throw;
  }
  std::lock_guard lock(mutex);
  arguments.clear();
}

void Pending::prune() {
  std::lock_guard lock(mutex);
  std::erase_if(arguments, [](const std::shared_ptr<Pending> &argument) {
    if (!argument->isDone())
      return false;
    argument->wait(); // Does not wait; throws the error of a failed computation.
    return true;
  });
}

//===----------------------------------------------------------------------===//
// ArrayImpl
//===----------------------------------------------------------------------===//

std::string ArrayImpl::describe() const {
  std::string text = name.empty() ? "" : name + ": ";
  return text + typeText(dtype, shape) + " @ " + shardingOf(sharding.spec(), shape.size()).str();
}

ArrayImpl::ArrayImpl(const ArrayImpl &other)
    : job(other.job), dtype(other.dtype), shape(other.shape), sharding(other.sharding), name(other.name),
      localShape(other.localShape), pending(other.pending), isUncommitted(other.isUncommitted),
      parts(std::make_shared<std::vector<LocalPart>>(*other.getParts())) {}

PartsRef ArrayImpl::getParts() const {
  std::lock_guard lock(mutex);
  if (!deletionReason.empty())
    failDeleted();
  return parts;
}

void ArrayImpl::checkUsable() const {
  if (!isDeleted())
    return;
  std::lock_guard lock(mutex);
  if (!deletionReason.empty()) // Another thread may have called undoDonation meanwhile.
    failDeleted();
}

void ArrayImpl::failDeleted() const {
  throw Error(describe() + " is used after " + deletionReason +
                  ": its memory went to that call's results; use them, or do not donate the argument",
              Error::Kind::Usage);
}

bool ArrayImpl::deleteDonated(const std::string &why, const PartsRef &own) const {
  std::lock_guard lock(mutex);
  if (!deletionReason.empty())
    failDeleted();
  // Two references to the parts: the array's and the caller's. Other sharing of the memory shows in `use`.
  bool isSole = parts.use_count() == 2 &&
                std::all_of(own->begin(), own->end(), [](const LocalPart &part) { return part.use.use_count() == 1; });
  // Makes visible what other threads did before they released the memory.
  std::atomic_thread_fence(std::memory_order_acquire);
  deletionReason = why;
  parts = std::make_shared<std::vector<LocalPart>>();
  deleted.store(true, std::memory_order_release);
  return isSole;
}

void ArrayImpl::undoDonation(PartsRef own) const {
  std::lock_guard lock(mutex);
  parts = std::make_shared<std::vector<LocalPart>>(*own);
  deletionReason.clear();
  deleted.store(false, std::memory_order_release);
}

void ArrayImpl::copyPart(const LocalPart &part, void *target) const {
  std::vector<int64_t> owned = sizesOf(part.ranges);
  if (elementCount(owned) == 0)
    return;
  int64_t bytes = elementCount(localShape) * byteSize(dtype);
  if (owned == localShape) {
    part.device->copyToHost(target, *part.buffer, bytes);
    return;
  }
  std::vector<char> padded(static_cast<size_t>(bytes));
  part.device->copyToHost(padded.data(), *part.buffer, bytes);
  std::vector<int64_t> zero(shape.size());
  copyBox(byteSize(dtype), owned, padded.data(), localShape, zero, target, owned, zero);
}

//===----------------------------------------------------------------------===//
// Array
//===----------------------------------------------------------------------===//

namespace {

/// Writes the elements of `part` to their place in a row-major array of the global shape.
void placePart(const ArrayImpl &impl, const LocalPart &part, void *target) {
  std::vector<int64_t> owned = sizesOf(part.ranges), zero(impl.shape.size());
  if (owned == impl.shape) {
    impl.copyPart(part, target);
    return;
  }
  std::vector<char> values(static_cast<size_t>(elementCount(owned) * byteSize(impl.dtype)));
  impl.copyPart(part, values.data());
  copyBox(byteSize(impl.dtype), owned, values.data(), owned, zero, target, impl.shape, startsOf(part.ranges));
}

/// Different parts never overlap, so they are complete if they have as many elements as the array.
std::vector<const LocalPart *> distinctParts(const ArrayImpl &impl, const PartsRef &all, bool &isComplete) {
  std::set<std::vector<int64_t>> seen;
  std::vector<const LocalPart *> parts;
  int64_t count = 0;
  for (const LocalPart &part : *all)
    if (int64_t elements = elementCount(sizesOf(part.ranges)); elements && seen.insert(startsOf(part.ranges)).second) {
      parts.push_back(&part);
      count += elements;
    }
  isComplete = count == elementCount(impl.shape) && !all->empty();
  return parts;
}

/// Returns the array, even if it is deleted.
const ArrayImpl &described(const std::shared_ptr<const ArrayImpl> &impl,
                           const std::shared_ptr<const TracedValue> &traced) {
  if (traced)
    throw traced->misuse();
  if (!impl)
    throw Error("an Array without a value is used; assign one first", Error::Kind::Usage);
  return *impl;
}

/// Returns the array, for reading.
const ArrayImpl &get(const Array &array) { return described(array.get_impl(), array.get_traced()); }

} // namespace

const std::shared_ptr<const ArrayImpl> &Array::get_impl() const {
  if (traced)
    throw traced->misuse();
  if (impl)
    impl->checkUsable();
  return impl;
}

const std::vector<int64_t> &Array::shape() const { return traced ? traced->shape : described(impl, traced).shape; }
DType Array::dtype() const { return traced ? traced->dtype : described(impl, traced).dtype; }
const NamedSharding &Array::sharding() const { return described(impl, traced).sharding; }
const std::string &Array::name() const { return described(impl, traced).name; }
int64_t Array::size() const { return elementCount(shape()); }
bool Array::is_deleted() const { return !traced && described(impl, traced).isDeleted(); }

bool Array::is_fully_addressable() const {
  return get(*this).getParts()->size() == impl->sharding.mesh().device_ids().size();
}

bool Array::is_fully_replicated() const { return described(impl, traced).sharding.is_fully_replicated(); }

const Array &Array::block_until_ready() const {
  get(*this).wait();
  return *this;
}

void Array::copy_to_host(DType dtype, void *target) const {
  const ArrayImpl &array = get(*this);
  if (dtype != array.dtype)
    throw Error("the value of " + array.describe() + " is asked for as " + std::string(dtypeName(dtype)) +
                    "; fetch it as " + std::string(dtypeName(array.dtype)),
                Error::Kind::Usage);
  bool isComplete = false;
  PartsRef all = array.getParts();
  std::vector<const LocalPart *> parts = distinctParts(array, all, isComplete);
  if (!isComplete)
    throw Error("fetching the value of " + array.describe() +
                " is not possible: it spans devices of other processes; use process_allgather(array) for the full "
                "value, on all processes, or array.addressable_shards() for this process's part");
  array.wait();
  for (const LocalPart *part : parts)
    placePart(array, *part, target);
}

std::vector<Shard> Array::addressable_shards() const {
  const ArrayImpl &array = get(*this);
  // The first device of the mesh that holds a part has replica id 0.
  MeshShape mesh = meshShapeOf(array.sharding.mesh());
  Sharding sharding = shardingOf(array.sharding.spec(), array.shape.size());
  std::map<std::vector<int64_t>, int64_t> replicas;
  std::vector<Shard> shards;
  PartsRef parts = array.getParts();
  auto next = parts->begin();
  for (int64_t position = 0; position < array.sharding.mesh().size() && next != parts->end(); ++position) {
    std::vector<ShardRange> ranges = ownedRanges(mesh, array.shape, sharding, position);
    std::vector<int64_t> key = startsOf(ranges), sizes = sizesOf(ranges);
    key.insert(key.end(), sizes.begin(), sizes.end());
    int64_t replica = replicas[key]++;
    if (next->position != position)
      continue;
    DeviceInfo device = array.job->getDevice(next->device->getId());
    auto data = std::make_shared<ArrayImpl>();
    data->job = array.job;
    data->dtype = array.dtype;
    data->shape = data->localShape = sizes;
    data->sharding = NamedSharding(Mesh({}, {}, {device}), P());
    data->name = array.name;
    data->pending = array.pending;
    LocalPart part{0, next->device, next->buffer, {}, next->use};
    for (int64_t size : sizes)
      part.ranges.push_back({0, size});
    if (sizes != array.localShape) { // A padded shard gets memory of its own.
      array.wait();
      std::vector<char> values(static_cast<size_t>(elementCount(sizes) * byteSize(array.dtype)));
      array.copyPart(*next, values.data());
      part.buffer = allocateFor(*next->device, std::max<int64_t>(1, static_cast<int64_t>(values.size())),
                                [&] { return "a shard of " + array.describe(); });
      part.use = std::make_shared<const BufferUse>();
      if (!values.empty())
        next->device->copyFromHost(*part.buffer, values.data(), static_cast<int64_t>(values.size()));
    }
    data->editParts().push_back(std::move(part));
    shards.push_back({std::move(device), indexOf(ranges), replica, Array(std::move(data))});
    ++next;
  }
  return shards;
}

std::string Array::str() const {
  if (traced)
    return "Traced<" + typeText(traced->dtype, traced->shape) + ">";
  const ArrayImpl &array = get(*this);
  bool isComplete = false;
  PartsRef all = array.getParts();
  std::vector<const LocalPart *> parts = distinctParts(array, all, isComplete);
  if (!isComplete)
    return "Array(" + array.describe() + ")";
  array.wait();
  std::vector<char> values(static_cast<size_t>(size() * byteSize(array.dtype)));
  for (const LocalPart *part : parts)
    placePart(array, *part, values.data());
  return numpyText(array.dtype, array.shape, values.data());
}

std::string visualize_sharding(const std::vector<int64_t> &shape, const NamedSharding &sharding) {
  return drawSharding(meshShapeOf(sharding.mesh()), sharding.mesh().device_ids(), shape,
                      shardingOf(sharding.spec(), shape.size()), "CPU");
}

std::string visualize_array_sharding(const Array &array) { return visualize_sharding(array.shape(), array.sharding()); }

namespace detail {

void checkElementCount(size_t elements, const std::vector<int64_t> &shape) {
  std::string problem = shapeProblem(DType::I8, shape); // With one byte for each element, the smallest type.
  std::string text;
  for (int64_t size : shape)
    text += (text.empty() ? "" : ", ") + std::to_string(size);
  if (!problem.empty())
    throw Error("a view has the shape [" + text + "]; " + problem, Error::Kind::Usage);
  int64_t count = elementCount(shape);
  if (static_cast<size_t>(count) != elements)
    throw Error("a view has " + std::to_string(elements) + " elements where its shape has " + std::to_string(count),
                Error::Kind::Usage);
}

int64_t indexElements(const Index &index) {
  int64_t count = 1;
  for (const Slice &slice : index)
    count *= slice.stop - slice.start;
  return count;
}

void failItem(const Array &array) {
  throw Error("item() of " + array.get_impl()->describe() + " is not possible: it has " + std::to_string(array.size()) +
                  " elements; use to_host()",
              Error::Kind::Usage);
}

void failCallbackSize(const Index &index, size_t elements) {
  throw Error("the callback of make_array_from_callback returned " + std::to_string(elements) +
                  " elements for an index of " + std::to_string(indexElements(index)),
              Error::Kind::Usage);
}

} // namespace detail
} // namespace spmd
