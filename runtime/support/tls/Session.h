//===- Session.h - one end of an encrypted connection -----------*- C++ -*-===//
#pragma once

#include "runtime/support/tls/OpenSsl.h"
#include "runtime/support/tls/Tls.h"

namespace spmd::tls {

/// What all connections of an identity have in common.
struct Setup {
  TlsFiles files;
  uint64_t bytesPerKey = 0;
};

class Session final : public TlsSession {
public:
  /// `context` and `setup` belong to the identity, which must outlive no session: OpenSSL counts who uses the context.
  Session(const OpenSsl &ssl, SSL_CTX *context, std::shared_ptr<const Setup> setup, int fd, bool accepts,
          TlsPeer expected);
  ~Session() override;

  bool handshake() override;
  size_t read(char *data, size_t bytes) override;
  size_t write(const iovec *pieces, int count) override;
  bool waitsToWrite() const override { return wantsToWrite; }
  void close() override;

private:
  void begin();
  bool isTlsThere() const;
  void checkFingerprint();
  static int noteProblem(int isGood, X509_STORE_CTX *state);
  /// After a call that did not go through; returns if it only has to wait.
  void explain(int result);
  [[noreturn]] void throwHandshakeFailure(int reason);

  const OpenSsl &ssl;
  SSL_CTX *const context;
  const std::shared_ptr<const Setup> setup;
  const int fd;
  const bool accepts;
  const TlsPeer expected;
  SSL *connection = nullptr; ///< Made when the first bytes come: who connects and is silent costs nothing.
  bool isOpen = false, hasSpoken = false, hasHeard = false, wantsToWrite = false;
  uint64_t written = 0; ///< With this key.
  size_t pending = 0;   ///< Bytes of a write that moved nothing.
  std::string problem;  ///< Of the other side's certificate.
  std::string record;   ///< Small pieces, put together.
};

} // namespace spmd::tls
