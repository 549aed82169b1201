#include "runtime/coordinator/StatusClient.h"

#include "runtime/coordinator/Address.h"
#include "runtime/coordinator/FramedConnection.h"
#include "runtime/coordinator/Handshake.h"
#include "runtime/coordinator/LocalToken.h"
#include "runtime/coordinator/Resolve.h"
#include "runtime/support/Error.h"

namespace spmd {

using namespace coordinator;
using asio::ip::tcp;

namespace {

class StatusQuery {
public:
  StatusQuery(const std::string &where, const std::string &token, std::shared_ptr<const TlsIdentity> tls,
              const std::optional<std::string> &jobId)
      : address(parseAddress(where, "the address")), token(token), tls(std::move(tls)), jobId(jobId) {}

  JobStatus ask(std::chrono::milliseconds timeout) {
    connect(timeout);
    io.run_for(timeout);
    if (connection)
      connection->abandon();
    if (answer)
      return std::move(*answer);
    throw Error("no status from " + address.str() + ": " +
                (problem.empty() ? "it accepts connections but does not answer" : problem));
  }

private:
  void connect(std::chrono::milliseconds timeout) {
    tcp::resolver resolver(io);
    asio::error_code error;
    std::vector<tcp::endpoint> known;
    for (const asio::ip::address &one : addressesOf(address.host))
      known.emplace_back(one, address.port);
    auto endpoints = !known.empty() ? tcp::resolver::results_type::create(known.begin(), known.end(), address.host, "")
                                    : resolver.resolve(address.host, std::to_string(address.port), error);
    if (error)
      throw Error("no status from " + address.str() + ": the host is not known (" + error.message() + ")");
    auto begin = endpoints.begin();
    tryNext(endpoints, begin);
    io.run_for(timeout);
    io.restart();
    if (!connection)
      throw Error("no status from " + address.str() + ": " + (problem.empty() ? "no answer" : problem) +
                  ": is the job running, and is this the address of its process 0?");
  }

  void tryNext(tcp::resolver::results_type endpoints, tcp::resolver::results_type::iterator at) {
    auto socket = std::make_shared<tcp::socket>(openSocket(io, at->endpoint().protocol()));
    socket->async_connect(at->endpoint(), [this, socket, endpoints, at](const asio::error_code &error) mutable {
      if (error) {
        problem = error.message();
        if (++at != endpoints.end())
          tryNext(endpoints, at);
        return;
      }
      problem.clear();
      start(std::move(*socket));
      io.stop();
    });
  }

  void start(tcp::socket socket) {
    asio::error_code gone;
    remote = socket.remote_endpoint(gone);
    FramedConnection::Handlers handlers;
    handlers.record = [this](std::string_view record) { onRecord(record); };
    handlers.malformed = [this](const std::string &why) { end("it sent an invalid message (" + why + ")"); };
    handlers.refused = [this](const std::string &why) { end("there is no TLS connection to it: " + why); };
    handlers.closed = [this](const std::string &why) { end("it closed the connection (" + why + ")"); };
    std::unique_ptr<TlsSession> session;
    try {
      if (tls)
        session = tls->connect(socket.native_handle(), {certificateNameOf(address), ""});
    } catch (const TlsEnded &ended) {
      return end(ended.why);
    }
    connection = std::make_shared<FramedConnection>(std::move(socket), std::move(session),
                                                    std::vector<size_t>{challengeBytes}, std::move(handlers));
    ours.role = Role::Observer;
    ours.jobTag = makeJobTag(jobId.value_or(""));
    ours.nonce = makeNonce();
    connection->send(ours.encode());
    connection->start();
  }

  void onRecord(std::string_view record) {
    if (!proven) {
      Proof proof;
      try {
        if (token.empty())
          token = requestToken(remote);
      } catch (const Error &error) {
        return end(error.what());
      }
      if (auto refused = answerChallenge(record, token, ours, address.str(),
                                         "give it the job's (--token-file, SPMD_TOKEN_FILE or SPMD_TOKEN)", proof))
        return end(*refused);
      proven = true;
      connection->send(std::string(proof.data(), proof.size()));
      return connection->send(encode(StatusRequest{jobId.has_value(), jobId.value_or("")}));
    }
    try {
      Message message = decode(record);
      if (auto *reply = std::get_if<StatusReply>(&message)) {
        answer = std::move(reply->status);
        return end("");
      }
      if (auto *reject = std::get_if<Reject>(&message))
        return end(reject->text);
      end("it sent an unexpected frame");
    } catch (const ProtocolError &error) {
      end("it sent an invalid message (" + std::string(error.what()) + ")");
    }
  }

  void end(const std::string &why) {
    if (!answer && problem.empty())
      problem = why;
    io.stop();
  }

  Address address;
  std::string token;
  std::shared_ptr<const TlsIdentity> tls;
  std::optional<std::string> jobId;
  asio::io_context io;
  tcp::endpoint remote;
  std::shared_ptr<FramedConnection> connection;
  Opening ours;
  bool proven = false;
  std::optional<JobStatus> answer;
  std::string problem;
};

} // namespace

JobStatus queryStatus(const std::string &address, const std::string &token, std::shared_ptr<const TlsIdentity> tls,
                      const std::optional<std::string> &jobId, std::chrono::milliseconds timeout) {
  return StatusQuery(address, token, std::move(tls), jobId).ask(timeout);
}

} // namespace spmd
