// A process without memory reports that to the others, or at least ends its own part: reporting never throws.
#include "runtime/coordinator/Clock.h"
#include "runtime/support/OutOfMemory.h"
#include "tests/runtime/coordinator/TransportHelper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <thread>

namespace {

/// How many of this thread's next allocations fail.
[[maybe_unused]] thread_local int failing = 0; // Sanitizers have their own operator new.

} // namespace

#if !__has_feature(thread_sanitizer) && !__has_feature(address_sanitizer)
void *operator new(size_t bytes) {
  if (failing > 0) {
    --failing;
    throw std::bad_alloc();
  }
  if (void *p = std::malloc(bytes ? bytes : 1))
    return p;
  throw std::bad_alloc();
}
void operator delete(void *p) noexcept { std::free(p); }
void operator delete(void *p, size_t) noexcept { std::free(p); }

using namespace spmd;
using namespace spmd::test;
using testing::HasSubstr;

namespace {

/// Runs `body` while so many allocations of this thread fail.
void withoutMemory(int allocations, const std::function<void()> &body) {
  failing = allocations;
  body();
  failing = 0;
}

// As long as the reserve, or memory that another thread frees, is enough.
TEST(ClientMemory, AFailureIsToldAllTheSame) {
  keepMemoryReserve();
  Port port;
  auto clients = joinAll(port, 2);
  std::string cause = "device cpu:3 at mlp.spmd:5:7: " + noMemoryText();
  withoutMemory(1, [&] { clients[1]->reportFailure(cause); });
  for (const auto &client : clients)
    EXPECT_THAT(messageOf([&] { client->throwVerdict(); }), HasSubstr("process 1 (")) << cause;
  for (const auto &client : clients)
    EXPECT_THAT(messageOf([&] { client->throwVerdict(); }), HasSubstr(cause));
}

// Without any memory this process ends at once; the others see its connection close.
TEST(ClientMemory, NothingIsThrownWhereNothingIsLeft) {
  Port port;
  auto clients = joinAll(port, 2);
  SourceLocation place{"a folder whose name is longer than a string's own memory/mlp.spmd", 5, 7};
  std::string cause(1000, 'x');
  constexpr int all = 1 << 30;
  withoutMemory(all, [&] {
    clients[1]->reportFailure(cause);
    clients[1]->reportFailureAt(cause, 3, 4, place);
    clients[1]->reportMissing(0, cause);
    clients[1]->reportSharedFailure(cause, 1);
  });
  ASSERT_TRUE(clients[1]->isOver());
  // The network thread, which knows nothing of it, goes on with its heartbeats.
  std::this_thread::sleep_for(coordinator::heartbeatInterval * 3 / 2);
  ASSERT_TRUE(clients[1]->isOver());
  EXPECT_THAT(messageOf([&] { clients[1]->throwVerdict(); }), HasSubstr("process 1 ("));
  EXPECT_THAT(messageOf([&] { clients[1]->goodbye(); }), HasSubstr("process 1 ("));
  clients[1].reset();
  EXPECT_THAT(messageOf([&] { clients[0]->goodbye(); }), HasSubstr("process 1 ("));
}

TEST(ClientMemory, AlsoOfAProcessAlone) {
  std::unique_ptr<Client> client = Client::join({});
  std::string cause(1000, 'x');
  withoutMemory(1 << 30, [&] { client->reportFailure(cause); });
  EXPECT_TRUE(client->isOver());
  EXPECT_THAT(messageOf([&] { client->throwVerdict(); }), HasSubstr("process 0 ("));
}

} // namespace
#endif
