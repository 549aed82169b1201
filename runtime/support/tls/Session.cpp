//===- Session.cpp - one end of a TLS connection --------------------------===//

#include "runtime/support/tls/Session.h"

#include "runtime/support/tls/Reasons.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <openssl/sslerr.h>
#include <sys/socket.h>

namespace spmd::tls {

constexpr size_t recordBytes = 16384; // TLS has no larger records.

Session::Session(const OpenSsl &ssl, SSL_CTX *context, std::shared_ptr<const Setup> setup, int fd, bool accepts,
                 TlsPeer expected)
    : ssl(ssl), context(context), setup(std::move(setup)), fd(fd), accepts(accepts), expected(std::move(expected)) {
  if (!accepts)
    begin();
}

Session::~Session() { ssl.SSL_free(connection); }

void Session::begin() {
  ssl.ERR_clear_error();
  connection = ssl.SSL_new(context);
  BIO *bio = connection ? ssl.BIO_new(ssl.socketMethod) : nullptr;
  if (!bio)
    throw TlsEnded{"there is no memory for the connection"};
  ssl.BIO_set_data(bio, reinterpret_cast<void *>(static_cast<intptr_t>(fd)));
  ssl.BIO_set_init(bio, 1);
  ssl.SSL_set_bio(connection, bio, bio);
  ssl.SSL_set_ex_data(connection, 0, this);
  ssl.SSL_set_verify(connection, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, noteProblem);
  ssl.SSL_set_read_ahead(connection, 1);
  ssl.SSL_ctrl(connection, SSL_CTRL_MODE,
               SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS, nullptr);
  if (accepts)
    return ssl.SSL_set_accept_state(connection);
  ssl.SSL_set_connect_state(connection);
  if (expected.name.empty())
    return;
  X509_VERIFY_PARAM *param = ssl.SSL_get0_param(connection);
  ssl.X509_VERIFY_PARAM_set_hostflags(param,
                                      X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  // In a link-local address, the interface is only meaningful on this machine.
  std::string name = expected.name.substr(0, expected.name.find('%'));
  in6_addr numeric;
  bool isNumeric =
      ::inet_pton(AF_INET, name.c_str(), &numeric) == 1 || ::inet_pton(AF_INET6, name.c_str(), &numeric) == 1;
  int ok = isNumeric ? ssl.X509_VERIFY_PARAM_set1_ip_asc(param, name.c_str())
                     : ssl.X509_VERIFY_PARAM_set1_host(param, name.data(), name.size());
  if (ok != 1)
    throw TlsEnded{"'" + name + "' is not a name that a certificate can have", true};
}

/// Whether the other side has sent its first bytes; throws if they are not TLS.
bool Session::isTlsThere() const {
  unsigned char first = 0;
  ssize_t size = ::recv(fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
    return false;
  if (size <= 0)
    throw TlsEnded{size == 0 ? "it closed the connection during the TLS handshake" : std::strerror(errno)};
  if (!beginsAsTls(first))
    throw TlsEnded{
        "it does not speak TLS: give --tls-cert, --tls-key and --tls-ca to all processes of a job, or to none", true,
        true};
  return true;
}

bool Session::handshake() {
  if (isOpen)
    return true;
  // The connecting side speaks first.
  if ((accepts || hasSpoken) && !hasHeard && !(hasHeard = isTlsThere()))
    return false;
  if (!connection)
    begin();
  ssl.ERR_clear_error();
  wantsToWrite = false;
  int result = ssl.SSL_do_handshake(connection);
  hasSpoken = true;
  if (result != 1) {
    explain(result);
    return false;
  }
  if (!expected.fingerprint.empty())
    checkFingerprint();
  isOpen = true;
  return true;
}

/// OpenSSL calls it for each certificate of the chain; the error of a certificate is only known here.
int Session::noteProblem(int isGood, X509_STORE_CTX *state) {
  const OpenSsl &ssl = openSsl();
  auto *connection =
      static_cast<SSL *>(ssl.X509_STORE_CTX_get_ex_data(state, ssl.SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto *session = static_cast<Session *>(ssl.SSL_get_ex_data(connection, 0));
  if (isGood == 0 && session->problem.empty())
    session->problem = problemOf(ssl, ssl.X509_STORE_CTX_get_error(state), ssl.X509_STORE_CTX_get_current_cert(state),
                                 session->setup->files.authority, session->expected.name);
  return isGood;
}

void Session::checkFingerprint() {
  std::unique_ptr<X509, decltype(ssl.X509_free)> theirs(ssl.SSL_get1_peer_certificate(connection), ssl.X509_free);
  if (!theirs || fingerprintOf(ssl, theirs.get()) != expected.fingerprint)
    throw TlsEnded{"its certificate is not the one with which that process has joined", true};
}

size_t Session::read(char *data, size_t bytes) {
  if (bytes == 0)
    return 0;
  ssl.ERR_clear_error();
  wantsToWrite = false;
  size_t done = 0;
  if (int result = ssl.SSL_read_ex(connection, data, bytes, &done); result != 1)
    explain(result);
  return done;
}

size_t Session::write(const iovec *pieces, int count) {
  while (count > 1 && pieces->iov_len == 0)
    ++pieces, --count;
  if (count == 0 || pieces->iov_len == 0)
    return 0;
  const char *data = static_cast<const char *>(pieces->iov_base);
  size_t bytes = std::min(pieces->iov_len, recordBytes);
  if (count > 1 && bytes < recordBytes) {
    record.clear();
    for (int i = 0; i != count && record.size() < recordBytes; ++i)
      record.append(static_cast<const char *>(pieces[i].iov_base),
                    std::min(pieces[i].iov_len, recordBytes - record.size()));
    data = record.data();
    bytes = record.size();
  }
  ssl.ERR_clear_error();
  wantsToWrite = false;
  if (written >= setup->bytesPerKey && pending == 0 &&
      ssl.SSL_key_update(connection, SSL_KEY_UPDATE_NOT_REQUESTED) == 1)
    written = 0;
  size_t done = 0;
  if (int result = ssl.SSL_write_ex(connection, data, bytes, &done); result != 1)
    explain(result);
  pending = done == 0 ? bytes : 0;
  written += done;
  return done;
}

void Session::close() {
  if (isOpen && pending == 0)
    // Data that does not fit is not worth waiting for: the inner protocol has a goodbye of its own.
    ssl.SSL_shutdown(connection);
}

void Session::explain(int result) {
  int systemError = errno;
  int kind = ssl.SSL_get_error(connection, result);
  if (kind == SSL_ERROR_WANT_READ)
    return;
  if (kind == SSL_ERROR_WANT_WRITE) {
    wantsToWrite = true;
    return;
  }
  unsigned long code = ssl.ERR_peek_error();
  int reason = ERR_GET_REASON(code);
  bool isOurs = ERR_GET_LIB(code) == ERR_LIB_SSL;
  if (kind == SSL_ERROR_ZERO_RETURN ||
      (kind == SSL_ERROR_SSL && isOurs && reason == SSL_R_UNEXPECTED_EOF_WHILE_READING))
    throw TlsEnded{isOpen ? "End of file" : "it closed the connection during the TLS handshake"};
  if (kind == SSL_ERROR_SYSCALL)
    throw TlsEnded{code == 0 && systemError != 0 ? std::strerror(systemError) : "End of file"};
  throwHandshakeFailure(isOurs ? reason : 0);
}

void Session::throwHandshakeFailure(int reason) {
  if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED)
    throw TlsEnded{"its certificate " + problem, true};
  if (reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE)
    throw TlsEnded{"it has no certificate", true};
  if (std::string complaint = complaintOf(reason, setup->files.certificate); !complaint.empty())
    throw TlsEnded{complaint, true};
  const char *text = ssl.ERR_reason_error_string(ssl.ERR_peek_error());
  throw TlsEnded{std::string("it sends invalid TLS data (") + (text ? text : "no reason given") + ")"};
}

} // namespace spmd::tls
