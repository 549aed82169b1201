//===- Tls.h - encrypted connections, both sides with certificates ---*- C++ -*-===//
//
// Mutual TLS 1.3 over sockets that do not block. Each process has a certificate that an authority has signed, and takes
// only those of the same authority. The protocols inside are the same with and without: the token is proven in any
// case. OpenSSL's libssl is opened when the first identity is loaded; who does not use TLS needs none.
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

/// PEM files. All are given, or none.
struct TlsFiles {
  std::string certificate; ///< This process's, and after it those that lead to the authority's.
  std::string key;
  std::string authority; ///< Certificates of those who sign.
  bool areGiven() const { return !certificate.empty() || !key.empty() || !authority.empty(); }
};

/// The connection cannot be used (any more).
struct TlsEnded {
  std::string why;      ///< Of the other side: `its certificate has expired`.
  bool isFinal = false; ///< Trying again will not help: the two sides do not fit.
  bool isPlain = false; ///< What the other side speaks is no TLS at all.
};

/// Whose certificate a side that connects expects. What is empty is not looked at.
struct TlsPeer {
  std::string name;        ///< A host's name or numeric address: one of the certificate's subjectAltNames.
  std::string fingerprint; ///< The certificate itself.
};

/// One end of a connection. Not thread-safe. All throw TlsEnded.
class TlsSession {
public:
  virtual ~TlsSession() = default;
  /// To be called first, and again whenever the socket is ready: true once bytes may be moved.
  virtual bool handshake() = 0;
  /// Bytes moved; 0: none at the moment. What is read after a 0 comes from the socket: until then it has to be read
  /// before one waits for that. A write that moved nothing has to be tried again with the same bytes, or more.
  virtual size_t read(char *data, size_t bytes) = 0;
  virtual size_t write(const iovec *pieces, int count) = 0;
  /// What moved nothing waits until the socket can be written, instead of read.
  virtual bool waitsToWrite() const = 0;
  /// Tells the other side that nothing more will come.
  virtual void close() = 0;
};

/// Who this process is. Thread-safe.
class TlsIdentity {
public:
  virtual ~TlsIdentity() = default;

  /// Also checks what can be known without the other side: that the certificate is signed by the authority, valid
  /// today, for both sides of a connection, and belongs to the key. `bytesPerKey`: after so many, a connection takes a
  /// new key. Throws spmd::Error, one sentence that names the file.
  static std::shared_ptr<const TlsIdentity> load(const TlsFiles &files, uint64_t bytesPerKey = uint64_t(1) << 36);

  /// The socket stays the caller's.
  virtual std::unique_ptr<TlsSession> connect(int fd, TlsPeer expected) const = 0;
  virtual std::unique_ptr<TlsSession> accept(int fd) const = 0;
  /// Of this process's certificate: SHA-256, hexadecimal.
  virtual const std::string &fingerprint() const = 0;
};

/// Whether what begins so is TLS: its first byte.
constexpr bool beginsAsTls(unsigned char first) { return first >= 0x14 && first <= 0x17; }

} // namespace spmd
