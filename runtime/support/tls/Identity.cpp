//===- Identity.cpp - this process's identity, from files -----------------===//

#include "runtime/support/Error.h"
#include "runtime/support/Process.h"
#include "runtime/support/tls/Reasons.h"
#include "runtime/support/tls/Session.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace spmd {
namespace tls {
namespace {

struct ContextFree {
  const OpenSsl *ssl;
  void operator()(SSL_CTX *context) const { ssl->SSL_CTX_free(context); }
};
using Context = std::unique_ptr<SSL_CTX, ContextFree>;

Error wrong(const char *what, const std::string &file, const std::string &why) {
  return Error(std::string("TLS ") + what + " file " + file + " " + why, Error::Kind::Usage);
}

/// OpenSSL's errors do not explain why a file cannot be read.
void checkReadable(const char *what, const std::string &file, bool isSecret) {
  UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd)
    throw wrong(what, file, std::string("cannot be opened: ") + std::strerror(errno));
  struct stat info = {};
  if (::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode))
    throw wrong(what, file, "is not a file");
  if (isSecret && (info.st_mode & 07) != 0)
    throw wrong(what, file,
                "can be read by all users: run `chmod 600 " + file + "`, and make a new key if they may have");
}

void checkAllGiven(const TlsFiles &files) {
  std::string given, missing;
  for (auto [name, file] : {std::pair("--tls-cert", &files.certificate), std::pair("--tls-key", &files.key),
                            std::pair("--tls-ca", &files.authority)})
    (file->empty() ? missing : given) += ((file->empty() ? missing : given).empty() ? "" : " and ") + std::string(name);
  if (!missing.empty())
    throw Error("TLS needs a certificate, its key and the authority's certificate: " + given + " without " + missing +
                    " (SPMD_TLS_CERT, SPMD_TLS_KEY and SPMD_TLS_CA in the environment)",
                Error::Kind::Usage);
}

class Identity final : public TlsIdentity {
public:
  Identity(const TlsFiles &files, uint64_t bytesPerKey)
      : ssl(openSsl()), setup(std::make_shared<Setup>(Setup{files, bytesPerKey})),
        context(ssl.SSL_CTX_new(ssl.TLS_method()), ContextFree{&ssl}) {
    if (!context)
      throw Error("OpenSSL has no TLS on this machine: is its configuration right?");
    setUp();
    read(files);
    X509 *own = ssl.SSL_CTX_get0_certificate(context.get());
    check(own, "ssl_server");
    check(own, "ssl_client");
    ownFingerprint = fingerprintOf(ssl, own);
  }

  std::unique_ptr<TlsSession> connect(int fd, TlsPeer expected) const override {
    return std::make_unique<Session>(ssl, context.get(), setup, fd, /*accepts=*/false, std::move(expected));
  }
  std::unique_ptr<TlsSession> accept(int fd) const override {
    return std::make_unique<Session>(ssl, context.get(), setup, fd, /*accepts=*/true, TlsPeer());
  }
  const std::string &fingerprint() const override { return ownFingerprint; }

private:
  void setUp() {
    SSL_CTX *raw = context.get();
    ssl.SSL_CTX_ctrl(raw, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_3_VERSION, nullptr);
    // Connections are few and long, so sessions are never resumed.
    ssl.SSL_CTX_ctrl(raw, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, nullptr);
    ssl.SSL_CTX_set_num_tickets(raw, 0);
    // Reads several records with one system call.
    ssl.SSL_CTX_set_default_read_buffer_len(raw, 65536);
    // Never asks the user for a pass phrase.
    ssl.SSL_CTX_set_default_passwd_cb(raw, [](char *, int, int, void *) { return -1; });
  }

  void read(const TlsFiles &files) {
    SSL_CTX *raw = context.get();
    ssl.ERR_clear_error();
    checkReadable("authority", files.authority, false);
    if (ssl.SSL_CTX_load_verify_file(raw, files.authority.c_str()) != 1)
      throw wrong("authority", files.authority, "has no certificate in PEM form");
    ssl.ERR_clear_error();
    checkReadable("certificate", files.certificate, false);
    if (ssl.SSL_CTX_use_certificate_chain_file(raw, files.certificate.c_str()) != 1)
      throw wrong("certificate", files.certificate, "has no certificate in PEM form" + reason());
    ssl.ERR_clear_error();
    checkReadable("key", files.key, true);
    if (ssl.SSL_CTX_use_PrivateKey_file(raw, files.key.c_str(), SSL_FILETYPE_PEM) != 1) {
      int code = ERR_GET_REASON(ssl.ERR_peek_error());
      if (code == X509_R_KEY_VALUES_MISMATCH || code == X509_R_KEY_TYPE_MISMATCH)
        throw wrong("key", files.key, "does not belong to the certificate in " + files.certificate);
      throw wrong("key", files.key, "has no key in PEM form that needs no pass phrase");
    }
    if (ssl.SSL_CTX_check_private_key(raw) != 1)
      throw wrong("key", files.key, "does not belong to the certificate in " + files.certificate);
    ssl.ERR_clear_error();
  }

  /// For example a key that is too small for OpenSSL's configuration.
  std::string reason() const {
    unsigned long code = ssl.ERR_peek_error();
    const char *text = ERR_GET_LIB(code) == ERR_LIB_SSL ? ssl.ERR_reason_error_string(code) : nullptr;
    return text ? std::string(" that can be used (") + text + ")" : "";
  }

  /// Checks the certificate as a peer with the same authority will.
  void check(X509 *own, const char *purpose) const {
    std::unique_ptr<X509_STORE_CTX, decltype(ssl.X509_STORE_CTX_free)> state(ssl.X509_STORE_CTX_new(),
                                                                             ssl.X509_STORE_CTX_free);
    STACK_OF(X509) *chain = nullptr;
    ssl.SSL_CTX_ctrl(context.get(), SSL_CTRL_GET_CHAIN_CERTS, 0, &chain);
    if (!state || ssl.X509_STORE_CTX_init(state.get(), ssl.SSL_CTX_get_cert_store(context.get()), own, chain) != 1 ||
        ssl.X509_STORE_CTX_set_default(state.get(), purpose) != 1)
      throw Error("OpenSSL cannot check certificates on this machine: is its configuration right?");
    if (ssl.X509_verify_cert(state.get()) == 1)
      return;
    int problem = ssl.X509_STORE_CTX_get_error(state.get());
    throw wrong("certificate", setup->files.certificate,
                problemOf(ssl, problem, ssl.X509_STORE_CTX_get_current_cert(state.get()), setup->files.authority, ""));
  }

  const OpenSsl &ssl;
  const std::shared_ptr<const Setup> setup;
  const Context context;
  std::string ownFingerprint;
};

} // namespace
} // namespace tls

std::shared_ptr<const TlsIdentity> TlsIdentity::load(const TlsFiles &files, uint64_t bytesPerKey) {
  tls::checkAllGiven(files);
  return std::make_shared<tls::Identity>(files, bytesPerKey);
}

} // namespace spmd
