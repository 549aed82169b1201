//===- CudaDevice.cpp - a GPU as a device of the job ----------------------===//

#include "runtime/device/cuda/CudaDevice.h"

#include "runtime/device/DeviceBuffers.h"
#include "runtime/support/CountText.h"
#include "runtime/support/Error.h"

#include <map>

namespace spmd {

namespace {

/// Frees its memory in the destructor.
class CudaBuffer final : public DeviceBuffer {
public:
  CudaBuffer(std::shared_ptr<cuda::StreamMemory> owner, cuda::DevicePointer pointer, int64_t bytes)
      : DeviceBuffer(reinterpret_cast<void *>(pointer), bytes), owner(std::move(owner)) {}
  ~CudaBuffer() override { owner->free(reinterpret_cast<cuda::DevicePointer>(data()), bytes()); }

private:
  std::shared_ptr<cuda::StreamMemory> owner;
};

/// Host memory that the GPU accesses directly, as long as this object lives.
class StagingBuffer final : public DeviceBuffer {
public:
  StagingBuffer(std::shared_ptr<cuda::Gpu> gpu, DeviceBufferRef memory)
      : DeviceBuffer(memory->data(), memory->bytes()), gpu(std::move(gpu)), memory(std::move(memory)) {
    // If the system refuses (a limit of locked memory), the driver copies through its own memory.
    isPinned = bytes() > 0 && this->gpu->getDriver().MemHostRegister(data(), static_cast<size_t>(bytes()),
                                                                     cuda::kHostPortable) == cuda::kSuccess;
  }
  ~StagingBuffer() override {
    if (isPinned)
      gpu->getDriver().MemHostUnregister(data());
  }

private:
  std::shared_ptr<cuda::Gpu> gpu;
  DeviceBufferRef memory;
  bool isPinned = false;
};

} // namespace

CudaDevice::CudaDevice(std::shared_ptr<cuda::Gpu> givenGpu, std::shared_ptr<const cuda::Library> givenLibrary,
                       std::shared_ptr<CpuDevice> givenHost)
    : Device(givenHost->getId()), gpu(std::move(givenGpu)), library(std::move(givenLibrary)),
      host(std::move(givenHost)), memory(std::make_shared<cuda::StreamMemory>(gpu)) {}

CudaDevice::~CudaDevice() {
  try {
    gpu->makeCurrent(); // Its destructor unloads the library's kernels.
  } catch (const Error &) {
    // The GPU of a context with an error has no memory to free.
  }
  library.reset();
}

DeviceBufferRef CudaDevice::allocateStaging(int64_t bytes) {
  gpu->makeCurrent();
  return std::make_shared<StagingBuffer>(gpu, host->allocate(bytes));
}

DeviceBufferRef CudaDevice::allocate(int64_t bytes) {
  cuda::DevicePointer pointer = memory->allocate(bytes);
  return std::make_shared<CudaBuffer>(memory, pointer, bytes);
}

DeviceBufferRef CudaDevice::adopt(void *data, int64_t bytes, std::shared_ptr<void> owner) {
  return std::make_shared<AdoptedBuffer>(data, bytes, std::move(owner));
}

void CudaDevice::copyFromHost(DeviceBuffer &target, const void *source, int64_t bytes, int64_t targetOffset) {
  checkRange(*this, target, targetOffset, bytes);
  if (bytes == 0)
    return;
  gpu->makeCurrent();
  const cuda::Driver &driver = gpu->getDriver();
  auto address = reinterpret_cast<cuda::DevicePointer>(target.data()) + static_cast<cuda::DevicePointer>(targetOffset);
  driver.check(driver.MemcpyHtoDAsync(address, source, static_cast<size_t>(bytes), getStream()), "cuMemcpyHtoDAsync");
  driver.check(driver.StreamSynchronize(getStream()), "copying to a GPU");
}

void CudaDevice::copyToHost(void *target, const DeviceBuffer &source, int64_t bytes, int64_t sourceOffset) {
  checkRange(*this, source, sourceOffset, bytes);
  if (bytes == 0)
    return;
  gpu->makeCurrent();
  const cuda::Driver &driver = gpu->getDriver();
  auto address = reinterpret_cast<cuda::DevicePointer>(source.data()) + static_cast<cuda::DevicePointer>(sourceOffset);
  driver.check(driver.MemcpyDtoHAsync(target, address, static_cast<size_t>(bytes), getStream()), "cuMemcpyDtoHAsync");
  driver.check(driver.StreamSynchronize(getStream()), "copying from a GPU");
}

std::vector<DeviceRef> createCudaDevices(const std::vector<int64_t> &ids, const std::vector<int32_t> &gpus,
                                         const CudaDeviceOptions &options) {
  std::string whyNot;
  std::shared_ptr<const cuda::Driver> driver = cuda::Driver::load(&whyNot);
  if (!driver)
    throw Error(whyNot + "; programs for cpu run here (--target=cpu)");
  struct Card {
    std::shared_ptr<cuda::Gpu> gpu;
    std::shared_ptr<const cuda::Library> library;
  };
  std::map<int32_t, Card> cards;
  std::vector<DeviceRef> devices;
  for (size_t i = 0; i < ids.size(); ++i) {
    int32_t ordinal = options.sharesGpus ? gpus[i] % driver->getGpuCount() : gpus[i];
    if (ordinal >= driver->getGpuCount())
      throw Error("device " + std::to_string(ids[i]) + " of the job would be GPU " + std::to_string(ordinal) +
                  " of this machine, but it has " + countText(driver->getGpuCount(), "GPU") +
                  "; start fewer devices here, or set SPMD_SHARE_GPUS=1 to let several share one (for tests)");
    Card &card = cards[ordinal];
    if (!card.gpu) {
      card.gpu = std::make_shared<cuda::Gpu>(driver, ordinal);
      card.library = std::make_shared<cuda::Library>(driver, card.gpu->getCapability());
    }
    devices.push_back(
        std::make_shared<CudaDevice>(card.gpu, card.library, std::make_shared<CpuDevice>(ids[i], options.host)));
  }
  return devices;
}

} // namespace spmd
