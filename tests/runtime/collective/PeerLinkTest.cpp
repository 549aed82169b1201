#include "runtime/collective/shm/PeerLink.h"
#include "runtime/support/Error.h"

#include <gtest/gtest.h>

using namespace spmd;
using namespace spmd::shm;

namespace {

/// The store of a job that ends while its processes set themselves up.
class EndedStore : public Store {
public:
  void set(const std::string &, const std::string &) override { throw Error("the job is over"); }
  std::string wait(const std::string &, std::chrono::milliseconds) override { throw Error("the job is over"); }
  void removePrefix(const std::string &) override {}
};

TEST(PeerLink, AVerdictWhileItIsMadeIsAnErrorLikeAnyOther) {
  EndedStore store;
  try {
    SegmentServer server(0, store, [](const SegmentName &) { return std::shared_ptr<Segment>(); });
    FAIL();
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "the job is over");
  }
}

} // namespace
