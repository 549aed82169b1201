//===- Tls.h - mutual TLS between processes ---------------------*- C++ -*-===//
//
// Mutual TLS 1.3 over non-blocking sockets. Each process has a certificate that an authority has signed, and accepts
// only certificates of the same authority. The protocols inside are the same with and without TLS: the token is proven
// in any case. OpenSSL's libssl is opened when the first identity is loaded, so that programs without TLS do not need
// it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <sys/uio.h>

namespace spmd {

/// PEM files. Either all are given, or none.
struct TlsFiles {
  std::string certificate; ///< This process's certificate, followed by those of the chain to the authority.
  std::string key;
  std::string authority; ///< Certificates of the authorities.
  bool areGiven() const { return !certificate.empty() || !key.empty() || !authority.empty(); }
};

/// The connection cannot be used, or not any more.
struct TlsEnded {
  std::string why;      ///< The reason, a clause about the other side: `its certificate has expired`.
  bool isFinal = false; ///< Another attempt cannot succeed: the two sides are incompatible.
  bool isPlain = false; ///< The other side does not speak TLS at all.
};

/// The certificate that the connecting side expects. Empty fields are not checked.
struct TlsPeer {
  std::string name;        ///< A host name or numeric address: one of the certificate's subjectAltNames.
  std::string fingerprint; ///< The fingerprint of the certificate itself.
};

/// One end of a connection. Not thread-safe. All members throw TlsEnded.
class TlsSession {
public:
  virtual ~TlsSession() = default;
  /// Call it first, and again whenever the socket is ready: returns true once bytes may be moved.
  virtual bool handshake() = 0;
  /// Returns the number of bytes moved; 0: none at the moment. Before waiting for the socket, read until it returns 0,
  /// because the session buffers bytes. A write that moved nothing must be repeated with the same bytes, or more.
  virtual size_t read(char *data, size_t bytes) = 0;
  virtual size_t write(const iovec *pieces, int count) = 0;
  /// After a call that moved nothing: whether to wait until the socket can be written, instead of read.
  virtual bool waitsToWrite() const = 0;
  /// Tells the other side that no more data follows.
  virtual void close() = 0;
};

/// The identity of this process. Thread-safe.
class TlsIdentity {
public:
  virtual ~TlsIdentity() = default;

  /// Loads an identity, and checks everything that does not need the other side: that the certificate is signed by the
  /// authority, valid today, for both sides of a connection, and belongs to the key. `bytesPerKey`: number of bytes
  /// after which a connection changes its key. Throws spmd::Error, one sentence that names the file.
  static std::shared_ptr<const TlsIdentity> load(const TlsFiles &files, uint64_t bytesPerKey = uint64_t(1) << 36);

  /// The caller keeps the ownership of the socket.
  virtual std::unique_ptr<TlsSession> connect(int fd, TlsPeer expected) const = 0;
  virtual std::unique_ptr<TlsSession> accept(int fd) const = 0;
  /// SHA-256 of this process's certificate, hexadecimal.
  virtual const std::string &fingerprint() const = 0;
};

/// Whether data with this first byte is TLS.
constexpr bool beginsAsTls(unsigned char first) { return first >= 0x14 && first <= 0x17; }

} // namespace spmd
