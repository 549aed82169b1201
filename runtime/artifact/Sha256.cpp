//===- Sha256.cpp - SHA-256 and HMAC-SHA256 -------------------------------===//

// Uses OpenSSL's function for SHA-256 directly. OpenSSL recommends EVP instead, but EVP looks algorithms up by name at
// run time, which links all of them: 4 MB in every executable, read at each start.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "runtime/artifact/Sha256.h"

#include <openssl/sha.h>

namespace spmd {

Sha256Digest sha256(const std::vector<std::string_view> &parts) {
  SHA256_CTX state;
  SHA256_Init(&state);
  for (std::string_view part : parts)
    SHA256_Update(&state, part.data(), part.size());
  Sha256Digest digest;
  SHA256_Final(digest.data(), &state);
  return digest;
}

static std::string_view textOf(const Sha256Digest &digest) {
  return {reinterpret_cast<const char *>(digest.data()), digest.size()};
}

Sha256Digest hmacSha256(std::string_view key, std::string_view text) {
  Sha256Digest hashed;
  if (key.size() > SHA256_CBLOCK) {
    hashed = sha256({key});
    key = textOf(hashed);
  }
  std::string inner(SHA256_CBLOCK, 0x36), outer(SHA256_CBLOCK, 0x5c);
  for (size_t i = 0; i != key.size(); ++i) {
    inner[i] = static_cast<char>(inner[i] ^ key[i]);
    outer[i] = static_cast<char>(outer[i] ^ key[i]);
  }
  Sha256Digest digest = sha256({inner, text});
  return sha256({outer, textOf(digest)});
}

std::string toHex(const Sha256Digest &digest) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (uint8_t byte : digest) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

} // namespace spmd
