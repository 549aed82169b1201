//===- Sha256.cpp - a content hash ----------------------------------------===//

#include "runtime/artifact/Sha256.h"

#include "runtime/support/Error.h"

#include <openssl/evp.h>

#include <memory>

namespace spmd {

Sha256Digest sha256(const std::vector<std::string_view> &parts) {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  bool ok = context && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1;
  for (std::string_view part : parts)
    ok = ok && EVP_DigestUpdate(context.get(), part.data(), part.size()) == 1;
  Sha256Digest digest{};
  unsigned size = 0;
  if (!ok || EVP_DigestFinal_ex(context.get(), digest.data(), &size) != 1 || size != digest.size())
    throw Error("OpenSSL could not compute a SHA-256 digest; is its default provider disabled on this machine?");
  return digest;
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
