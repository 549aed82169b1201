//===- Exports.cpp - the functions of NVIDIA's libraries, for tests -------===//
//
// One shared library that the runtime finds under the names libcuda.so.1, libnccl.so.2, libcublasLt.so.13 and
// libcupti.so.13, as it finds NVIDIA's: real commands and jobs of real processes run on GPUs that do not exist
// (Settings.h).
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/CublasLtEntries.h"
#include "tests/runtime/device/cuda/doubles/FakeCublasLt.h"
#include "tests/runtime/device/cuda/doubles/FakeCuptiEntries.h"
#include "tests/runtime/device/cuda/doubles/FakeNccl.h"
#include "tests/runtime/device/cuda/doubles/Mistakes.h"
#include "tests/runtime/device/cuda/libcuda/Settings.h"

#include <cstdio>
#include <cstdlib>

using namespace spmd::cuda;

void spmd::cuda::reportMistake(const std::string &text) {
  std::fprintf(stderr, "the libcuda of the tests: a mistake: %s\n", text.c_str());
  std::abort();
}

namespace {

/// The driver of this process. It is never destroyed: commands may end at any time, as with NVIDIA's.
FakeDriver &getDriver() {
  static FakeDriver &driver = *[] {
    auto *made = new FakeDriver(readGpuSettings());
    prepareFaults(*made);
    return made;
  }();
  return driver;
}

const Nccl &getNccl() {
  static FakeNccl &nccl = *new FakeNccl(getDriver(), readNcclVersion());
  return *nccl.getNccl();
}

const CublasLtEntries &getBlas() {
  static const CublasLtEntries entries = listFakeCublasLt();
  return entries;
}

const CuptiEntries &getCupti() {
  static const CuptiEntries entries = [] {
    auto *cupti = new FakeCupti(getDriver());
    prepareFaults(*cupti);
    return FakeCuptiEntries::list();
  }();
  return entries;
}

} // namespace

// Each function of the driver jumps to that of the double, with all of its arguments.
#define SPMD_CUDA_ENTRY(name, symbol, ...)                                                                             \
  extern "C" __attribute__((used, visibility("hidden"))) Result (*const spmdTarget_##symbol)(__VA_ARGS__) =            \
      getDriver().getDriver() -> name;                                                                                 \
  asm(".pushsection .text." #symbol ", \"ax\", @progbits\n"                                                            \
      ".globl " #symbol "\n"                                                                                           \
      ".type " #symbol ", @function\n" #symbol ": jmp *spmdTarget_" #symbol "(%rip)\n"                                 \
      ".popsection");
#include "runtime/device/cuda/DriverEntries.def"
#undef SPMD_CUDA_ENTRY

extern "C" {

NcclResult ncclGetVersion(int *version) { return getNccl().GetVersion(version); }
NcclResult ncclGetUniqueId(NcclId *id) { return getNccl().GetUniqueId(id); }
NcclResult ncclCommInitRankConfig(NcclComm *comm, int size, NcclId id, int rank, NcclConfig *config) {
  return getNccl().CommInitRankConfig(comm, size, id, rank, config);
}
NcclResult ncclCommGetAsyncError(NcclComm comm, NcclResult *state) { return getNccl().CommGetAsyncError(comm, state); }
NcclResult ncclCommAbort(NcclComm comm) { return getNccl().CommAbort(comm); }
NcclResult ncclGroupStart() { return getNccl().GroupStart(); }
NcclResult ncclGroupEnd() { return getNccl().GroupEnd(); }
NcclResult ncclSend(const void *data, size_t count, int type, int peer, NcclComm comm, Stream stream) {
  return getNccl().Send(data, count, type, peer, comm, stream);
}
NcclResult ncclRecv(void *data, size_t count, int type, int peer, NcclComm comm, Stream stream) {
  return getNccl().Recv(data, count, type, peer, comm, stream);
}
const char *ncclGetErrorString(NcclResult result) { return getNccl().GetErrorString(result); }

using Status = CublasLtEntries::Status;
using Opaque = CublasLtEntries::Opaque;
using Heuristic = CublasLtEntries::Heuristic;

Status cublasLtCreate(CublasLt::Handle **handle) { return getBlas().create(handle); }
Status cublasLtDestroy(CublasLt::Handle *handle) { return getBlas().destroy(handle); }
size_t cublasLtGetVersion() { return getBlas().getVersion(); }
Status cublasLtMatmulDescCreate(Opaque *made, int compute, int scale) {
  return getBlas().descCreate(made, compute, scale);
}
Status cublasLtMatmulDescSetAttribute(Opaque operation, int attribute, const void *value, size_t bytes) {
  return getBlas().descSet(operation, attribute, value, bytes);
}
Status cublasLtMatmulDescDestroy(Opaque operation) { return getBlas().descDestroy(operation); }
Status cublasLtMatrixLayoutCreate(Opaque *made, int type, uint64_t rows, uint64_t columns, int64_t pitch) {
  return getBlas().layoutCreate(made, type, rows, columns, pitch);
}
Status cublasLtMatrixLayoutSetAttribute(Opaque layout, int attribute, const void *value, size_t bytes) {
  return getBlas().layoutSet(layout, attribute, value, bytes);
}
Status cublasLtMatrixLayoutDestroy(Opaque layout) { return getBlas().layoutDestroy(layout); }
Status cublasLtMatmulPreferenceCreate(Opaque *made) { return getBlas().preferenceCreate(made); }
Status cublasLtMatmulPreferenceSetAttribute(Opaque preference, int attribute, const void *value, size_t bytes) {
  return getBlas().preferenceSet(preference, attribute, value, bytes);
}
Status cublasLtMatmulPreferenceDestroy(Opaque preference) { return getBlas().preferenceDestroy(preference); }
Status cublasLtMatmulAlgoGetHeuristic(CublasLt::Handle *handle, Opaque operation, Opaque a, Opaque b, Opaque c,
                                      Opaque d, Opaque preference, int most, Heuristic *found, int *count) {
  return getBlas().getHeuristic(handle, operation, a, b, c, d, preference, most, found, count);
}
Status cublasLtMatmul(CublasLt::Handle *handle, Opaque operation, const void *alpha, const void *lhs, Opaque a,
                      const void *rhs, Opaque b, const void *beta, const void *added, Opaque c, void *result, Opaque d,
                      const CublasLtEntries::Algorithm *algorithm, void *workspace, size_t bytes, Stream stream) {
  return getBlas().matmul(handle, operation, alpha, lhs, a, rhs, b, beta, added, c, result, d, algorithm, workspace,
                          bytes, stream);
}

using CuptiStatus = CuptiEntries::Status;

CuptiStatus cuptiGetVersion(uint32_t *version) { return getCupti().getVersion(version); }
CuptiStatus cuptiGetResultString(CuptiStatus status, const char **name) {
  return getCupti().getResultString(status, name);
}
CuptiStatus cuptiGetTimestamp(uint64_t *time) { return getCupti().getTimestamp(time); }
CuptiStatus cuptiGetContextId(Context context, uint32_t *id) { return getCupti().getContextId(context, id); }
CuptiStatus cuptiGetStreamIdEx(Context context, Stream stream, uint8_t perThread, uint32_t *id) {
  return getCupti().getStreamId(context, stream, perThread, id);
}
CuptiStatus cuptiActivitySetAttribute(int attribute, size_t *bytes, void *value) {
  return getCupti().setAttribute(attribute, bytes, value);
}
CuptiStatus cuptiActivityRegisterCallbacks(CuptiEntries::RequestBuffer request, CuptiEntries::CompleteBuffer complete) {
  return getCupti().registerCallbacks(request, complete);
}
CuptiStatus cuptiActivityEnable(uint32_t kind) { return getCupti().enable(kind); }
CuptiStatus cuptiActivityDisable(uint32_t kind) { return getCupti().disable(kind); }
CuptiStatus cuptiActivityFlushAll(uint32_t flags) { return getCupti().flushAll(flags); }
CuptiStatus cuptiActivityGetNextRecord(uint8_t *buffer, size_t bytes, void **record) {
  return getCupti().getNextRecord(buffer, bytes, record);
}
CuptiStatus cuptiActivityGetNumDroppedRecords(Context context, uint32_t stream, size_t *count) {
  return getCupti().countDropped(context, stream, count);
}
CuptiStatus cuptiActivityPushExternalCorrelationId(uint32_t kind, uint64_t id) { return getCupti().push(kind, id); }
CuptiStatus cuptiActivityPopExternalCorrelationId(uint32_t kind, uint64_t *last) { return getCupti().pop(kind, last); }
}
