//===- FakeCublasLt.cpp - cuBLASLt without a GPU --------------------------===//

#include "tests/runtime/device/cuda/doubles/FakeCublasLt.h"

#include "runtime/device/cuda/CublasLtEntries.h"
#include "runtime/support/Float16.h"
#include "tests/runtime/device/cuda/doubles/FakeEntries.h"
#include "tests/runtime/device/cuda/doubles/Mistakes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>

namespace spmd::cuda {
namespace {

using Status = CublasLtEntries::Status;
using Opaque = CublasLtEntries::Opaque;
using Heuristic = CublasLtEntries::Heuristic;

// cublasStatus_t, cudaDataType and attributes, as cublasLt.h numbers them.
constexpr Status kSuccessful = 0, kInvalid = 7;
constexpr int kReal32F = 0, kReal64F = 1, kReal16F = 2, kReal16Bf = 14;
constexpr int kTransposeA = 3, kTransposeB = 4;
constexpr int kEpilogue = 7, kBiasPointer = 8, kAuxPointer = 11, kAuxPitch = 12, kAuxStride = 13;
constexpr uint32_t kDefault = 1, kBias = 4, kGelu = 32, kGeluGradient = 64 | 128; // cublasLtEpilogue_t
constexpr int kBatchCount = 5, kBatchStride = 6;
constexpr int kReductionSchemes = 3, kMinAlignmentA = 5, kMinAlignmentD = 8; // For A, B, C and D.
constexpr uint32_t kAllSchemes = 7, kSumsInResult = 1;                       // cublasLtReductionScheme_t

FakeCublasLt *current = nullptr; ///< The functions of the library have no state of their own.

struct Operation {
  int computeType = 0;
  bool transposesA = false, transposesB = false;
  uint32_t epilogue = kDefault;
  const char *bias = nullptr, *aux = nullptr;
  int64_t auxPitch = 0, auxStride = 0;

  bool has(uint32_t bits) const { return (epilogue & bits) == bits; }
};

struct Preference {
  uint32_t schemes = kAllSchemes;
  std::array<uint32_t, 4> alignments = {256, 256, 256, 256};
};

/// A column-major matrix, or several of them.
struct Layout {
  int type = 0;
  uint64_t rows = 0, columns = 0;
  int64_t pitch = 0;
  int32_t batch = 1;
  int64_t stride = 0;

  size_t elementBytes() const { return type == kReal64F ? 8 : type == kReal32F ? 4 : 2; }
  /// The bytes from the first to behind the last element.
  size_t bytes() const {
    auto last = static_cast<size_t>(stride) * static_cast<size_t>(batch - 1) +
                static_cast<size_t>(pitch) * (columns - 1) + rows;
    return last * elementBytes();
  }
};

double load(const char *data, int type, size_t index) {
  auto get = [&](auto value) {
    std::memcpy(&value, data + index * sizeof value, sizeof value);
    return value;
  };
  switch (type) {
  case kReal64F:
    return get(double());
  case kReal32F:
    return get(float());
  case kReal16F:
    return f16ToFloat(get(uint16_t()));
  case kReal16Bf:
    return bf16ToFloat(get(uint16_t()));
  }
  return 0;
}

void store(char *data, int type, size_t index, double given) {
  auto put = [&](auto value) { std::memcpy(data + index * sizeof value, &value, sizeof value); };
  auto value = static_cast<float>(given);
  switch (type) {
  case kReal64F:
    return put(given);
  case kReal32F:
    return put(value);
  case kReal16F:
    return put(floatToF16(value));
  case kReal16Bf:
    return put(floatToBf16(value));
  }
}

/// gelu(x) = x Phi(x), and its derivative Phi(x) + x Phi'(x), with Phi(x) written as 0.5 + 0.5 tanh(u(x)).
double applyGelu(double x) { return x * (0.5 + 0.5 * std::tanh(std::sqrt(M_2_PI) * (x + 0.044715 * x * x * x))); }
double differentiateGelu(double x) {
  double t = std::tanh(std::sqrt(M_2_PI) * (x + 0.044715 * x * x * x));
  double slope = std::sqrt(M_2_PI) * (1 + 3 * 0.044715 * x * x);
  return 0.5 + 0.5 * t + 0.5 * x * slope * (1 - t) * (1 + t);
}

/// Rounds to nearest, halves away from zero, as cvt.rna.tf32.f32.
double toTf32(double value) {
  auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  constexpr uint32_t kExponent = 0x7f800000, kHalf = 0x1000, kDropped = 0x1fff;
  if ((bits & kExponent) != kExponent)
    bits = (bits + kHalf) & ~kDropped;
  return std::bit_cast<float>(bits);
}

struct Product {
  Operation operation;
  Layout a, b, d;
  const char *lhs = nullptr, *rhs = nullptr, *added = nullptr;
  char *result = nullptr;
  double alpha = 1, beta = 0;

  /// Reads op(A), or op(B), as [rows, columns] in row-major order.
  template <typename T> std::vector<T> read(const Layout &layout, const char *data, bool transposes, int batch) const {
    uint64_t rows = transposes ? layout.columns : layout.rows, columns = transposes ? layout.rows : layout.columns;
    std::vector<T> values(rows * columns);
    for (uint64_t i = 0; i < rows; ++i)
      for (uint64_t j = 0; j < columns; ++j) {
        uint64_t row = transposes ? j : i, column = transposes ? i : j;
        double value = load(data, layout.type,
                            static_cast<size_t>(layout.stride) * static_cast<size_t>(batch) +
                                static_cast<size_t>(layout.pitch) * column + row);
        values[i * columns + j] = static_cast<T>(operation.computeType == kCompute32FFastTf32 ? toTf32(value) : value);
      }
    return values;
  }

  template <typename T> void run() const {
    uint64_t m = d.rows, n = d.columns, k = operation.transposesA ? a.rows : a.columns;
    for (int batch = 0; batch < d.batch; ++batch) {
      std::vector<T> left = read<T>(a, lhs, operation.transposesA, batch);
      std::vector<T> right = read<T>(b, rhs, operation.transposesB, batch);
      std::vector<T> sums(m * n, T(0));
      for (uint64_t i = 0; i < m; ++i)
        for (uint64_t l = 0; l < k; ++l)
          for (uint64_t j = 0; j < n; ++j)
            sums[i * n + j] += left[i * k + l] * right[l * n + j];
      for (uint64_t i = 0; i < m; ++i)
        for (uint64_t j = 0; j < n; ++j) {
          size_t place =
              static_cast<size_t>(d.stride) * static_cast<size_t>(batch) + static_cast<size_t>(d.pitch) * j + i;
          store(result, d.type, place, finish(static_cast<double>(sums[i * n + j]), i, j, batch, place));
        }
    }
  }

  /// Applies the epilogue to a sum.
  double finish(double sum, uint64_t i, uint64_t j, int batch, size_t place) const {
    double value = alpha * sum;
    if (beta != 0)
      value += beta * load(added, d.type, place);
    if (operation.has(kBias))
      value += load(operation.bias, d.type, i);
    if (operation.has(kGelu))
      value = applyGelu(value);
    if (operation.has(kGeluGradient))
      value *= differentiateGelu(load(operation.aux, d.type, auxPlace(i, j, batch)));
    return value;
  }
  size_t auxPlace(uint64_t i, uint64_t j, int batch) const {
    return static_cast<size_t>(operation.auxStride) * static_cast<size_t>(batch) +
           static_cast<size_t>(operation.auxPitch) * j + i;
  }
  size_t biasBytes() const { return d.rows * d.elementBytes(); }
  size_t auxBytes() const { return (auxPlace(d.rows - 1, d.columns - 1, d.batch - 1) + 1) * d.elementBytes(); }

  /// cuBLASLt has these only for some types, and asks for their operands, with a certain alignment.
  bool isValidEpilogue() const {
    bool isNarrow = d.type == kReal16F || d.type == kReal16Bf;
    auto isAligned = [](const char *pointer) { return pointer && reinterpret_cast<uintptr_t>(pointer) % 16 == 0; };
    uint32_t known = kDefault | kBias | kGelu | kGeluGradient;
    if ((operation.epilogue & ~known) != 0 || (operation.epilogue != kDefault && operation.has(kDefault)))
      return false;
    if (operation.epilogue != kDefault && a.type == kReal64F)
      return false;
    if ((operation.has(kGelu) || operation.has(kGeluGradient)) && !isNarrow)
      return false;
    if (operation.has(kBias) && !isAligned(operation.bias))
      return false;
    return !operation.has(kGeluGradient) ||
           (isAligned(operation.aux) && operation.auxPitch % 8 == 0 &&
            operation.auxPitch >= static_cast<int64_t>(d.rows) && !operation.has(kBias) &&
            (d.batch == 1 || operation.auxStride >= operation.auxPitch * static_cast<int64_t>(d.columns)));
  }

  bool isValid() const {
    uint64_t inner = operation.transposesA ? a.rows : a.columns, innerB = operation.transposesB ? b.columns : b.rows;
    uint64_t m = operation.transposesA ? a.columns : a.rows, n = operation.transposesB ? b.rows : b.columns;
    bool isDouble = operation.computeType == kCompute64F;
    return isValidEpilogue() && inner == innerB && m == d.rows && n == d.columns && a.batch == d.batch &&
           b.batch == d.batch && a.type == b.type && isDouble == (a.type == kReal64F) &&
           isDouble == (d.type == kReal64F) && (d.type == a.type || d.type == kReal32F) &&
           (operation.computeType != kCompute32FFastTf32 || a.type == kReal32F);
  }
};

template <typename T> T &as(Opaque object) { return *static_cast<T *>(object); }

} // namespace

struct FakeCublasLtEntries {
  static Status descCreate(Opaque *made, int computeType, int scaleType) {
    if (current) {
      std::lock_guard lock(current->mutex);
      current->computeTypes.push_back(computeType);
    }
    if (scaleType != (computeType == kCompute64F ? kReal64F : kReal32F))
      return kInvalid;
    *made = new Operation{computeType};
    return kSuccessful;
  }
  static Status descSet(Opaque given, int attribute, const void *value, size_t bytes) {
    auto &operation = as<Operation>(given);
    auto take = [&](auto &field) {
      if (bytes != sizeof field)
        return kInvalid;
      std::memcpy(&field, value, bytes);
      return kSuccessful;
    };
    int32_t transposes = 0;
    switch (attribute) {
    case kTransposeA:
    case kTransposeB:
      if (take(transposes) != kSuccessful || transposes > 1)
        return kInvalid;
      (attribute == kTransposeA ? operation.transposesA : operation.transposesB) = transposes == 1;
      return kSuccessful;
    case kEpilogue:
      return take(operation.epilogue);
    case kBiasPointer:
      return take(operation.bias);
    case kAuxPointer:
      return take(operation.aux);
    case kAuxPitch:
      return take(operation.auxPitch);
    case kAuxStride:
      return take(operation.auxStride);
    default:
      return kInvalid;
    }
  }
  static Status layoutCreate(Opaque *made, int type, uint64_t rows, uint64_t columns, int64_t pitch) {
    bool isKnown = type == kReal64F || type == kReal32F || type == kReal16F || type == kReal16Bf;
    if (!isKnown || rows == 0 || columns == 0 || pitch < static_cast<int64_t>(rows))
      return kInvalid;
    *made = new Layout{type, rows, columns, pitch};
    return kSuccessful;
  }
  static Status layoutSet(Opaque layout, int attribute, const void *value, size_t bytes) {
    if (attribute == kBatchCount && bytes == sizeof(int32_t))
      std::memcpy(&as<Layout>(layout).batch, value, bytes);
    else if (attribute == kBatchStride && bytes == sizeof(int64_t))
      std::memcpy(&as<Layout>(layout).stride, value, bytes);
    else
      return kInvalid;
    return kSuccessful;
  }

  static Status getHeuristic(CublasLt::Handle *, Opaque operation, Opaque a, Opaque b, Opaque c, Opaque d,
                             Opaque preference, int most, Heuristic *heuristic, int *found) {
    Product product{as<Operation>(operation), as<Layout>(a), as<Layout>(b), as<Layout>(d)};
    if (most < 1 || c != d || !product.isValid() || (current && !current->note(product.operation.epilogue)))
      return kInvalid;
    // Results of 16 bits would be rounded for each part of k.
    if (as<Preference>(preference).schemes & kSumsInResult && product.d.elementBytes() < sizeof(float))
      return kInvalid;
    // Some memory, which the product overwrites: it must be there.
    *heuristic = Heuristic{{}, kWorkspaceBytes, kSuccessful, 1, {}};
    std::copy_n(as<Preference>(preference).alignments.begin(), 4, heuristic->algorithm.data.begin());
    *found = 1;
    return kSuccessful;
  }

  static Status matmul(CublasLt::Handle *, Opaque operation, const void *alpha, const void *lhs, Opaque a,
                       const void *rhs, Opaque b, const void *beta, const void *added, Opaque c, void *result, Opaque d,
                       const CublasLtEntries::Algorithm *algorithm, void *workspace, size_t workspaceBytes,
                       Stream stream) {
    Product product{as<Operation>(operation),
                    as<Layout>(a),
                    as<Layout>(b),
                    as<Layout>(d),
                    static_cast<const char *>(lhs),
                    static_cast<const char *>(rhs),
                    static_cast<const char *>(added),
                    static_cast<char *>(result)};
    bool isDouble = product.operation.computeType == kCompute64F;
    auto factor = [&](const void *at) {
      return isDouble ? *static_cast<const double *>(at) : *static_cast<const float *>(at);
    };
    product.alpha = factor(alpha);
    product.beta = factor(beta);
    if (!product.isValid() || c != d || workspaceBytes < kWorkspaceBytes)
      return kInvalid;
    // An algorithm's accesses are as wide as the alignments allow that its search was told.
    const void *const matrices[] = {lhs, rhs, added, result};
    for (size_t i = 0; i < std::size(matrices); ++i)
      if (reinterpret_cast<uintptr_t>(matrices[i]) % algorithm->data[i] != 0)
        reportMistake("a matrix of a product has less alignment than cuBLASLt was told");
    FakeEntries::Access access{{lhs, product.a.bytes()}, {rhs, product.b.bytes()}, {workspace, workspaceBytes}};
    if (product.beta != 0)
      access.push_back({added, product.d.bytes()});
    if (product.operation.has(kBias))
      access.push_back({product.operation.bias, product.biasBytes()});
    if (product.operation.has(kGeluGradient))
      access.push_back({product.operation.aux, product.auxBytes()});
    for (auto [data, bytes] : access) // Blocks write the result while others read.
      if (product.result < static_cast<const char *>(data) + bytes && data < product.result + product.d.bytes())
        return kInvalid;
    access.push_back({result, product.d.bytes()});
    bool isQueued = FakeEntries::queueWork(stream, access, [product, workspace, workspaceBytes, isDouble] {
      std::memset(workspace, 0xff, workspaceBytes);
      isDouble ? product.run<double>() : product.run<float>();
    });
    return isQueued ? kSuccessful : kInvalid;
  }

  static constexpr size_t kWorkspaceBytes = 256;
};

CublasLtEntries listFakeCublasLt() {
  CublasLtEntries entries;
  entries.create = [](CublasLt::Handle **) { return kSuccessful; };
  entries.destroy = [](CublasLt::Handle *) { return kSuccessful; };
  entries.getVersion = [] { return size_t{130000}; };
  entries.descCreate = FakeCublasLtEntries::descCreate;
  entries.descSet = FakeCublasLtEntries::descSet;
  entries.descDestroy = [](Opaque operation) {
    delete &as<Operation>(operation);
    return kSuccessful;
  };
  entries.layoutCreate = FakeCublasLtEntries::layoutCreate;
  entries.layoutSet = FakeCublasLtEntries::layoutSet;
  entries.layoutDestroy = [](Opaque layout) {
    delete &as<Layout>(layout);
    return kSuccessful;
  };
  entries.preferenceCreate = [](Opaque *made) {
    *made = new Preference;
    return kSuccessful;
  };
  entries.preferenceSet = [](Opaque preference, int attribute, const void *value, size_t bytes) {
    if (attribute == kReductionSchemes)
      std::memcpy(&as<Preference>(preference).schemes, value, bytes);
    if (attribute >= kMinAlignmentA && attribute <= kMinAlignmentD)
      std::memcpy(&as<Preference>(preference).alignments[static_cast<size_t>(attribute - kMinAlignmentA)], value,
                  bytes);
    return kSuccessful;
  };
  entries.preferenceDestroy = [](Opaque preference) {
    delete &as<Preference>(preference);
    return kSuccessful;
  };
  entries.getHeuristic = FakeCublasLtEntries::getHeuristic;
  entries.matmul = FakeCublasLtEntries::matmul;
  return entries;
}

FakeCublasLt::FakeCublasLt() {
  current = this;
  library = CublasLt::make(listFakeCublasLt());
}

FakeCublasLt::~FakeCublasLt() {
  library.reset();
  current = nullptr;
}

std::vector<int> FakeCublasLt::getComputeTypes() const {
  std::lock_guard lock(mutex);
  return computeTypes;
}

std::vector<uint32_t> FakeCublasLt::getEpilogues() const {
  std::lock_guard lock(mutex);
  return epilogues;
}

bool FakeCublasLt::note(uint32_t epilogue) {
  std::lock_guard lock(mutex);
  epilogues.push_back(epilogue);
  return hasEpilogues || epilogue == kDefault;
}

} // namespace spmd::cuda
