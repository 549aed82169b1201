//===- CublasLt.cpp - matrix products by cuBLASLt, found at run time ------===//

#include "runtime/device/cuda/CublasLt.h"

#include "runtime/device/cuda/CublasLtEntries.h"
#include "runtime/device/cuda/FindLibrary.h"
#include "runtime/support/Error.h"

#include <climits>
#include <dlfcn.h>
#include <optional>

namespace spmd::cuda {
namespace {

// Names in comments are those of cublasLt.h; numbers are those of its header and never change.
using Status = CublasLtEntries::Status;
using Opaque = CublasLtEntries::Opaque;
using Heuristic = CublasLtEntries::Heuristic;
constexpr Status kBlasSuccess = 0;

constexpr int kTransposeA = 3, kTransposeB = 4; // cublasLtMatmulDescAttributes_t
constexpr int kEpilogue = 7, kBiasPointer = 8, kGeluPointer = 11, kGeluPitch = 12, kGeluStride = 13;
constexpr int kBatchCount = 5, kBatchStride = 6; // cublasLtMatrixLayoutAttribute_t
constexpr int kMaxWorkspace = 1, kReductionSchemes = 3, kMinAlignmentA = 5, kMinAlignmentD = 8; // ...Preference...
constexpr int kOperationT = 1;                                                                  // CUBLAS_OP_T
constexpr int kReal32F = 0, kReal64F = 1, kReal16F = 2, kReal16Bf = 14;                         // cudaDataType

// Bits of cublasLtEpilogue_t.
constexpr uint32_t kAddBias = 4, kApplyGelu = 32, kMultiplyByGeluGradient = 64 | 128;

/// Where an algorithm that splits k may add the partial sums: CUBLASLT_REDUCTION_SCHEME_INPLACE, in the result and its
/// type, and _COMPUTE_TYPE, in the type of the sums. Results of 16 bits would be rounded for each part.
constexpr uint32_t kSumsInResult = 1, kSumsInWorkspace = 2;
/// Largest workspace of an algorithm: cuBLAS itself uses 32 MiB on sm_90.
constexpr uint64_t kWorkspaceBytes = 32 << 20;
/// Alignment of all arrays of a plan (Plan.h).
constexpr uint32_t kAlignment = 16;

std::optional<int> typeOf(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return kReal32F;
  case DType::F64:
    return kReal64F;
  case DType::F16:
    return kReal16F;
  case DType::BF16:
    return kReal16Bf;
  default:
    return std::nullopt;
  }
}

} // namespace

bool CublasLtEntries::resolve(void *library) {
  auto find = [&](const char *symbol, auto &function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
    return function != nullptr;
  };
  return find("cublasLtCreate", create) && find("cublasLtDestroy", destroy) && find("cublasLtGetVersion", getVersion) &&
         find("cublasLtMatmulDescCreate", descCreate) && find("cublasLtMatmulDescSetAttribute", descSet) &&
         find("cublasLtMatmulDescDestroy", descDestroy) && find("cublasLtMatrixLayoutCreate", layoutCreate) &&
         find("cublasLtMatrixLayoutSetAttribute", layoutSet) && find("cublasLtMatrixLayoutDestroy", layoutDestroy) &&
         find("cublasLtMatmulPreferenceCreate", preferenceCreate) &&
         find("cublasLtMatmulPreferenceSetAttribute", preferenceSet) &&
         find("cublasLtMatmulPreferenceDestroy", preferenceDestroy) &&
         find("cublasLtMatmulAlgoGetHeuristic", getHeuristic) && find("cublasLtMatmul", matmul);
}

std::shared_ptr<const CublasLt> CublasLt::make(const CublasLtEntries &entries) {
  std::shared_ptr<CublasLt> result(new CublasLt());
  result->entries = std::make_unique<CublasLtEntries>(entries);
  return entries.create(&result->handle) == kBlasSuccess ? result : nullptr;
}

std::shared_ptr<const CublasLt> CublasLt::load(const std::string &toolkit, std::string *whyNot) {
  std::shared_ptr<CublasLt> found;
  std::string why =
      findLibrary({"libcublasLt.so.13", "libcublasLt.so.12"}, toolkit, {"lib64"}, [&](void *library) -> std::string {
        std::shared_ptr<CublasLt> result(new CublasLt());
        result->entries = std::make_unique<CublasLtEntries>();
        if (!result->entries->resolve(library))
          return "lacks functions";
        if (Status status = result->entries->create(&result->handle); status != kBlasSuccess)
          return "does not start (status " + std::to_string(status) + ")";
        found = std::move(result);
        return "";
      });
  if (whyNot)
    *whyNot = why;
  return found;
}

CublasLt::~CublasLt() {
  if (handle)
    entries->destroy(handle);
}

std::string CublasLt::getVersion() const {
  size_t version = entries->getVersion();
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

struct CublasLtProduct::State {
  std::shared_ptr<const CublasLt> library;
  LibraryEpilogue epilogue;
  Opaque operation = nullptr, a = nullptr, b = nullptr, d = nullptr;
  Heuristic heuristic{};
  bool isF64 = false;

  bool hasGradient() const { return epilogue.function == LibraryEpilogue::Function::GeluGradient; }
  bool addsArray() const { return epilogue.array >= 0 && !hasGradient(); }

  bool set(int attribute, const auto &value) {
    return library->getEntries().descSet(operation, attribute, &value, sizeof value) == kBlasSuccess;
  }
  /// Sets the addresses of the epilogue's operands, by which the heuristic also knows their alignment.
  bool setPointers(DevicePointer array, DevicePointer bias) {
    return (epilogue.bias < 0 || set(kBiasPointer, bias)) && (!hasGradient() || set(kGeluPointer, array));
  }
  bool setEpilogue(const MatmulShape &shape) {
    uint32_t bits = epilogue.bias < 0 ? 0 : kAddBias;
    if (epilogue.function == LibraryEpilogue::Function::Gelu)
      bits |= kApplyGelu;
    if (hasGradient())
      bits |= kMultiplyByGeluGradient;
    if (bits == 0)
      return true;
    int64_t pitch = shape.n, stride = shape.m * shape.n;
    return set(kEpilogue, bits) && setPointers(kAlignment, kAlignment) &&
           (!hasGradient() || (set(kGeluPitch, pitch) && (shape.batch == 1 || set(kGeluStride, stride))));
  }

  /// The cublasComputeType_t: f64 for products of f64, f32 for all others.
  static int computeTypeOf(const MatmulShape &shape) {
    if (shape.operand == DType::F64)
      return kCompute64F;
    return shape.allowTf32 && shape.operand == DType::F32 ? kCompute32FFastTf32 : kCompute32F;
  }

  ~State() {
    const CublasLtEntries &api = library->getEntries();
    for (Opaque layout : {a, b, d})
      if (layout)
        api.layoutDestroy(layout);
    if (operation)
      api.descDestroy(operation);
  }

  /// Describes a row-major matrix, which the library sees as its column-major transpose.
  bool makeLayout(Opaque &layout, int type, int64_t rows, int64_t columns, int64_t batch) {
    const CublasLtEntries &api = library->getEntries();
    if (api.layoutCreate(&layout, type, static_cast<uint64_t>(columns), static_cast<uint64_t>(rows), columns) !=
        kBlasSuccess)
      return false;
    if (batch == 1)
      return true;
    auto count = static_cast<int32_t>(batch);
    int64_t stride = rows * columns;
    return api.layoutSet(layout, kBatchCount, &count, sizeof count) == kBlasSuccess &&
           api.layoutSet(layout, kBatchStride, &stride, sizeof stride) == kBlasSuccess;
  }

  /// Returns false if the library does not support the product.
  bool prepare(const MatmulShape &shape) {
    const CublasLtEntries &api = library->getEntries();
    std::optional<int> operand = typeOf(shape.operand), result = typeOf(shape.result);
    if (!operand || !result || (shape.operand == DType::F64) != (shape.result == DType::F64) || shape.batch > INT_MAX)
      return false;
    isF64 = shape.operand == DType::F64;
    int scale = isF64 ? kReal64F : kReal32F;
    if (api.descCreate(&operation, computeTypeOf(shape), scale) != kBlasSuccess)
      return false;
    // D^T [n, m] = op(rhs)^T op(lhs)^T, all column-major: the library's A is rhs, its B is lhs.
    if ((shape.transposeRhs && !set(kTransposeA, kOperationT)) ||
        (shape.transposeLhs && !set(kTransposeB, kOperationT)) || !setEpilogue(shape))
      return false;
    auto rowsOf = [](bool isTransposed, int64_t rows, int64_t columns) { return isTransposed ? columns : rows; };
    if (!makeLayout(a, *operand, rowsOf(shape.transposeRhs, shape.k, shape.n),
                    rowsOf(shape.transposeRhs, shape.n, shape.k), shape.batch) ||
        !makeLayout(b, *operand, rowsOf(shape.transposeLhs, shape.m, shape.k),
                    rowsOf(shape.transposeLhs, shape.k, shape.m), shape.batch) ||
        !makeLayout(d, *result, shape.m, shape.n, shape.batch))
      return false;
    Opaque preference = nullptr;
    if (api.preferenceCreate(&preference) != kBlasSuccess)
      return false;
    int found = 0;
    uint32_t schemes = kSumsInWorkspace | (byteSize(shape.result) < 4 ? 0 : kSumsInResult);
    bool isGood =
        api.preferenceSet(preference, kMaxWorkspace, &kWorkspaceBytes, sizeof kWorkspaceBytes) == kBlasSuccess &&
        api.preferenceSet(preference, kReductionSchemes, &schemes, sizeof schemes) == kBlasSuccess;
    for (int which = kMinAlignmentA; which <= kMinAlignmentD; ++which)
      isGood = isGood && api.preferenceSet(preference, which, &kAlignment, sizeof kAlignment) == kBlasSuccess;
    isGood = isGood &&
             api.getHeuristic(library->getHandle(), operation, a, b, d, d, preference, 1, &heuristic, &found) ==
                 kBlasSuccess &&
             found == 1 && heuristic.state == kBlasSuccess;
    api.preferenceDestroy(preference);
    return isGood;
  }
};

CublasLtProduct::CublasLtProduct(std::unique_ptr<State> state) : state(std::move(state)) {}
CublasLtProduct::~CublasLtProduct() = default;

std::unique_ptr<CublasLtProduct> CublasLtProduct::create(std::shared_ptr<const CublasLt> library,
                                                         const MatmulShape &shape, const LibraryEpilogue &epilogue) {
  if (!library || shape.batch == 0 || shape.m == 0 || shape.n == 0 || shape.k == 0)
    return nullptr;
  auto state = std::make_unique<State>();
  state->library = std::move(library);
  state->epilogue = epilogue;
  if (!state->prepare(shape))
    return nullptr;
  return std::unique_ptr<CublasLtProduct>(new CublasLtProduct(std::move(state)));
}

int64_t CublasLtProduct::getScratchBytes() const { return static_cast<int64_t>(state->heuristic.workspaceBytes); }

void CublasLtProduct::run(Stream stream, const Operands &operands, DevicePointer result, DevicePointer scratch) {
  auto pointer = [](DevicePointer address) { return reinterpret_cast<void *>(address); };
  const bool addsArray = state->addsArray();
  const double factors[] = {state->epilogue.factor, addsArray ? state->epilogue.arrayFactor : 0};
  const float factors32[] = {static_cast<float>(factors[0]), static_cast<float>(factors[1])};
  auto factor = [&](int i) { return state->isF64 ? static_cast<const void *>(&factors[i]) : &factors32[i]; };
  const void *added = pointer(addsArray ? operands.array : result);
  if (!state->setPointers(operands.array, operands.bias))
    throw Error("cuBLASLt refuses the operands of an epilogue");
  Status status = state->library->getEntries().matmul(
      state->library->getHandle(), state->operation, factor(0), pointer(operands.rhs), state->a, pointer(operands.lhs),
      state->b, factor(1), added, state->d, pointer(result), state->d, &state->heuristic.algorithm, pointer(scratch),
      state->heuristic.workspaceBytes, stream);
  if (status != kBlasSuccess)
    throw Error("cuBLASLt refuses a product (status " + std::to_string(status) + ")");
}

} // namespace spmd::cuda
