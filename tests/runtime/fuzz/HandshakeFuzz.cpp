// Unauthenticated connections to the coordinator's port, and a member that knows the token but sends arbitrary
// messages. Each byte of the input chooses the next event, so the state machines are tested in every stage.

#include "runtime/coordinator/MemberMachine.h"
#include "runtime/coordinator/StateMachine.h"
#include "tests/runtime/fuzz/FuzzSupport.h"

using namespace spmd;
using namespace spmd::coordinator;

namespace {

struct Input {
  std::string_view rest;
  uint8_t byte() {
    if (rest.empty())
      return 0;
    auto value = static_cast<uint8_t>(rest[0]);
    rest.remove_prefix(1);
    return value;
  }
  std::string_view bytes(size_t size) {
    std::string_view taken = rest.substr(0, size);
    rest.remove_prefix(taken.size());
    return taken;
  }
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Input input{{reinterpret_cast<const char *>(data), size}};
  TimePoint now{std::chrono::hours(1)};
  ServerOptions options;
  options.numProcesses = 2;
  options.token = "t";
  options.host = "h";
  options.incarnation = 7;
  auto nonce = [] { return Nonce{1, 2, 3}; };
  StateMachine server(options, nonce, now);
  MemberOptions memberOptions;
  memberOptions.hello.numProcesses = 2;
  memberOptions.hello.processId = 1;
  memberOptions.token = "t";
  MemberMachine member(memberOptions, nonce, now);
  member.onConnected(now);
  Opening theirs, ours;
  theirs.nonce = nonce();
  ours.nonce = nonce();
  ours.jobTag = makeJobTag("");
  Proof proof = prove(Side::Process, "t", theirs, ours);
  ConnectionId last = 0;
  while (!input.rest.empty()) {
    now += Milliseconds(input.byte());
    ConnectionId id = last == 0 ? 0 : 1 + input.byte() % last;
    switch (input.byte() % 9) {
    case 0:
      server.onOpened(++last, "10.0.0.1", now);
      break;
    case 1:
      server.onRecord(id, theirs.encode(), now);
      break;
    case 2:
      server.onRecord(id, std::string_view(proof.data(), proof.size()), now);
      break;
    case 3: {
      Hello hello;
      hello.processId = input.byte() % 3;
      hello.numProcesses = 2;
      hello.incarnation = 7;
      hello.localDeviceIds = {0};
      server.onRecord(id, std::string_view(encode(hello)).substr(frameHeaderBytes), now);
      break;
    }
    case 4:
      server.onRecord(id, input.bytes(input.byte()), now);
      break;
    case 5:
      server.onClosed(id, now);
      break;
    case 6:
      server.tick(now);
      break;
    case 7:
      member.onRecord(input.bytes(input.byte()), now);
      break;
    case 8:
      // The member receives what the server sends on its connection.
      for (const ServerAction &action : server.takeActions())
        if (action.kind == ServerAction::Kind::Send && action.connection == id)
          member.onRecord(action.bytes.size() == challengeBytes
                              ? std::string_view(action.bytes)
                              : std::string_view(action.bytes).substr(frameHeaderBytes),
                          now);
      break;
    }
    member.takeActions();
    if (server.getStage() == StateMachine::Stage::Over && !server.getVerdict())
      std::abort();
  }
  return 0;
}
