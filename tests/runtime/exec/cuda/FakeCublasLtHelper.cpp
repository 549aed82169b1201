//===- FakeCublasLtHelper.cpp - cuBLASLt without a GPU --------------------===//

#include "tests/runtime/exec/cuda/FakeCublasLtHelper.h"

#include "runtime/device/cuda/CublasLtEntries.h"

namespace spmd::cuda {
namespace {

FakeCublasLt *current = nullptr; ///< The functions of the library have no state of their own.

} // namespace

struct FakeCublasLtEntries {
  using Status = CublasLtEntries::Status;
  using Opaque = CublasLtEntries::Opaque;

  static Status make(Opaque *made) {
    *made = current;
    return 0;
  }
  static Status ignore(Opaque) { return 0; }
  static Status set(Opaque, int, const void *, size_t) { return 0; }

  static Status descCreate(Opaque *made, int computeType, int) {
    std::lock_guard lock(current->mutex);
    current->computeTypes.push_back(computeType);
    return make(made);
  }

  static CublasLtEntries list() {
    CublasLtEntries entries;
    entries.create = [](CublasLt::Handle **) { return 0; };
    entries.destroy = [](CublasLt::Handle *) { return 0; };
    entries.getVersion = [] { return size_t{130000}; };
    entries.descCreate = descCreate;
    entries.descSet = entries.layoutSet = entries.preferenceSet = set;
    entries.descDestroy = entries.layoutDestroy = entries.preferenceDestroy = ignore;
    entries.layoutCreate = [](Opaque *made, int, uint64_t, uint64_t, int64_t) { return make(made); };
    entries.preferenceCreate = make;
    entries.getHeuristic = [](CublasLt::Handle *, Opaque, Opaque, Opaque, Opaque, Opaque, Opaque, int,
                              CublasLtEntries::Heuristic *, int *found) {
      *found = 0;
      return 0;
    };
    return entries;
  }
};

FakeCublasLt::FakeCublasLt() {
  current = this;
  library = CublasLt::make(FakeCublasLtEntries::list());
}

FakeCublasLt::~FakeCublasLt() {
  library.reset();
  current = nullptr;
}

std::vector<int> FakeCublasLt::getComputeTypes() const {
  std::lock_guard lock(mutex);
  return computeTypes;
}

} // namespace spmd::cuda
