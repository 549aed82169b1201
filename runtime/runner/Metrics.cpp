//===- Metrics.cpp - Prometheus metrics -----------------------------------===//

#include "runtime/runner/Metrics.h"

#include "runtime/support/BackgroundThread.h"
#include "runtime/support/Error.h"

#include <asio.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <list>

#include <fcntl.h>

namespace spmd {
namespace {

using asio::ip::tcp;

constexpr size_t kMaxRequestBytes = 8192;
/// Enough for the scrapers of a few monitoring systems, with bounded memory; see Implementation::makeRoom.
constexpr size_t kMaxConnections = 16;
constexpr std::chrono::seconds kTimeLimit{5};

std::string escaped(const std::string &label) {
  std::string text;
  for (char c : label)
    text += c == '\\' || c == '"' ? std::string("\\") + c : c == '\n' ? std::string("\\n") : std::string(1, c);
  return text;
}

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

/// One request and its answer.
class Request : public std::enable_shared_from_this<Request> {
public:
  Request(tcp::socket given, const std::function<JobStatus()> &status)
      : socket(std::move(given)), timer(socket.get_executor()), input(kMaxRequestBytes), status(status) {}

  void start() {
    timer.expires_after(kTimeLimit);
    timer.async_wait([weak = weak_from_this()](const asio::error_code &error) {
      if (auto self = weak.lock(); self && !error)
        self->end();
    });
    asio::async_read_until(
        socket, input, "\r\n\r\n", [self = shared_from_this()](const asio::error_code &error, size_t size) {
          if (!error)
            return self->answer(std::string(asio::buffers_begin(self->input.data()),
                                            asio::buffers_begin(self->input.data()) + static_cast<ptrdiff_t>(size)));
          if (error == asio::error::not_found)
            self->send("431 Request Header Fields Too Large", "the request is too long\n", false);
        });
  }

  void end() {
    asio::error_code ignored;
    socket.close(ignored);
  }
  bool isAnswered() const { return !output.empty(); }

private:
  void answer(const std::string &request) {
    std::string line = request.substr(0, request.find("\r\n"));
    std::string method = line.substr(0, line.find(' '));
    size_t begin = std::min(line.size(), method.size() + 1);
    std::string path = line.substr(begin, line.find(' ', begin) - begin);
    path = path.substr(0, path.find('?'));
    bool isHead = method == "HEAD";
    if (method != "GET" && !isHead)
      return send("405 Method Not Allowed", "only GET is supported\n", false);
    if (path != "/metrics")
      return send("404 Not Found", "the only page is /metrics\n", isHead);
    send("200 OK", metricsText(status()), isHead);
  }

  void send(const std::string &code, const std::string &body, bool isHead) {
    output = "HTTP/1.1 " + code + "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: " +
             std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + (isHead ? "" : body);
    asio::async_write(socket, asio::buffer(output), [self = shared_from_this()](const asio::error_code &, size_t) {
      asio::error_code ignored;
      self->timer.cancel();
      self->socket.shutdown(tcp::socket::shutdown_both, ignored);
    });
  }

  tcp::socket socket;
  asio::steady_timer timer;
  asio::streambuf input;
  std::string output;
  const std::function<JobStatus()> &status;
};

} // namespace

std::string metricsText(const JobStatus &status) {
  std::string text;
  auto describe = [&](const char *name, const char *type, const char *help) {
    text += std::string("# HELP ") + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
  };
  auto family = [&](const char *name, const char *type, const char *help, auto value) {
    describe(name, type, help);
    for (const ProcessStatus &process : status.processes)
      text += std::string(name) + "{process=\"" + std::to_string(process.process) + "\",host=\"" +
              escaped(process.host) + "\"} " + value(process) + "\n";
  };
  describe("spmd_processes", "gauge", "Number of processes of the job.");
  text += "spmd_processes " + std::to_string(status.numProcesses) + "\n";
  describe("spmd_processes_joined", "gauge", "Number of processes that have joined.");
  text += "spmd_processes_joined " + std::to_string(status.processes.size()) + "\n";
  describe("spmd_uptime_seconds", "gauge", "Seconds since the job began.");
  text += "spmd_uptime_seconds " + number(static_cast<double>(status.uptimeMs) / 1000) + "\n";
  describe("spmd_job_over", "gauge", "1 if the job has ended with a verdict, else 0.");
  text += std::string("spmd_job_over ") + (status.stage == JobStatus::Stage::Over ? "1" : "0") + "\n";
  auto whole = [](auto value) { return std::to_string(value); };
  auto seconds = [](double value) { return number(value); };
  family("spmd_steps_total", "counter", "Steps of the loop that have ended; runs of programs if there is no loop.",
         [&](const ProcessStatus &p) {
           return p.statistics.stepsDone >= 0 ? whole(p.statistics.stepsDone) : whole(p.statistics.launches);
         });
  family("spmd_steps_per_second", "gauge",
         "Steps per second in the last seconds; runs of programs if there is no loop.",
         [&](const ProcessStatus &p) { return seconds(p.rate); });
  family("spmd_launches_total", "counter", "Runs of programs that have ended.",
         [&](const ProcessStatus &p) { return whole(p.statistics.launches); });
  family("spmd_launch_seconds_total", "counter", "Seconds that the runs of programs have taken.",
         [&](const ProcessStatus &p) { return seconds(static_cast<double>(p.statistics.launchNanoseconds) * 1e-9); });
  family("spmd_wire_bytes_total", "counter", "Bytes that the devices of the process have sent in collectives.",
         [&](const ProcessStatus &p) { return whole(p.statistics.wireBytes); });
  family("spmd_resident_memory_bytes", "gauge", "Resident memory of the process in bytes.",
         [&](const ProcessStatus &p) { return whole(p.statistics.residentBytes); });
  family("spmd_heartbeat_age_seconds", "gauge", "Seconds since the coordinator has heard from the process.",
         [&](const ProcessStatus &p) { return seconds(static_cast<double>(p.heartbeatAgeMs) / 1000); });
  return text;
}

class MetricsServer::Implementation {
public:
  Implementation(uint16_t port, std::function<JobStatus()> status)
      : status(std::move(status)), acceptor(io), pause(io) {
    asio::error_code error = listen({asio::ip::address_v4::loopback(), port});
    // This machine has no IPv4.
    if (error.value() == EADDRNOTAVAIL || error.value() == EAFNOSUPPORT)
      if (!listen({asio::ip::address_v6::loopback(), port}))
        error.clear();
    if (error)
      throw Error("--metrics-port " + std::to_string(port) + ": cannot listen on 127.0.0.1:" + std::to_string(port) +
                  ": " + error.message() + "; give another port, or 0 for any");
    accept();
    thread = BackgroundThread("spmd-metrics", [this] { run(); });
  }

  ~Implementation() {
    io.stop();
    thread.join();
  }

  std::string getAddress() const {
    tcp::endpoint where = acceptor.local_endpoint();
    std::string host = where.address().to_string();
    return (where.address().is_v6() ? "[" + host + "]" : host) + ":" + std::to_string(where.port());
  }

private:
  asio::error_code listen(const tcp::endpoint &where) {
    asio::error_code error, ignored;
    acceptor.close(ignored);
    acceptor.open(where.protocol(), error);
    if (!error) {
      ::fcntl(acceptor.native_handle(), F_SETFD, FD_CLOEXEC);
      acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    }
    if (!error)
      acceptor.bind(where, error);
    if (!error)
      acceptor.listen(tcp::acceptor::max_listen_connections, error);
    return error;
  }

  /// An error of one request (memory, descriptors) ends only that request.
  void run() {
    for (;;)
      try {
        io.run();
        return;
      } catch (const std::exception &) {
        continue;
      }
  }

  void accept() {
    acceptor.async_accept([this](const asio::error_code &error, tcp::socket socket) {
      if (error == asio::error::operation_aborted)
        return;
      if (!error) {
        ::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
        makeRoom();
        auto request = std::make_shared<Request>(std::move(socket), status);
        requests.push_back(request);
        request->start();
      }
      if (!error)
        return accept();
      // No descriptor is free: try again later.
      pause.expires_after(std::chrono::milliseconds(100));
      pause.async_wait([this](const asio::error_code &cancelled) {
        if (!cancelled)
          accept();
      });
    });
  }

  /// Connections without a request must not block others: closes the oldest connection that has sent no request yet,
  /// because it had the most time; if all have sent one, closes the oldest, whose client does not read the answer.
  void makeRoom() {
    std::erase_if(requests, [](const std::weak_ptr<Request> &request) { return request.expired(); });
    if (requests.size() < kMaxConnections)
      return;
    auto oldest = std::find_if(requests.begin(), requests.end(),
                               [](const std::weak_ptr<Request> &request) { return !request.lock()->isAnswered(); });
    if (oldest == requests.end())
      oldest = requests.begin();
    oldest->lock()->end();
    requests.erase(oldest);
  }

  std::function<JobStatus()> status;
  asio::io_context io;                        // Its destructor drops the requests.
  std::list<std::weak_ptr<Request>> requests; ///< In the order of arrival.
  tcp::acceptor acceptor;
  asio::steady_timer pause;
  BackgroundThread thread;
};

MetricsServer::MetricsServer(uint16_t port, std::function<JobStatus()> status)
    : implementation(std::make_unique<Implementation>(port, std::move(status))) {}
MetricsServer::~MetricsServer() = default;

std::string MetricsServer::getAddress() const { return implementation->getAddress(); }

} // namespace spmd
