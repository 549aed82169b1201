//===- OpenSsl.cpp - libssl, opened at run time ---------------------------===//

#include "runtime/support/tls/OpenSsl.h"

#include "runtime/support/Error.h"

#include <cerrno>

#include <dlfcn.h>
#include <sys/socket.h>

namespace spmd::tls {
namespace {

constexpr const char *library = "libssl.so.3";

// OpenSSL's own socket method raises SIGPIPE on a closed connection, which kills the process.

int fdOf(BIO *bio) { return static_cast<int>(reinterpret_cast<intptr_t>(openSsl().BIO_get_data(bio))); }

int finish(BIO *bio, ssize_t moved, int retryFlag, size_t *result) {
  const OpenSsl &ssl = openSsl();
  ssl.BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY | BIO_FLAGS_IN_EOF);
  *result = moved > 0 ? static_cast<size_t>(moved) : 0;
  if (moved > 0)
    return 1;
  if (moved == 0)
    ssl.BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  else if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)
    ssl.BIO_set_flags(bio, retryFlag | BIO_FLAGS_SHOULD_RETRY);
  return 0;
}

int readSocket(BIO *bio, char *data, size_t bytes, size_t *read) {
  return finish(bio, ::recv(fdOf(bio), data, bytes, MSG_DONTWAIT), BIO_FLAGS_READ, read);
}

int writeSocket(BIO *bio, const char *data, size_t bytes, size_t *written) {
  return finish(bio, ::send(fdOf(bio), data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL), BIO_FLAGS_WRITE, written);
}

long controlSocket(BIO *, int command, long, void *) { return command == BIO_CTRL_FLUSH; }

OpenSsl load() {
  auto fail = [](const std::string &why) {
    return Error(std::string("TLS (--tls-cert) needs OpenSSL's library ") + library + ", which cannot be used here (" +
                 why + "): install it (Debian's package is libssl3)");
  };
  void *handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    throw fail(::dlerror());
  OpenSsl functions;
#define SPMD_FIND(name)                                                                                                \
  functions.name = reinterpret_cast<decltype(functions.name)>(::dlsym(handle, #name));                                 \
  if (!functions.name)                                                                                                 \
    throw fail("it has no " #name);
  SPMD_OPENSSL_FUNCTIONS(SPMD_FIND)
#undef SPMD_FIND
  // The job's connection may be used to the very end of the process, so OpenSSL must not clean up before it.
  if (functions.OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, nullptr) != 1)
    throw fail("it does not start");
  functions.socketMethod = functions.BIO_meth_new(BIO_TYPE_SOURCE_SINK | 127, "socket");
  if (!functions.socketMethod)
    throw fail("it does not start");
  functions.BIO_meth_set_read_ex(functions.socketMethod, readSocket);
  functions.BIO_meth_set_write_ex(functions.socketMethod, writeSocket);
  functions.BIO_meth_set_ctrl(functions.socketMethod, controlSocket);
  return functions;
}

} // namespace

const OpenSsl &openSsl() {
  static const OpenSsl functions = load();
  return functions;
}

} // namespace spmd::tls
