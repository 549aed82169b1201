//===- Reasons.h - why a connection is not trusted, in words ----*- C++ -*-===//
#pragma once

#include "runtime/support/tls/OpenSsl.h"

#include <string>

namespace spmd::tls {

/// The subjectAltName of a certificate, as in `DNS:node1, IP Address:10.0.0.1`.
std::string namesOf(const OpenSsl &ssl, X509 *certificate);

/// SHA-256 of all of it, hexadecimal.
std::string fingerprintOf(const OpenSsl &ssl, X509 *certificate);

/// What is wrong with a certificate by a code of X509_V_ERR_*: `has expired (Jan  1 00:00:00 2026 GMT)`. `authority`:
/// the file of those who may have signed it. `name`: the host's that it should be for.
std::string problemOf(const OpenSsl &ssl, long code, X509 *certificate, const std::string &authority,
                      const std::string &name);

/// What the other side says of ours when it ends the handshake, by OpenSSL's reason; empty: it says nothing of the
/// kind.
std::string complaintOf(int reason, const std::string &certificate);

} // namespace spmd::tls
