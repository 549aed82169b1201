//===- SimulatorNetworkHelper.cpp - the network of a simulated job --------===//

#include "tests/runtime/coordinator/SimulatorWorld.h"

#include <algorithm>

namespace spmd::test::simulation {

/// Calls `what` now, or when the process can run again, or never.
void World::whenRunning(size_t index, std::function<void()> what) {
  Process &process = processes[index];
  if (!process.alive || process.exited)
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
  deliverUp(id, link.upLast, std::move(what));
}

void World::deliverUp(ConnectionId id, TimePoint when, std::function<void(StateMachine &)> what) {
  at(when, [this, what = std::move(what)] {
    whenRunning(0, [this, what] {
      what(*processes[0].server);
      pumpServer();
    });
  });
}

void World::down(ConnectionId id, std::function<void(MemberMachine &)> what) {
  Link &link = links.at(id);
  link.downLast = arrival(link.downLast, link.process);
  deliverDown(id, link.downLast, std::move(what));
}

void World::deliverDown(ConnectionId id, TimePoint when, std::function<void(MemberMachine &)> what) {
  at(when, [this, id, index = links.at(id).process, what = std::move(what)] {
    whenRunning(index, [this, id, index, what] {
      if (processes[index].connection != id || !links.at(id).clientOpen)
        return;
      what(*processes[index].member);
      pumpMember(index);
    });
  });
}

std::vector<TimePoint> World::strayArrivals(const std::string &record, size_t process) {
  std::vector<TimePoint> arrivals;
  if (!chance(4))
    return arrivals;
  try {
    Message message = decode(record);
    if (!std::holds_alternative<Heartbeat>(message) && !std::holds_alternative<ProcessStatisticsMessage>(message))
      return arrivals;
  } catch (const ProtocolError &) { // A record of the handshake.
    return arrivals;
  }
  for (int64_t copies = pick(1, 3); copies > 0; --copies)
    arrivals.push_back(arrival(now, process) + Milliseconds(pick(0, maxStrayMs)));
  return arrivals;
}

/// The connection is lost before the process has sent its hello; each side notices at its own time.
void World::breakConnection(ConnectionId id) {
  Link &link = links.at(id);
  Process &process = processes[link.process];
  if (process.connection != id || !link.clientOpen || !link.serverOpen || !process.alive ||
      process.member->getStage() != MemberStage::Challenged)
    return;
  up(id, [this, id](StateMachine &server) { server.onClosed(id, clock(0)); });
  deliverDown(id, arrival(now, link.process), [this, id](MemberMachine &member) {
    if (member.getStage() > MemberStage::Joining)
      return;
    links.at(id).clientOpen = false;
    member.onClosed("reset", clock(links.at(id).process));
  });
}

void World::connect(size_t index) {
  in(delay(), [this, index] {
    whenRunning(index, [this, index] {
      Process &process = processes[index];
      if (!processes[0].alive || processes[0].exited) {
        process.member->onConnectFailed("refused", clock(index));
        return pumpMember(index);
      }
      ConnectionId id = ++lastLink;
      links[id].process = index;
      links[id].upLast = links[id].downLast = now;
      process.connection = id;
      up(id, [this, id](StateMachine &server) { server.onOpened(id, "sim", clock(0)); });
      process.member->onConnected(clock(index));
      if (chance(5))
        in(pick(0, 20), [this, id] { breakConnection(id); });
      pumpMember(index);
    });
  });
}

/// One Send is one record: those of the handshake have fixed sizes, all others have a header.
static std::string recordOf(const std::string &bytes) {
  bool handshake = bytes.size() == openingBytes || bytes.size() == challengeBytes;
  bool isFrame = bytes.size() > frameHeaderBytes && static_cast<unsigned char>(bytes[0]) +
                                                            256u * static_cast<unsigned char>(bytes[1]) +
                                                            65536u * static_cast<unsigned char>(bytes[2]) ==
                                                        bytes.size() - frameHeaderBytes;
  return handshake && !isFrame ? bytes : bytes.substr(frameHeaderBytes);
}

/// An observer on process 0's machine; it may send nonsense.
void World::observe() {
  whenRunning(0, [this] {
    if (!processes[0].server)
      return;
    ConnectionId id = ++lastLink;
    links[id].upLast = links[id].downLast = now;
    Opening opening;
    opening.role = Role::Observer;
    opening.nonce = Nonce{static_cast<char>(pick(0, 127))};
    observers[id] = opening;
    up(id, [this, id, opening](StateMachine &server) {
      server.onOpened(id, "observer", clock(0));
      server.onRecord(id, opening.encode(), clock(0));
    });
  });
}

void World::hearObserver(ConnectionId id, const std::string &bytes) {
  if (observed.count(id)) {
    Message message = decode(std::string_view(bytes).substr(frameHeaderBytes));
    auto *reply = std::get_if<StatusReply>(&message);
    if (!reply)
      return violate("an observer is told something else than the status");
    std::set<int32_t> ids;
    for (const ProcessStatus &process : reply->status.processes)
      if (!ids.insert(process.process).second || process.process < 0 || process.process >= count)
        violate("a status of process " + std::to_string(process.process));
    if (reply->status.stage == JobStatus::Stage::Running && static_cast<int32_t>(ids.size()) != count)
      violate("a status of a running job without all its processes");
    if ((reply->status.stage == JobStatus::Stage::Over) == reply->status.verdict.empty())
      violate("a status with a verdict of a job that is not over, or without one of a job that is");
    return;
  }
  Opening ours = observers.at(id), theirs;
  observers.erase(id);
  observed.insert(id);
  if (!Opening::decode(std::string_view(bytes).substr(0, openingBytes), theirs))
    return violate("an observer is not challenged");
  Proof proof = prove(Side::Process, "", ours, theirs);
  bool isSilent = chance(10), isWrong = chance(20);
  Message question = StatusRequest{};
  if (isWrong)
    question = chance(50) ? Message(Fail{"broken", {}}) : Message(Goodbye{});
  up(id, [this, id, proof, isSilent, question](StateMachine &server) {
    server.onRecord(id, std::string_view(proof.data(), proof.size()), clock(0));
    if (!isSilent)
      server.onRecord(id, std::string_view(encode(question)).substr(frameHeaderBytes), clock(0));
    if (chance(50))
      server.onClosed(id, clock(0));
  });
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
      if (link && link->clientOpen) {
        auto deliver = [this, id = process.connection, record = recordOf(action.bytes)](StateMachine &server) {
          server.onRecord(id, record, clock(0));
        };
        for (TimePoint when : strayArrivals(recordOf(action.bytes), index))
          deliverUp(process.connection, when, deliver);
        up(process.connection, deliver);
      }
      break;
    case MemberAction::Kind::Close:
      if (link && link->clientOpen) {
        link->clientOpen = false;
        up(process.connection,
           [this, id = process.connection](StateMachine &server) { server.onClosed(id, clock(0)); });
      }
      break;
    }
  }
  process.memberDeadline = worldTime(index, process.member->nextDeadline());
  if (!process.member->isEnded() || !endedAt.emplace(index, now).second)
    return;
  if (process.member->getVerdict())
    checkVerdict(*process.member->getVerdict(), index);
  if (index == 0 && process.member->getStage() != MemberStage::Left)
    in(pick(0, 30), [this, since = now] { exitWhenQuiet(since); });
}

void World::pumpServer() {
  StateMachine &server = *processes[0].server;
  processes[0].serverDeadline = worldTime(0, server.nextDeadline());
  for (ServerAction &action : server.takeActions()) {
    Link &link = links.at(action.connection);
    if (!link.serverOpen)
      continue;
    if (observers.count(action.connection) || observed.count(action.connection)) {
      if (action.kind == ServerAction::Kind::Send)
        hearObserver(action.connection, action.bytes);
      else
        link.serverOpen = false;
      continue;
    }
    if (action.kind == ServerAction::Kind::Send) {
      auto deliver = [this, index = link.process, record = recordOf(action.bytes)](MemberMachine &member) {
        member.onRecord(record, clock(index));
      };
      for (TimePoint when : strayArrivals(recordOf(action.bytes), link.process))
        deliverDown(action.connection, when, deliver);
      down(action.connection, deliver);
      continue;
    }
    link.serverOpen = false;
    down(action.connection,
         [this, index = link.process](MemberMachine &member) { member.onClosed("closed", clock(index)); });
    // The other side answers by closing too, or is dropped.
    in(1000, [this, id = action.connection] {
      whenRunning(0, [this, id] {
        processes[0].server->onClosed(id, clock(0));
        pumpServer();
      });
    });
  }
}

} // namespace spmd::test::simulation
