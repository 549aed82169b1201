//===- Sha256.h - SHA-256 and HMAC-SHA256 -----------------------*- C++ -*-===//
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spmd {

using Sha256Digest = std::array<uint8_t, 32>;

/// Returns the SHA-256 of the concatenated parts.
Sha256Digest sha256(const std::vector<std::string_view> &parts);

/// Returns the HMAC-SHA256 (RFC 2104) of the text.
Sha256Digest hmacSha256(std::string_view key, std::string_view text);

/// Returns lower-case hexadecimal.
std::string toHex(const Sha256Digest &digest);

} // namespace spmd
