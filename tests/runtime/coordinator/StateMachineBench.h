//===- StateMachineBench.h - a coordinator driven by a test -----*- C++ -*-===//
//
// The test passes events in and reads messages out, with a clock of its own.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/coordinator/StateMachine.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace spmd::coordinator {

/// A coordinator, and the messages that it has sent on each connection.
struct Bench {
  explicit Bench(int32_t count, const std::function<void(ServerOptions &)> &change = {}) {
    options.numProcesses = count;
    options.token = "t";
    options.statusToken = "s";
    options.host = "h0";
    options.pid = 100;
    options.incarnation = 1000;
    options.initializationTimeout = std::chrono::seconds(20);
    options.collectiveTimeout = std::chrono::seconds(30);
    if (change)
      change(options);
    machine = std::make_unique<StateMachine>(options, [] { return Nonce{7}; }, now);
  }

  /// Passes the time in small steps and sends heartbeats of all processes except `silent`.
  void pass(Milliseconds span, const std::set<int32_t> &silent = {}) {
    for (TimePoint end = now + span; now < end;) {
      now = std::min(end, now + Milliseconds(100));
      for (auto [process, connection] : memberConnections)
        if (!silent.count(process) && machine->getStage() < StateMachine::Stage::Done)
          receive(connection, Heartbeat{positions[process]});
      machine->tick(now);
      collect();
    }
  }

  void collect() {
    for (ServerAction &action : machine->takeActions()) {
      if (action.kind == ServerAction::Kind::Close) {
        closed.insert(action.connection);
        continue;
      }
      if (raw.count(action.connection))
        sent[action.connection].push_back(decode(std::string_view(action.bytes).substr(frameHeaderBytes)));
      else
        raw[action.connection] = action.bytes; // The challenge.
    }
  }

  ConnectionId open() {
    ++last;
    machine->onOpened(last, "10.0.0." + std::to_string(last), now);
    collect();
    return last;
  }

  /// Opens a connection and passes the handshake.
  ConnectionId openWithToken(const std::string &token = "t", Role role = Role::Process) {
    ConnectionId id = open();
    Opening ours, theirs;
    ours.role = role;
    ours.jobTag = makeJobTag("");
    ours.nonce[0] = static_cast<char>(id);
    machine->onRecord(id, ours.encode(), now);
    collect();
    EXPECT_TRUE(Opening::decode(std::string_view(raw[id]).substr(0, openingBytes), theirs));
    Proof proof = prove(Side::Process, token, ours, theirs);
    machine->onRecord(id, std::string_view(proof.data(), proof.size()), now);
    collect();
    return id;
  }

  /// Returns the answers to an observer.
  std::vector<StatusReply> observe(const Message &question, const std::string &token = "s") {
    observer = openWithToken(token, Role::Observer);
    receive(observer, question);
    return all<StatusReply>(observer);
  }

  Hello helloOf(int32_t process) {
    Hello hello;
    hello.processId = process;
    hello.numProcesses = options.numProcesses;
    hello.incarnation = 1000 + static_cast<uint64_t>(process);
    hello.pid = 100 + process;
    hello.host = "h" + std::to_string(process);
    hello.localDeviceIds = {0};
    hello.remainingMs = 3'600'000;
    return hello;
  }

  ConnectionId join(const Hello &hello) {
    ConnectionId id = openWithToken();
    memberConnections[hello.processId] = id;
    receive(id, hello);
    return id;
  }

  void joinAll() {
    for (int32_t process = 0; process != options.numProcesses; ++process)
      join(helloOf(process));
    EXPECT_EQ(machine->getStage(), StateMachine::Stage::Running);
  }

  void receive(ConnectionId id, const Message &message) {
    machine->onRecord(id, std::string_view(encode(message)).substr(frameHeaderBytes), now);
    collect();
  }
  void receiveFrom(int32_t process, const Message &message) { receive(memberConnections.at(process), message); }
  void hangUp(int32_t process) {
    machine->onClosed(memberConnections.at(process), now);
    memberConnections.erase(process);
    collect();
  }
  void childEnded(int32_t process, int signal, int status = 0) {
    machine->onChildEnded({process, 100 + process, signal, status}, now);
    collect();
  }

  template <typename T> std::vector<T> all(ConnectionId id) {
    std::vector<T> result;
    for (const Message &message : sent[id])
      if (const T *found = std::get_if<T>(&message))
        result.push_back(*found);
    return result;
  }
  std::string verdict() { return machine->getVerdict() ? machine->getVerdict()->str() : "none"; }
  std::string rejected(ConnectionId id) {
    std::vector<Reject> found = all<Reject>(id);
    return found.empty() ? "" : found.back().text;
  }

  ServerOptions options;
  TimePoint now = TimePoint() + std::chrono::seconds(1000);
  std::unique_ptr<StateMachine> machine;
  ConnectionId last = 0, observer = 0;
  std::map<int32_t, ConnectionId> memberConnections;
  std::map<int32_t, Position> positions;
  std::map<ConnectionId, std::string> raw;
  std::map<ConnectionId, std::vector<Message>> sent;
  std::set<ConnectionId> closed;
};

} // namespace spmd::coordinator
