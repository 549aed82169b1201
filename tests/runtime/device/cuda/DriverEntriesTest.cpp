//===- DriverEntriesTest.cpp - our declarations against CUDA's header -----===//
//
// DriverEntries.def and DriverTypes.h are written by hand, so that the build does not need the CUDA toolkit. If the
// toolkit's header is installed, the compiler compares them with it.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/Driver.h"

#include <gtest/gtest.h>
#include <type_traits>

#ifdef SPMDC_HAS_CUDA_HEADER
#include <cstddef>
#include <cuda.h>
#endif

using namespace spmd::cuda;

namespace {

#ifdef SPMDC_HAS_CUDA_HEADER

template <typename T>
concept Complete = requires { sizeof(T); };

/// Whether arguments are passed in the same way: both are pointers to equivalent and equally constant types; or
/// structures, of one size if both are known; or integers or enumerations of one size.
template <typename A, typename B> constexpr bool isAlike() {
  if constexpr (std::is_pointer_v<A> && std::is_pointer_v<B>) {
    using To = std::remove_pointer_t<A>;
    using Other = std::remove_pointer_t<B>;
    return std::is_const_v<To> == std::is_const_v<Other> &&
           isAlike<std::remove_const_t<To>, std::remove_const_t<Other>>();
  } else if constexpr (std::is_class_v<A> && std::is_class_v<B>) {
    if constexpr (Complete<A> && Complete<B>)
      return sizeof(A) == sizeof(B);
    return Complete<A> == Complete<B>;
  } else if constexpr (std::is_void_v<A> || std::is_void_v<B>) {
    return std::is_same_v<A, B>;
  } else {
    auto isWord = [](auto *value) {
      using T = std::remove_pointer_t<decltype(value)>;
      return std::is_integral_v<T> || std::is_enum_v<T>;
    };
    bool areWords = isWord(static_cast<A *>(nullptr)) && isWord(static_cast<B *>(nullptr));
    return sizeof(A) == sizeof(B) && (areWords || std::is_same_v<A, B>);
  }
}

template <typename R, typename... As, typename Q, typename... Bs> constexpr bool areAlike(R (*)(As...), Q (*)(Bs...)) {
  if constexpr (sizeof...(As) == sizeof...(Bs))
    return isAlike<R, Q>() && (isAlike<As, Bs>() && ...);
  return false;
}

#define SPMD_CUDA_ENTRY(name, symbol, ...)                                                                             \
  static_assert(areAlike(static_cast<Result (*)(__VA_ARGS__)>(nullptr), static_cast<decltype(&symbol)>(nullptr)),      \
                #symbol " is declared otherwise by CUDA");
#include "runtime/device/cuda/DriverEntries.def"
#undef SPMD_CUDA_ENTRY

// The comparison detects differences.
static_assert(!areAlike(static_cast<int (*)(int)>(nullptr), static_cast<int (*)(int, int)>(nullptr)));
static_assert(!areAlike(static_cast<int (*)(int)>(nullptr), static_cast<int (*)(long)>(nullptr)));
static_assert(!areAlike(static_cast<int (*)(int *)>(nullptr), static_cast<int (*)(const int *)>(nullptr)));
static_assert(!areAlike(static_cast<int (*)(int **)>(nullptr), static_cast<int (*)(int *)>(nullptr)));
static_assert(!areAlike(static_cast<int (*)(float *)>(nullptr), static_cast<int (*)(int *)>(nullptr)));

static_assert(kSuccess == CUDA_SUCCESS && kOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY &&
              kNoDevice == CUDA_ERROR_NO_DEVICE && kNotReady == CUDA_ERROR_NOT_READY);
static_assert(kMultiprocessorCount == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT &&
              kCapabilityMajor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR &&
              kCapabilityMinor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR &&
              kMemoryPoolsSupported == CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
static_assert(kPoolReleaseThreshold == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD &&
              kMaxDynamicSharedBytes == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES &&
              kJitErrorLog == CU_JIT_ERROR_LOG_BUFFER && kJitErrorLogBytes == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES &&
              kStreamNonBlocking == CU_STREAM_NON_BLOCKING &&
              kCaptureThreadLocal == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL &&
              kCaptureRelaxed == CU_STREAM_CAPTURE_MODE_RELAXED && kHostPortable == CU_MEMHOSTREGISTER_PORTABLE &&
              kHostPortable == CU_MEMHOSTALLOC_PORTABLE);

static_assert(sizeof(ConditionalNode) == sizeof(CUgraphNodeParams) &&
              offsetof(ConditionalNode, condition) == offsetof(CUgraphNodeParams, conditional.handle) &&
              offsetof(ConditionalNode, kind) == offsetof(CUgraphNodeParams, conditional.type) &&
              offsetof(ConditionalNode, graphCount) == offsetof(CUgraphNodeParams, conditional.size) &&
              offsetof(ConditionalNode, graphs) == offsetof(CUgraphNodeParams, conditional.phGraph_out) &&
              offsetof(ConditionalNode, context) == offsetof(CUgraphNodeParams, conditional.ctx) &&
              ConditionalNode{}.nodeType == CU_GRAPH_NODE_TYPE_CONDITIONAL);
static_assert(sizeof(GraphCondition) == sizeof(CUgraphConditionalHandle) && kConditionIf == CU_GRAPH_COND_TYPE_IF &&
              kConditionWhile == CU_GRAPH_COND_TYPE_WHILE && kCaptureActive == CU_STREAM_CAPTURE_STATUS_ACTIVE &&
              kSetDependencies == CU_STREAM_SET_CAPTURE_DEPENDENCIES);

TEST(DriverEntries, AreDeclaredAsInCudasHeader) {}

#else

TEST(DriverEntries, AreDeclaredAsInCudasHeader) { GTEST_SKIP() << "no cuda.h: the CUDA toolkit is not installed"; }

#endif

} // namespace
