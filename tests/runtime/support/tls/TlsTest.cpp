//===- TlsTest.cpp - both ends of TLS connections -------------------------===//

#include "runtime/support/tls/Tls.h"

#include "runtime/support/Error.h"
#include "runtime/support/Process.h"
#include "tests/support/Certificates.h"
#include "tests/support/Messages.h"

#include <gmock/gmock.h>

#include <fstream>
#include <random>

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace spmd;
using namespace spmd::test;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

/// Two connected sockets.
struct Pair {
  Pair() {
    int fds[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) != 0)
      throw std::runtime_error("no sockets");
    client = UniqueFd(fds[0]);
    server = UniqueFd(fds[1]);
  }
  UniqueFd client, server;
};

struct Shaken {
  std::string client, server; ///< The outcome of each side: `ok`, or the error, with `!` if it is final.
};

std::string outcomeOf(const std::function<bool()> &step, bool &isDone) {
  try {
    if (!step())
      return "";
    isDone = true;
    return "ok";
  } catch (const TlsEnded &ended) {
    isDone = true;
    return (ended.isFinal ? "! " : "") + ended.why;
  }
}

/// In TLS 1.3 the connecting side learns from the first bytes that it reads whether it was accepted.
Shaken shake(Pair &pair, TlsSession &client, TlsSession &server) {
  Shaken result;
  bool clientDone = false, serverDone = false;
  for (int i = 0; i != 1000 && !(clientDone && serverDone); ++i) {
    if (!clientDone)
      result.client = outcomeOf([&] { return client.handshake(); }, clientDone);
    if (!serverDone)
      result.server = outcomeOf([&] { return server.handshake(); }, serverDone);
    if (serverDone && result.server != "ok")
      pair.server.reset();
    if (clientDone && result.client != "ok")
      pair.client.reset();
  }
  if (result.client == "ok" && result.server != "ok") {
    clientDone = false;
    char byte;
    result.client = outcomeOf([&] { return client.read(&byte, 1) == 1; }, clientDone);
  }
  return result;
}

Shaken shake(const TlsFiles &client, const TlsFiles &server, TlsPeer expected = {}) {
  Pair pair;
  auto a = TlsIdentity::load(client), b = TlsIdentity::load(server);
  auto one = a->connect(pair.client.get(), std::move(expected));
  auto other = b->accept(pair.server.get());
  return shake(pair, *one, *other);
}

class Tls : public ::testing::Test {
protected:
  static TestAuthority &authority() {
    static TestAuthority instance;
    return instance;
  }
  static const TlsFiles &good() {
    static const TlsFiles files = authority().make("good");
    return files;
  }
};

TEST_F(Tls, BothSidesShowCertificates) {
  for (const char *name : {"", "localhost", "127.0.0.1"}) {
    Shaken result = shake(good(), authority().make("other"), {name, ""});
    EXPECT_EQ(result.client, "ok") << name;
    EXPECT_EQ(result.server, "ok") << name;
  }
}

TEST_F(Tls, ChecksTheNameOfTheListener) {
  EXPECT_EQ(shake(good(), good(), {"node7", ""}).client,
            "! its certificate is for DNS:localhost, IP Address:127.0.0.1, not for node7");
  EXPECT_EQ(shake(good(), good(), {"10.0.0.1", ""}).client,
            "! its certificate is for DNS:localhost, IP Address:127.0.0.1, not for 10.0.0.1");
  // The common name does not count as a host name.
  TlsFiles nameless = authority().make("localhost", {.names = ""});
  EXPECT_EQ(shake(good(), nameless, {"localhost", ""}).client,
            "! its certificate is for no host (it has no subjectAltName), not for localhost");
  TlsFiles wild = authority().make("wild", {.names = "DNS:*.cluster.example,IP:fd00::1"});
  EXPECT_EQ(shake(good(), wild, {"node7.cluster.example", ""}).client, "ok");
  EXPECT_EQ(shake(good(), wild, {"fd00:0::1", ""}).client, "ok");
  EXPECT_THAT(shake(good(), wild, {"a.b.cluster.example", ""}).client, EndsWith("not for a.b.cluster.example"));
}

TEST_F(Tls, ChecksTheCertificateItself) {
  TlsFiles other = authority().make("other");
  std::string fingerprint = TlsIdentity::load(good())->fingerprint();
  EXPECT_EQ(fingerprint.size(), 64u);
  EXPECT_EQ(shake(other, good(), {"", fingerprint}).client, "ok");
  EXPECT_EQ(shake(good(), other, {"", fingerprint}).client,
            "! its certificate is not the one with which that process has joined");
}

TEST_F(Tls, AnotherAuthority) {
  TestAuthority strangers("strangers");
  TlsFiles stranger = strangers.make("stranger");
  // If the two sides have different authorities, the connecting side reports it first.
  EXPECT_EQ(shake(stranger, good()).client,
            "! its certificate is not signed by the authority in " + stranger.authority + " (--tls-ca)");
  // Accepts our certificates, but has one that we reject.
  std::ofstream both(strangers.path("both.pem"));
  both << std::ifstream(good().authority).rdbuf() << std::ifstream(stranger.authority).rdbuf() << std::flush;
  stranger.authority = strangers.path("both.pem");
  Shaken result = shake(stranger, good());
  EXPECT_EQ(result.server, "! its certificate is not signed by the authority in " + good().authority + " (--tls-ca)");
  EXPECT_EQ(result.client, "! it rejects " + stranger.certificate +
                               " (--tls-cert): it is not signed by the authority that the other side has (--tls-ca)");
  EXPECT_EQ(shake(good(), stranger).client,
            "! its certificate is not signed by the authority in " + good().authority + " (--tls-ca)");
}

TEST_F(Tls, MistakesInFilesAreFoundBeforeAnyConnection) {
  auto expect = [](TlsFiles files, const std::string &text) {
    try {
      TlsIdentity::load(files);
      ADD_FAILURE() << "no error: " << text;
    } catch (const Error &error) {
      EXPECT_EQ(error.getKind(), Error::Kind::Usage);
      EXPECT_EQ(error.what(), text);
    }
  };
  TlsFiles files = good();
  files.key = "";
  expect(files, "TLS needs a certificate, its key and the authority's certificate: --tls-cert and --tls-ca without "
                "--tls-key (SPMD_TLS_CERT, SPMD_TLS_KEY and SPMD_TLS_CA in the environment)");
  files = good();
  files.certificate = "/nowhere/a.pem";
  expect(files, "TLS certificate file /nowhere/a.pem cannot be opened: No such file or directory");
  files.certificate = good().key;
  expect(files, "TLS certificate file " + good().key + " has no certificate in PEM form");
  files = good();
  files.authority = good().key;
  expect(files, "TLS authority file " + good().key + " has no certificate in PEM form");
  files.authority = "/";
  expect(files, "TLS authority file / is not a file");
  files = good();
  files.key = authority().make("other").key;
  expect(files, "TLS key file " + files.key + " does not belong to the certificate in " + good().certificate);
  files.key = good().certificate;
  ::chmod(files.key.c_str(), 0600);
  expect(files, "TLS key file " + files.key + " has no key in PEM form that needs no pass phrase");
  std::string open = authority().path("open.key");
  std::ofstream(open) << std::ifstream(good().key).rdbuf();
  ::chmod(open.c_str(), 0644);
  files.key = open;
  expect(files, "TLS key file " + open + " can be read by all users: run `chmod 600 " + open +
                    "`, and make a new key if they may have");
  std::string locked = authority().path("locked.key");
  ASSERT_EQ(std::system(
                ("openssl ec -aes128 -passout pass:x -in " + good().key + " -out " + locked + " 2>/dev/null").c_str()),
            0);
  files.key = locked;
  expect(files, "TLS key file " + locked + " has no key in PEM form that needs no pass phrase");

  files = authority().make("expired", {.isExpired = true});
  expect(files, "TLS certificate file " + files.certificate + " has expired (Jan  1 00:00:00 2021 GMT)");
  files = authority().make("early", {.isEarly = true});
  expect(files, "TLS certificate file " + files.certificate +
                    " is not valid yet (from Jan  1 00:00:00 2090 GMT): is the clock right?");
  files = authority().make("half", {.keyUsage = "serverAuth"});
  expect(files, "TLS certificate file " + files.certificate +
                    " may not be used for this: its extendedKeyUsage needs serverAuth and clientAuth");
  EXPECT_EQ(shake(authority().make("whole", {.keyUsage = "serverAuth,clientAuth"}), good()).client, "ok");
  TestAuthority strangers("strangers");
  files = good();
  files.authority = strangers.path("strangers.pem");
  expect(files, "TLS certificate file " + files.certificate + " is not signed by the authority in " + files.authority +
                    " (--tls-ca)");
}

// A peer without TLS is detected by its first byte.
TEST_F(Tls, OneSideWithout) {
  const std::string plain =
      "! it does not speak TLS: give --tls-cert, --tls-key and --tls-ca to all processes of a job, or to none";
  auto identity = TlsIdentity::load(good());
  {
    Pair pair;
    auto client = identity->connect(pair.client.get(), {});
    EXPECT_FALSE(client->handshake());
    unsigned char first = 0;
    ASSERT_EQ(::recv(pair.server.get(), &first, 1, MSG_PEEK), 1);
    EXPECT_TRUE(beginsAsTls(first));
    ASSERT_EQ(::send(pair.server.get(), "SPMD", 4, 0), 4);
    bool isDone = false;
    EXPECT_EQ(outcomeOf([&] { return client->handshake(); }, isDone), plain);
  }
  {
    Pair pair;
    auto server = identity->accept(pair.server.get());
    EXPECT_FALSE(server->handshake());
    ASSERT_EQ(::send(pair.client.get(), "SPMD", 4, 0), 4);
    bool isDone = false;
    EXPECT_EQ(outcomeOf([&] { return server->handshake(); }, isDone), plain);
  }
  {
    Pair pair;
    auto server = identity->accept(pair.server.get());
    pair.client.reset();
    bool isDone = false;
    EXPECT_EQ(outcomeOf([&] { return server->handshake(); }, isDone),
              "it closed the connection during the TLS handshake");
  }
}

// Random bytes after a first byte that looks like TLS, and handshakes with changed bytes.
TEST_F(Tls, Garbage) {
  auto identity = TlsIdentity::load(good());
  std::mt19937_64 random(1);
  for (int i = 0; i != 300; ++i) {
    Pair pair;
    auto server = identity->accept(pair.server.get());
    std::string bytes(1 + random() % 600, 0);
    for (char &byte : bytes)
      byte = static_cast<char>(random());
    bytes[0] = 0x16;
    if (i % 2 == 0) { // A changed hello of a real handshake.
      auto client = identity->connect(pair.client.get(), {});
      EXPECT_FALSE(client->handshake());
      bytes.resize(2000);
      bytes.resize(static_cast<size_t>(::recv(pair.server.get(), bytes.data(), bytes.size(), 0)));
      bytes[3 + random() % (bytes.size() - 3)] ^= static_cast<char>(1 + random() % 255);
    }
    ASSERT_EQ(::send(pair.client.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    ::shutdown(pair.client.get(), SHUT_WR);
    bool isDone = false;
    std::string why = outcomeOf([&] { return server->handshake(); }, isDone);
    for (int j = 0; j != 10 && !isDone; ++j)
      why = outcomeOf([&] { return server->handshake(); }, isDone);
    EXPECT_TRUE(isDone);
    EXPECT_NE(why, "ok");
  }
}

// All bytes arrive in order, in writes of any size, when the socket takes and gives little at a time, and with key
// changes.
TEST_F(Tls, MovesBytes) {
  Pair pair;
  int size = 4096;
  for (int fd : {pair.client.get(), pair.server.get()}) {
    ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  }
  auto identity = TlsIdentity::load(good(), /*bytesPerKey=*/100'000);
  std::unique_ptr<TlsSession> ends[] = {identity->connect(pair.client.get(), {}), identity->accept(pair.server.get())};
  Shaken shaken = shake(pair, *ends[0], *ends[1]);
  ASSERT_EQ(shaken.client + shaken.server, "okok");
  std::mt19937_64 random(2);
  std::string data[2], received[2];
  for (std::string &text : data) {
    text.resize(3'000'000);
    for (char &byte : text)
      byte = static_cast<char>(random());
  }
  // A write that moved nothing is repeated with the same bytes, or more.
  size_t sent[2] = {0, 0}, first[2] = {0, 0}, second[2] = {0, 0};
  bool hasStalled = false;
  for (int round = 0; received[0].size() < data[1].size() || received[1].size() < data[0].size(); ++round) {
    ASSERT_LT(round, 1'000'000);
    for (int i : {0, 1}) {
      if (size_t left = data[i].size() - sent[i]) {
        if (first[i] == 0) {
          first[i] = std::min<size_t>(left, 1 + random() % 300);
          second[i] = std::min<size_t>(left - first[i], random() % 40'000);
        }
        iovec pieces[2] = {{data[i].data() + sent[i], first[i]}, {data[i].data() + sent[i] + first[i], second[i]}};
        size_t n = ends[i]->write(pieces, 2);
        ASSERT_LE(n, first[i] + second[i]);
        sent[i] += n;
        if (n != 0)
          first[i] = second[i] = 0;
        else
          hasStalled |= ends[i]->waitsToWrite();
      }
      char buffer[20'000];
      size_t n = ends[i]->read(buffer, 1 + random() % sizeof buffer);
      received[i].append(buffer, n);
    }
  }
  EXPECT_TRUE(hasStalled);
  EXPECT_TRUE(received[0] == data[1]);
  EXPECT_TRUE(received[1] == data[0]);
  ends[0]->close();
  bool isDone = false;
  char byte;
  EXPECT_EQ(outcomeOf([&] { return ends[1]->read(&byte, 1) == 1; }, isDone), "End of file");
}

// A closed socket is an error, not the end of the process (SIGPIPE).
TEST_F(Tls, WritingToAClosedSocket) {
  Pair pair;
  auto identity = TlsIdentity::load(good());
  auto client = identity->connect(pair.client.get(), {}), server = identity->accept(pair.server.get());
  ASSERT_EQ(shake(pair, *client, *server).client, "ok");
  server.reset();
  pair.server.reset();
  bool isDone = false;
  iovec piece{const_cast<char *>("x"), 1};
  EXPECT_THAT(outcomeOf([&] { return client->write(&piece, 1) == 1; }, isDone), testing::Not("ok"));
}

} // namespace
