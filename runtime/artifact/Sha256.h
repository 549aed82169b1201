//===- Sha256.h - a content hash, and a proof of knowing a key --*- C++ -*-===//
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spmd {

using Sha256Digest = std::array<uint8_t, 32>;

/// SHA-256 of the parts, one after the other.
Sha256Digest sha256(const std::vector<std::string_view> &parts);

/// HMAC-SHA256 (RFC 2104) of the text.
Sha256Digest hmacSha256(std::string_view key, std::string_view text);

/// Lower-case hexadecimal.
std::string toHex(const Sha256Digest &digest);

} // namespace spmd
