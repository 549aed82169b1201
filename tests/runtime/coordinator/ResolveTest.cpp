//===- ResolveTest.cpp - where process 0 listens for a host name ----------===//

#include "runtime/coordinator/Resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace spmd::coordinator;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

std::vector<std::string> texts(const std::vector<asio::ip::address> &addresses) {
  std::vector<std::string> result;
  for (const asio::ip::address &one : addresses)
    result.push_back(one.to_string());
  return result;
}

ListenPlan plan(const std::string &host, const std::vector<std::string> &found, bool hasToken = true) {
  std::vector<asio::ip::address> addresses;
  for (const std::string &one : found)
    addresses.push_back(asio::ip::make_address(one));
  return planListening(host, addresses, hasToken);
}

// A bare container has no /etc/hosts that defines localhost.
TEST(Resolve, LocalhostNeedsNoLookup) {
  EXPECT_THAT(texts(addressesOf("localhost")), ElementsAre("127.0.0.1", "::1"));
  EXPECT_THAT(texts(addressesOf("node.localhost")), ElementsAre("127.0.0.1", "::1"));
  EXPECT_THAT(texts(addressesOf("10.0.0.1")), ElementsAre("10.0.0.1"));
  EXPECT_THAT(texts(addressesOf("fe80::1")), ElementsAre("fe80::1"));
  EXPECT_THAT(addressesOf("localhost.example"), IsEmpty());
}

// Only at the interface of the address.
TEST(Resolve, AnAddressIsListenedAtItself) {
  for (const char *address : {"127.0.0.1", "::1", "127.0.1.1", "10.0.0.1", "fd00::1"})
    for (bool hasToken : {false, true}) {
      EXPECT_THAT(texts(plan(address, {address}, hasToken).listenAddresses), ElementsAre(address));
      EXPECT_EQ(plan(address, {address}, hasToken).warning, "");
    }
  EXPECT_THAT(texts(plan("node", {"10.0.0.1"}).listenAddresses), ElementsAre("10.0.0.1"));
  EXPECT_THAT(texts(plan("node", {"10.0.0.1", "10.0.0.1"}).listenAddresses), ElementsAre("10.0.0.1"));
  EXPECT_THAT(texts(plan("node", {"10.0.0.1"}).shortcuts), IsEmpty());
}

// ::1 if there is no IPv4.
TEST(Resolve, LocalhostStaysLoopback) {
  ListenPlan local = plan("localhost", {"127.0.0.1", "::1"});
  EXPECT_THAT(texts(local.listenAddresses), ElementsAre("127.0.0.1", "::1"));
  EXPECT_EQ(local.warning, "");
}

// Debian's /etc/hosts: other machines resolve the name to another address.
TEST(Resolve, ANameThatIsLoopbackHereIsListenedForEverywhere) {
  ListenPlan own = plan("node7", {"127.0.1.1"});
  EXPECT_THAT(texts(own.listenAddresses), ElementsAre("::", "0.0.0.0"));
  EXPECT_THAT(texts(own.shortcuts), ElementsAre("127.0.1.1", "127.0.0.1", "::1"));
  EXPECT_EQ(own.warning, "");
  EXPECT_THAT(texts(plan("node7", {"127.0.1.1", "10.0.0.7"}).listenAddresses), ElementsAre("::", "0.0.0.0"));
}

// nss-myhostname returns all addresses of the machine; other machines know one of them.
TEST(Resolve, ANameOfSeveralAddressesIsListenedForEverywhere) {
  ListenPlan own = plan("node7", {"fe80::7", "fd00::7", "10.0.0.7"});
  EXPECT_THAT(texts(own.listenAddresses), ElementsAre("::", "0.0.0.0"));
  EXPECT_THAT(texts(own.own), ElementsAre("fe80::7", "fd00::7", "10.0.0.7"));
}

// Without a token nothing beyond loopback is opened; a warning says so.
TEST(Resolve, WithoutATokenALoopbackNameStaysLoopback) {
  ListenPlan own = plan("node7", {"127.0.1.1"}, /*hasToken=*/false);
  EXPECT_THAT(texts(own.listenAddresses), ElementsAre("127.0.1.1"));
  EXPECT_THAT(own.warning, AllOf(HasSubstr("`node7` is 127.0.1.1 here"), HasSubstr("--token-file FILE")));
  EXPECT_THAT(texts(plan("node7", {"10.0.0.7", "127.0.1.1"}, false).listenAddresses), ElementsAre("127.0.1.1"));
}

TEST(Resolve, AllAddressesAreReachedOverLoopback) {
  EXPECT_THAT(texts(plan("0.0.0.0", {"0.0.0.0"}).shortcuts), ElementsAre("127.0.0.1"));
  EXPECT_THAT(texts(plan("::", {"::"}).shortcuts), ElementsAre("::1", "127.0.0.1"));
}

} // namespace
