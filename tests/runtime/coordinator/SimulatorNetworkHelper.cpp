//===- SimulatorNetworkHelper.cpp - how messages of a seed travel ---------===//

#include "tests/runtime/coordinator/SimulatorWorld.h"

#include <algorithm>

namespace spmd::test::simulation {

/// Now, or when the process can run again, or never.
void World::whenRunning(size_t index, std::function<void()> what) {
  Process &process = processes[index];
  if (!process.alive)
    return;
  if (process.stoppedUntil > now)
    return at(process.stoppedUntil, [this, index, what = std::move(what)] { whenRunning(index, what); });
  what();
}

TimePoint World::arrival(TimePoint last, size_t process) {
  TimePoint when = std::max(last, now);
  if (auto found = cutUntil.find(process); found != cutUntil.end())
    when = std::max(when, found->second);
  return when + Milliseconds(delay());
}

void World::up(ConnectionId id, std::function<void(StateMachine &)> what) {
  Link &link = links.at(id);
  link.upLast = arrival(link.upLast, link.process);
  at(link.upLast, [this, what = std::move(what)] {
    whenRunning(0, [this, what] {
      what(*processes[0].server);
      pumpServer();
    });
  });
}

void World::down(ConnectionId id, std::function<void(MemberMachine &)> what) {
  Link &link = links.at(id);
  link.downLast = arrival(link.downLast, link.process);
  at(link.downLast, [this, id, index = link.process, what = std::move(what)] {
    whenRunning(index, [this, id, index, what] {
      if (processes[index].connection != id || !links.at(id).clientOpen)
        return;
      what(*processes[index].member);
      pumpMember(index);
    });
  });
}

void World::connect(size_t index) {
  in(delay(), [this, index] {
    whenRunning(index, [this, index] {
      Process &process = processes[index];
      if (!processes[0].alive) {
        process.member->onConnectFailed("refused", now);
        return pumpMember(index);
      }
      ConnectionId id = ++lastLink;
      links[id].process = index;
      links[id].upLast = links[id].downLast = now;
      process.connection = id;
      up(id, [this, id](StateMachine &server) { server.onOpened(id, "sim", now); });
      process.member->onConnected(now);
      pumpMember(index);
    });
  });
}

/// One Send is one record: the handshake's have fixed sizes, all others a header.
static std::string recordOf(const std::string &bytes) {
  bool handshake = bytes.size() == openingBytes || bytes.size() == challengeBytes;
  bool isFrame = bytes.size() > frameHeaderBytes && static_cast<unsigned char>(bytes[0]) +
                                                            256u * static_cast<unsigned char>(bytes[1]) +
                                                            65536u * static_cast<unsigned char>(bytes[2]) ==
                                                        bytes.size() - frameHeaderBytes;
  return handshake && !isFrame ? bytes : bytes.substr(frameHeaderBytes);
}

void World::pumpMember(size_t index) {
  Process &process = processes[index];
  for (MemberAction &action : process.member->takeActions()) {
    Link *link = process.connection ? &links.at(process.connection) : nullptr;
    switch (action.kind) {
    case MemberAction::Kind::Connect:
      connect(index);
      break;
    case MemberAction::Kind::Send:
      if (link && link->clientOpen)
        up(process.connection, [this, id = process.connection, record = recordOf(action.bytes)](StateMachine &server) {
          server.onRecord(id, record, now);
        });
      break;
    case MemberAction::Kind::Close:
      if (link && link->clientOpen) {
        link->clientOpen = false;
        up(process.connection, [this, id = process.connection](StateMachine &server) { server.onClosed(id, now); });
      }
      break;
    }
  }
  process.memberDeadline = process.member->nextDeadline();
  if (process.member->isEnded() && endedAt.emplace(index, now).second && process.member->getVerdict())
    checkVerdict(*process.member->getVerdict(), index);
}

void World::pumpServer() {
  StateMachine &server = *processes[0].server;
  processes[0].serverDeadline = server.nextDeadline();
  for (ServerAction &action : server.takeActions()) {
    Link &link = links.at(action.connection);
    if (!link.serverOpen)
      continue;
    if (action.kind == ServerAction::Kind::Send) {
      down(action.connection,
           [this, record = recordOf(action.bytes)](MemberMachine &member) { member.onRecord(record, now); });
      continue;
    }
    link.serverOpen = false;
    down(action.connection, [this](MemberMachine &member) { member.onClosed("closed", now); });
    // The other side answers by closing too, or is given up.
    in(1000, [this, id = action.connection] {
      whenRunning(0, [this, id] {
        processes[0].server->onClosed(id, now);
        pumpServer();
      });
    });
  }
}

} // namespace spmd::test::simulation
