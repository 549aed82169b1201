//===- Session.h - one end of a TLS connection ------------------*- C++ -*-===//
#pragma once

#include "runtime/support/tls/OpenSsl.h"
#include "runtime/support/tls/Tls.h"

namespace spmd::tls {

/// The state that all connections of an identity share.
struct Setup {
  TlsFiles files;
  uint64_t bytesPerKey = 0;
};

class Session final : public TlsSession {
public:
  /// `context` and `setup` belong to the identity, which sessions may outlive: OpenSSL counts references to the
  /// context.
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
  /// Call it after an OpenSSL call that did not succeed; it returns if the session only has to wait, else throws.
  void explain(int result);
  [[noreturn]] void throwHandshakeFailure(int reason);

  const OpenSsl &ssl;
  SSL_CTX *const context;
  const std::shared_ptr<const Setup> setup;
  const int fd;
  const bool accepts;
  const TlsPeer expected;
  SSL *connection = nullptr; ///< Created when the first bytes arrive, so that a silent peer costs nothing.
  bool isOpen = false, hasSpoken = false, hasHeard = false, wantsToWrite = false;
  uint64_t written = 0; ///< Bytes written with the current key.
  size_t pending = 0;   ///< Bytes of a write that must be repeated.
  std::string problem;  ///< The error of the other side's certificate.
  std::string record;   ///< Small writes, combined to a record.
};

} // namespace spmd::tls
