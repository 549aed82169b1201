#include "runtime/collective/shm/PeerLink.h"
#include "runtime/support/Error.h"
#include "tests/support/NoFreeDescriptor.h"

#include <cstddef>
#include <cstring>
#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

using namespace spmd;
using namespace spmd::shm;

namespace {

/// The store of a job that ends while its processes are being set up.
class EndedStore : public Store {
public:
  void set(const std::string &, const std::string &) override { throw Error("the job is over"); }
  std::string wait(const std::string &, const Awaited &) override { throw Error("the job is over"); }
  void removePrefix(const std::string &) override {}
};

TEST(PeerLink, AVerdictWhileItIsMadeIsAnErrorLikeAnyOther) {
  EndedStore store;
  try {
    SegmentServer server(0, store, [](const SegmentName &) { return std::shared_ptr<Segment>(); }, nullptr);
    FAIL();
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "the job is over");
  }
}

/// A store that keeps its values.
class KeptStore : public Store {
public:
  void set(const std::string &, const std::string &given) override { value = given; }
  std::string wait(const std::string &, const Awaited &) override { return value; }
  void removePrefix(const std::string &) override {}
  std::string value;
};

// A connection that cannot be accepted is soon reported as an error, and is accepted once descriptors are free again.
TEST(PeerLink, ReportsExhaustedDescriptors) {
  KeptStore store;
  std::promise<std::string> failure;
  SegmentServer server(
      0, store, [](const SegmentName &) { return std::shared_ptr<Segment>(); },
      [&](const std::string &why) { failure.set_value(why); });
  UniqueFd client(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  {
    test::NoFreeDescriptor none;
    std::string name = store.value.substr(0, store.value.find(' '));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    ASSERT_EQ(connect(client.get(), reinterpret_cast<sockaddr *>(&address), length), 0);
    EXPECT_THAT(failure.get_future().get(),
                testing::MatchesRegex("shared memory: other processes of this host cannot connect: Too many open "
                                      "files: this process may have [0-9]+ at a time; raise `ulimit -n`"));
  }
  uint32_t garbage = 0;
  ASSERT_EQ(send(client.get(), &garbage, sizeof garbage, 0), ssize_t(sizeof garbage));
  EXPECT_EQ(recv(client.get(), &garbage, sizeof garbage, 0), 0); // It was read, and refused.
}

} // namespace
