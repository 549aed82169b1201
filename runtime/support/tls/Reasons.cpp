//===- Reasons.cpp - reasons of TLS errors in words -----------------------===//

#include "runtime/support/tls/Reasons.h"

#include "runtime/support/Error.h"

#include <memory>

#include <openssl/sslerr.h>

namespace spmd::tls {
namespace {

/// Returns the output of `print`, without trailing spaces.
template <typename Print> std::string printed(const OpenSsl &ssl, const Print &print) {
  std::unique_ptr<BIO, decltype(ssl.BIO_free)> out(ssl.BIO_new(ssl.BIO_s_mem()), ssl.BIO_free);
  std::string text(1024, '\0');
  if (!out || print(out.get()) != 1)
    return "";
  int size = ssl.BIO_read(out.get(), text.data(), static_cast<int>(text.size()));
  text.resize(size < 0 ? 0 : static_cast<size_t>(size));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
    text.pop_back();
  return text;
}

} // namespace

std::string namesOf(const OpenSsl &ssl, X509 *certificate) {
  int at = ssl.X509_get_ext_by_NID(certificate, NID_subject_alt_name, -1);
  if (at < 0)
    return "";
  return printed(ssl, [&](BIO *out) { return ssl.X509V3_EXT_print(out, ssl.X509_get_ext(certificate, at), 0, 0); });
}

std::string fingerprintOf(const OpenSsl &ssl, X509 *certificate) {
  unsigned char digest[32];
  unsigned size = 0;
  if (ssl.X509_digest(certificate, ssl.EVP_sha256(), digest, &size) != 1 || size != sizeof digest)
    throw Error("OpenSSL has no SHA-256 on this machine: is its configuration right?");
  std::string text;
  for (unsigned char byte : digest) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

std::string problemOf(const OpenSsl &ssl, long code, X509 *certificate, const std::string &authority,
                      const std::string &name) {
  auto time = [&](const ASN1_TIME *when) {
    return printed(ssl, [&](BIO *out) { return ssl.ASN1_TIME_print(out, when); });
  };
  switch (code) {
  case X509_V_ERR_CERT_HAS_EXPIRED:
    return "has expired" + (certificate ? " (" + time(ssl.X509_get0_notAfter(certificate)) + ")" : "");
  case X509_V_ERR_CERT_NOT_YET_VALID:
    return "is not valid yet" + (certificate ? " (from " + time(ssl.X509_get0_notBefore(certificate)) + ")" : "") +
           ": is the clock right?";
  case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
  case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
  case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
  case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
  case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
  case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    return "is not signed by the authority in " + authority + " (--tls-ca)";
  case X509_V_ERR_HOSTNAME_MISMATCH:
  case X509_V_ERR_IP_ADDRESS_MISMATCH: {
    std::string names = certificate ? namesOf(ssl, certificate) : "";
    return "is for " + (names.empty() ? "no host (it has no subjectAltName)" : names) + ", not for " + name;
  }
  case X509_V_ERR_INVALID_PURPOSE:
    return "may not be used for this: its extendedKeyUsage needs serverAuth and clientAuth";
  default:
    return std::string("is refused: ") + ssl.X509_verify_cert_error_string(code);
  }
}

std::string complaintOf(int reason, const std::string &certificate) {
  auto says = [&](const std::string &what) { return "it rejects " + certificate + " (--tls-cert): " + what; };
  switch (reason) {
  case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    return says("it is not signed by the authority that the other side has (--tls-ca)");
  case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    return says("by the clock there it has expired or is not valid yet");
  case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
  case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
  case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
  case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
  case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
  case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
    return says("the other side reports it as invalid");
  case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    return says("the other side did not receive it");
  case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
  case SSL_R_UNSUPPORTED_PROTOCOL:
    return "it does not speak TLS 1.3";
  case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
  case SSL_R_NO_SHARED_CIPHER:
  case SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS:
  case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
    return "the two sides have no algorithm of TLS 1.3 in common";
  default:
    return "";
  }
}

} // namespace spmd::tls
