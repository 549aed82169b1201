//===- Reasons.h - reasons of TLS errors in words ---------------*- C++ -*-===//
#pragma once

#include "runtime/support/tls/OpenSsl.h"

#include <string>

namespace spmd::tls {

/// The subjectAltName of a certificate, as in `DNS:node1, IP Address:10.0.0.1`.
std::string namesOf(const OpenSsl &ssl, X509 *certificate);

/// Returns the SHA-256 of the certificate, hexadecimal.
std::string fingerprintOf(const OpenSsl &ssl, X509 *certificate);

/// Returns what is wrong with a certificate for a code of X509_V_ERR_*: `has expired (Jan  1 00:00:00 2026 GMT)`.
/// `authority` is the file of accepted authorities. `name` is the host for which the certificate should be.
std::string problemOf(const OpenSsl &ssl, long code, X509 *certificate, const std::string &authority,
                      const std::string &name);

/// Returns the other side's complaint about our certificate when it ends the handshake, by OpenSSL's reason; empty for
/// reasons that do not concern the certificate.
std::string complaintOf(int reason, const std::string &certificate);

} // namespace spmd::tls
