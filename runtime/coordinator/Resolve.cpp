#include "runtime/coordinator/Resolve.h"

#include <algorithm>

namespace spmd::coordinator {

using asio::ip::address;
using asio::ip::address_v4;
using asio::ip::address_v6;

std::vector<address> addressesOf(const std::string &host) {
  if (host == "localhost" || host.ends_with(".localhost"))
    return {address_v4::loopback(), address_v6::loopback()};
  asio::error_code error;
  address numeric = asio::ip::make_address(host, error);
  return error ? std::vector<address>() : std::vector<address>{numeric};
}

static bool isLoopback(const address &one) { return one.is_loopback(); }

ListenPlan planListening(const std::string &host, const std::vector<address> &found, bool hasToken) {
  ListenPlan plan;
  for (const address &one : found)
    if (std::find(plan.own.begin(), plan.own.end(), one) == plan.own.end())
      plan.own.push_back(one);
  std::vector<address> loopback;
  std::copy_if(plan.own.begin(), plan.own.end(), std::back_inserter(loopback), isLoopback);
  // A number and localhost mean the same on all machines.
  bool isName = addressesOf(host).empty();
  if (!isName || (plan.own.size() == 1 && loopback.empty())) {
    plan.listenAddresses = plan.own;
    if (plan.own.size() == 1 && plan.own.front().is_unspecified())
      plan.shortcuts = plan.own.front().is_v6() ? std::vector<address>{address_v6::loopback(), address_v4::loopback()}
                                                : std::vector<address>{address_v4::loopback()};
    return plan;
  }
  if (!hasToken && !loopback.empty()) {
    plan.listenAddresses = loopback;
    plan.warning = "`" + host + "` is " + loopback.front().to_string() +
                   " here, which only this machine reaches; without a token the coordinator listens nowhere "
                   "else: for processes of other machines make a token with `spmdc token > FILE`, then `chmod 600 "
                   "FILE`, and give --token-file FILE to all processes";
    return plan;
  }
  // Sockets of `::` accept IPv4 too; 0.0.0.0 is for machines without IPv6.
  plan.listenAddresses = {address_v6::any(), address_v4::any()};
  // Other processes of this machine connect there, so process 0 does too: all have one address.
  plan.shortcuts = loopback;
  plan.shortcuts.push_back(address_v4::loopback());
  plan.shortcuts.push_back(address_v6::loopback());
  return plan;
}

} // namespace spmd::coordinator
