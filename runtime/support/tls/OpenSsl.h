//===- OpenSsl.h - libssl, opened at run time -------------------*- C++ -*-===//
#pragma once

#include <string>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace spmd::tls {

// The library is not linked: it is large, few programs need it, and the distribution's copy gets security updates. The
// list has only functions whose interface is the same in all versions of OpenSSL 3.
#define SPMD_OPENSSL_FUNCTIONS(X)                                                                                      \
  X(ASN1_TIME_print)                                                                                                   \
  X(BIO_clear_flags)                                                                                                   \
  X(BIO_free)                                                                                                          \
  X(BIO_get_data)                                                                                                      \
  X(BIO_meth_new)                                                                                                      \
  X(BIO_meth_set_ctrl)                                                                                                 \
  X(BIO_meth_set_read_ex)                                                                                              \
  X(BIO_meth_set_write_ex)                                                                                             \
  X(BIO_new)                                                                                                           \
  X(BIO_read)                                                                                                          \
  X(BIO_s_mem)                                                                                                         \
  X(BIO_set_data)                                                                                                      \
  X(BIO_set_flags)                                                                                                     \
  X(BIO_set_init)                                                                                                      \
  X(ERR_clear_error)                                                                                                   \
  X(ERR_peek_error)                                                                                                    \
  X(ERR_reason_error_string)                                                                                           \
  X(EVP_sha256)                                                                                                        \
  X(OPENSSL_init_ssl)                                                                                                  \
  X(SSL_CTX_check_private_key)                                                                                         \
  X(SSL_CTX_ctrl)                                                                                                      \
  X(SSL_CTX_free)                                                                                                      \
  X(SSL_CTX_get0_certificate)                                                                                          \
  X(SSL_CTX_get_cert_store)                                                                                            \
  X(SSL_CTX_load_verify_file)                                                                                          \
  X(SSL_CTX_new)                                                                                                       \
  X(SSL_CTX_set_default_passwd_cb)                                                                                     \
  X(SSL_CTX_set_default_read_buffer_len)                                                                               \
  X(SSL_CTX_set_num_tickets)                                                                                           \
  X(SSL_CTX_use_PrivateKey_file)                                                                                       \
  X(SSL_CTX_use_certificate_chain_file)                                                                                \
  X(SSL_ctrl)                                                                                                          \
  X(SSL_do_handshake)                                                                                                  \
  X(SSL_free)                                                                                                          \
  X(SSL_get0_param)                                                                                                    \
  X(SSL_get1_peer_certificate)                                                                                         \
  X(SSL_get_error)                                                                                                     \
  X(SSL_get_ex_data)                                                                                                   \
  X(SSL_get_ex_data_X509_STORE_CTX_idx)                                                                                \
  X(SSL_key_update)                                                                                                    \
  X(SSL_new)                                                                                                           \
  X(SSL_read_ex)                                                                                                       \
  X(SSL_set_accept_state)                                                                                              \
  X(SSL_set_bio)                                                                                                       \
  X(SSL_set_connect_state)                                                                                             \
  X(SSL_set_ex_data)                                                                                                   \
  X(SSL_set_read_ahead)                                                                                                \
  X(SSL_set_verify)                                                                                                    \
  X(SSL_shutdown)                                                                                                      \
  X(SSL_write_ex)                                                                                                      \
  X(TLS_method)                                                                                                        \
  X(X509V3_EXT_print)                                                                                                  \
  X(X509_STORE_CTX_free)                                                                                               \
  X(X509_STORE_CTX_get_current_cert)                                                                                   \
  X(X509_STORE_CTX_get_error)                                                                                          \
  X(X509_STORE_CTX_get_ex_data)                                                                                        \
  X(X509_STORE_CTX_init)                                                                                               \
  X(X509_STORE_CTX_new)                                                                                                \
  X(X509_STORE_CTX_set_default)                                                                                        \
  X(X509_VERIFY_PARAM_set1_host)                                                                                       \
  X(X509_VERIFY_PARAM_set1_ip_asc)                                                                                     \
  X(X509_VERIFY_PARAM_set_hostflags)                                                                                   \
  X(X509_digest)                                                                                                       \
  X(X509_free)                                                                                                         \
  X(X509_get0_notAfter)                                                                                                \
  X(X509_get0_notBefore)                                                                                               \
  X(X509_get_ext)                                                                                                      \
  X(X509_get_ext_by_NID)                                                                                               \
  X(X509_verify_cert)                                                                                                  \
  X(X509_verify_cert_error_string)

struct OpenSsl {
#define SPMD_MEMBER(name) decltype(&::name) name = nullptr;
  SPMD_OPENSSL_FUNCTIONS(SPMD_MEMBER)
#undef SPMD_MEMBER

  /// OpenSSL's interface to a socket.
  BIO_METHOD *socketMethod = nullptr;
};

/// Opens the library at the first call. Throws spmd::Error if it cannot; the next call tries again then.
const OpenSsl &openSsl();

} // namespace spmd::tls
