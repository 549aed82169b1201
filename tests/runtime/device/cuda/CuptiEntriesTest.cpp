//===- CuptiEntriesTest.cpp - our declarations against CUPTI's header -----===//
//
// CuptiEntries.h is written by hand, so that the build does not need the CUDA toolkit. If the toolkit's header is
// installed, the compiler compares the two. The newest record of each kind is the one that the library writes; records
// of older versions are in a header of their own.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/CuptiEntries.h"

#include <gtest/gtest.h>

#ifdef SPMDC_HAS_CUPTI_HEADER
#include <cstddef>
#include <cupti.h>
#if __has_include(<cupti_activity_deprecated.h>)
#include <cupti_activity_deprecated.h>
#endif
#endif

using namespace spmd::cuda;

namespace {

#ifdef SPMDC_HAS_CUPTI_HEADER

/// Whether the fields of our record have the places and sizes of those of CUPTI's.
template <typename Own, typename Theirs> constexpr bool haveEqualFields() {
  return sizeof(Own) <= sizeof(Theirs) && offsetof(Own, kind) == offsetof(Theirs, kind) &&
         sizeof(Own::kind) == sizeof(Theirs::kind) && offsetof(Own, start) == offsetof(Theirs, start) &&
         sizeof(Own::start) == sizeof(Theirs::start) && offsetof(Own, end) == offsetof(Theirs, end) &&
         sizeof(Own::end) == sizeof(Theirs::end) && offsetof(Own, device) == offsetof(Theirs, deviceId) &&
         sizeof(Own::device) == sizeof(Theirs::deviceId) && offsetof(Own, context) == offsetof(Theirs, contextId) &&
         sizeof(Own::context) == sizeof(Theirs::contextId) && offsetof(Own, stream) == offsetof(Theirs, streamId) &&
         sizeof(Own::stream) == sizeof(Theirs::streamId) &&
         offsetof(Own, correlation) == offsetof(Theirs, correlationId) &&
         sizeof(Own::correlation) == sizeof(Theirs::correlationId);
}

// The header of each version has the records of those before it.
static_assert(haveEqualFields<CuptiKernel, CUpti_ActivityKernel8>());
static_assert(haveEqualFields<CuptiKernel, CUpti_ActivityKernel9>()); // CUPTI 12.0.
static_assert(haveEqualFields<CuptiCopy, CUpti_ActivityMemcpy5>());
static_assert(haveEqualFields<CuptiCopy, CUpti_ActivityMemset4>());
static_assert(haveEqualFields<CuptiPeerCopy, CUpti_ActivityMemcpyPtoP4>());
#if CUPTI_API_VERSION >= 130000
static_assert(haveEqualFields<CuptiKernel, CUpti_ActivityKernel10>());
static_assert(haveEqualFields<CuptiCopy, CUpti_ActivityMemcpy6>());
#endif
#if CUPTI_API_VERSION >= 130500
static_assert(haveEqualFields<CuptiKernel, CUpti_ActivityKernel11>());
static_assert(haveEqualFields<CuptiKernel, CUpti_ActivityKernel12>());
static_assert(haveEqualFields<CuptiKernel, CUpti_ActivityKernel13>());
static_assert(haveEqualFields<CuptiCopy, CUpti_ActivityMemcpy7>());
static_assert(haveEqualFields<CuptiCopy, CUpti_ActivityMemset5>());
#endif

static_assert(sizeof(CuptiExternal) == sizeof(CUpti_ActivityExternalCorrelation) &&
              offsetof(CuptiExternal, externalKind) == offsetof(CUpti_ActivityExternalCorrelation, externalKind) &&
              offsetof(CuptiExternal, externalId) == offsetof(CUpti_ActivityExternalCorrelation, externalId) &&
              offsetof(CuptiExternal, correlation) == offsetof(CUpti_ActivityExternalCorrelation, correlationId) &&
              sizeof(CuptiExternal::correlation) == sizeof(CUpti_ActivityExternalCorrelation::correlationId));

static_assert(kCuptiMemcpy == CUPTI_ACTIVITY_KIND_MEMCPY && kCuptiMemset == CUPTI_ACTIVITY_KIND_MEMSET &&
              kCuptiDriver == CUPTI_ACTIVITY_KIND_DRIVER && kCuptiRuntime == CUPTI_ACTIVITY_KIND_RUNTIME &&
              kCuptiKernel == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && kCuptiPeerCopy == CUPTI_ACTIVITY_KIND_MEMCPY2 &&
              kCuptiExternal == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION &&
              kCuptiCustom == CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0);
static_assert(kCuptiForced == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED && kCuptiSuccess == CUPTI_SUCCESS &&
              kCuptiNoMoreRecords == CUPTI_ERROR_MAX_LIMIT_REACHED &&
              kCuptiIncompleteRecord == CUPTI_ERROR_INVALID_KIND &&
              kCuptiTakenByOther == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
#if CUPTI_API_VERSION >= 28
static_assert(kCuptiBuffersByThread == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER);
#endif

/// Whether a value is passed as an argument in the same way: pointers, and integers or enumerations of one size.
template <typename A, typename B>
constexpr bool isAlike = sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B> &&
                         (std::is_pointer_v<A> || std::is_void_v<A> == std::is_void_v<B>);
template <typename R, typename... As, typename Q, typename... Bs> constexpr bool areAlike(R (*)(As...), Q (*)(Bs...)) {
  if constexpr (sizeof...(As) == sizeof...(Bs))
    return sizeof(R) == sizeof(Q) && (isAlike<As, Bs> && ...);
  return false;
}
constexpr CuptiEntries kNone;
static_assert(areAlike(kNone.getVersion, decltype (&cuptiGetVersion)(nullptr)));
static_assert(areAlike(kNone.getResultString, decltype (&cuptiGetResultString)(nullptr)));
static_assert(areAlike(kNone.getTimestamp, decltype (&cuptiGetTimestamp)(nullptr)));
static_assert(areAlike(kNone.getContextId, decltype (&cuptiGetContextId)(nullptr)));
static_assert(areAlike(kNone.getStreamId, decltype (&cuptiGetStreamIdEx)(nullptr)));
static_assert(areAlike(kNone.setAttribute, decltype (&cuptiActivitySetAttribute)(nullptr)));
static_assert(areAlike(kNone.registerCallbacks, decltype (&cuptiActivityRegisterCallbacks)(nullptr)));
static_assert(areAlike(kNone.enable, decltype (&cuptiActivityEnable)(nullptr)));
static_assert(areAlike(kNone.disable, decltype (&cuptiActivityDisable)(nullptr)));
static_assert(areAlike(kNone.flushAll, decltype (&cuptiActivityFlushAll)(nullptr)));
static_assert(areAlike(kNone.getNextRecord, decltype (&cuptiActivityGetNextRecord)(nullptr)));
static_assert(areAlike(kNone.countDropped, decltype (&cuptiActivityGetNumDroppedRecords)(nullptr)));
static_assert(areAlike(kNone.push, decltype (&cuptiActivityPushExternalCorrelationId)(nullptr)));
static_assert(areAlike(kNone.pop, decltype (&cuptiActivityPopExternalCorrelationId)(nullptr)));
template <typename R, typename... As, typename Q, typename... Bs>
constexpr bool areCallbacksAlike(R (*)(As...), Q (*)(Bs...)) {
  return (isAlike<As, Bs> && ...);
}
static_assert(areCallbacksAlike(CuptiEntries::RequestBuffer(nullptr), CUpti_BuffersCallbackRequestFunc(nullptr)));
static_assert(areCallbacksAlike(CuptiEntries::CompleteBuffer(nullptr), CUpti_BuffersCallbackCompleteFunc(nullptr)));

TEST(CuptiEntries, AreDeclaredAsInCuptisHeader) {}

#else

TEST(CuptiEntries, AreDeclaredAsInCuptisHeader) { GTEST_SKIP() << "no cupti.h: the CUDA toolkit is not installed"; }

#endif

} // namespace
