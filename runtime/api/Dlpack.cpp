//===- Dlpack.cpp - memory shared with other array libraries --------------===//

#include "runtime/api/include/spmd/dlpack.h"
#include "runtime/api/ArrayImpl.h"
#include "runtime/api/Runtime.h"
#include "runtime/artifact/PlanPrinter.h"
#include "runtime/io/BoxCopy.h"
#include "runtime/support/ArraySize.h"

#include <dlpack/dlpack.h>

namespace spmd {
namespace {

Error usage(const std::string &message) { return Error(message, Error::Kind::Usage); }

/// The code of kDLBool. Older headers, which have all else that this file needs, do not define it.
constexpr uint8_t kBoolCode = 6;

/// DLPack's type; nothing for random keys, for which it has none.
std::optional<DLDataType> typeOf(DType dtype) {
  const DTypeInfo &info = infoOf(dtype);
  auto make = [&](uint8_t code) { return DLDataType{code, static_cast<uint8_t>(8 * info.bytes), 1}; };
  switch (info.kind) {
  case DTypeKind::Float:
    return make(dtype == DType::BF16 ? kDLBfloat : kDLFloat);
  case DTypeKind::Signed:
    return make(kDLInt);
  case DTypeKind::Unsigned:
    return make(kDLUInt);
  case DTypeKind::Bool:
    return make(kBoolCode);
  case DTypeKind::Key:
    break;
  }
  return std::nullopt;
}

/// Returns the error of `from_dlpack`, which leaves the tensor as it was.
Error refused(const std::string &what, const std::string &remedy) {
  return usage("from_dlpack is given a tensor " + what + "; " + remedy);
}

DType dtypeOf(const DLDataType &type) {
  for (const DTypeInfo &info : kDTypes)
    if (std::optional<DLDataType> known = typeOf(info.dtype);
        known && type.code == known->code && type.bits == known->bits && type.lanes == 1)
      return info.dtype;
  throw refused("of the type (code " + std::to_string(type.code) + ", " + std::to_string(type.bits) + " bits, " +
                    std::to_string(type.lanes) + " lanes), which arrays do not have",
                "convert it to one of " + std::string(listDTypes(/*withKey=*/false)));
}

/// Strides of dimensions of size one do not matter, nor does any stride of an array without elements.
bool isCompact(const DLTensor &tensor, const std::vector<int64_t> &shape) {
  if (!tensor.strides || elementCount(shape) == 0)
    return true;
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] != 1 && tensor.strides[d] != step)
      return false;
    step *= shape[d];
  }
  return true;
}

std::vector<int64_t> shapeOf(const DLTensor &tensor, DType dtype) {
  if (tensor.ndim < 0 || (tensor.ndim > 0 && !tensor.shape))
    throw refused("of " + std::to_string(tensor.ndim) + " dimensions without a shape",
                  "give one that its library created");
  std::vector<int64_t> shape(tensor.shape, tensor.shape + tensor.ndim);
  if (std::string problem = shapeProblem(dtype, shape); !problem.empty())
    throw refused("of type " + typeText(dtype, shape), problem);
  return shape;
}

/// Accesses of a GPU have up to as many bytes, and fail at other addresses (Plan.h).
constexpr int64_t kGpuAlignment = 16;

/// Returns the address of the first element.
void *dataOf(const DLTensor &tensor, DType dtype, int64_t elements, bool isGpu) {
  if (elements > 0 && !tensor.data)
    throw refused("without data", "give one that its library created");
  void *data = static_cast<char *>(tensor.data) + (tensor.data ? tensor.byte_offset : 0);
  if (reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(byteSize(dtype)) != 0)
    throw refused("whose data are not at a multiple of " + std::to_string(byteSize(dtype)) + " bytes, the size of a " +
                      std::string(dtypeName(dtype)),
                  "copy it first, or give its values to device_put()");
  if (isGpu && reinterpret_cast<uintptr_t>(data) % kGpuAlignment != 0)
    throw refused("whose data are not at a multiple of " + std::to_string(kGpuAlignment) +
                      " bytes, as kernels of a GPU need them",
                  "copy it first (a slice of a tensor begins anywhere)");
  return data;
}

/// Returns the device whose memory this is, in DLPack's terms.
DLDevice placeOf(const Device &device) {
  return {device.getBackend() == "cuda" ? kDLCUDA : kDLCPU, device.getOrdinal()};
}

bool isAt(const Device &device, const DLDevice &place) {
  DLDevice own = placeOf(device);
  return own.device_type == place.device_type && own.device_id == place.device_id;
}

/// Returns the wanted device, or the first local one that can use the tensor's memory.
DeviceRef chooseDevice(const Job &job, const std::optional<DeviceInfo> &wanted, const DLDevice &place) {
  if (!wanted) {
    for (const DeviceRef &device : job.getLocalDevices())
      if (isAt(*device, place))
        return device;
    return job.getLocalDevices().front();
  }
  DeviceRef device = job.findLocalDevice(wanted->id);
  if (!device)
    throw usage("from_dlpack to " + wanted->str() + ", which is local to process " +
                std::to_string(wanted->process_index) + ", is called on process " + std::to_string(job.getProcess()) +
                "; name a device of local_devices()");
  return device;
}

/// The object behind the receiver's tensor.
struct Export {
  DLManagedTensor tensor = {};
  std::vector<int64_t> shape, strides;
  DeviceBufferRef buffer; ///< Keeps the memory alive.
  std::shared_ptr<const BufferUse> use;
};

void deleteExport(DLManagedTensor *tensor) { delete static_cast<Export *>(tensor->manager_ctx); }

} // namespace

Array from_dlpack(DLManagedTensor *tensor, const std::optional<DeviceInfo> &wanted, std::source_location where) {
  std::shared_ptr<Job> job = currentJob(where);
  if (!tensor)
    throw usage("from_dlpack is given no tensor");
  const DLTensor &values = tensor->dl_tensor;
  DeviceRef device = chooseDevice(*job, wanted, values.device);
  bool isGpu = device->getBackend() == "cuda";
  if (!isAt(*device, values.device)) {
    throw refused("on a device of DLPack's type " + std::to_string(values.device.device_type) + " and number " +
                      std::to_string(values.device.device_id) + ", and " + device->str() + " is " +
                      (isGpu ? "GPU " + std::to_string(device->getOrdinal()) : "a CPU"),
                  isGpu ? "copy it to that GPU first (type 2, kDLCUDA), or give its values to device_put()"
                        : "copy it to host memory first (type 1, kDLCPU)");
  }
  DType dtype = dtypeOf(values.dtype);
  std::vector<int64_t> shape = shapeOf(values, dtype);
  if (!isCompact(values, shape))
    throw refused("of type " + typeText(dtype, shape) + " whose strides are not those of compact row-major order",
                  "make it contiguous first (a copy)");
  int64_t elements = elementCount(shape);
  void *data = dataOf(values, dtype, elements, isGpu);
  NamedSharding sharding(Mesh({}, {}, {job->getDevice(device->getId())}), P());
  std::shared_ptr<ArrayImpl> impl = planArray(job, dtype, std::move(shape), sharding);
  std::shared_ptr<void> owner(tensor, [](DLManagedTensor *own) {
    if (own->deleter)
      own->deleter(own);
  });
  impl->editParts().front().buffer = device->adopt(data, elements * byteSize(dtype), std::move(owner));
  return Array(std::move(impl));
}

DLManagedTensor *to_dlpack(const Array &array) {
  array.shape(); // Throws for an empty Array.
  const ArrayImpl &impl = *array.get_impl();
  const std::vector<int64_t> &ids = impl.sharding.mesh().device_ids();
  if (ids.size() != 1)
    throw usage("to_dlpack of " + impl.describe() + " is not possible: it is on " + std::to_string(ids.size()) +
                " devices; give one of array.addressable_shards(), or copy it to one device with device_put(array, "
                "NamedSharding(Mesh({}, {}, {device}), P()))");
  PartsRef parts = impl.getParts();
  if (parts->empty())
    throw usage("to_dlpack of " + impl.describe() + " is not possible: it is on " + impl.job->getDevice(ids[0]).str() +
                " of process " + std::to_string(impl.job->getDevice(ids[0]).process_index) + "; call it there");
  std::optional<DLDataType> type = typeOf(impl.dtype);
  if (!type)
    throw usage("to_dlpack of " + impl.describe() + " is not possible: DLPack has no type for " +
                std::string(dtypeName(impl.dtype)));
  impl.wait();
  auto made = std::make_unique<Export>();
  made->buffer = parts->front().buffer;
  made->use = parts->front().use;
  made->shape = impl.shape;
  made->strides.resize(impl.shape.size());
  int64_t step = 1;
  for (size_t d = impl.shape.size(); d-- > 0; step *= impl.shape[d])
    made->strides[d] = step;
  DLTensor &values = made->tensor.dl_tensor;
  values.data = made->buffer->data();
  values.device = placeOf(*parts->front().device);
  values.ndim = static_cast<int>(impl.shape.size());
  values.dtype = *type;
  values.shape = made->shape.data();
  values.strides = made->strides.data();
  made->tensor.manager_ctx = made.get();
  made->tensor.deleter = deleteExport;
  return &made.release()->tensor;
}

DLManagedTensor *to_dlpack(const Shard &shard) { return to_dlpack(shard.data); }

} // namespace spmd
