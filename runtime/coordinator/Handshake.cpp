#include "runtime/coordinator/Handshake.h"

#include "runtime/artifact/Sha256.h"
#include "runtime/coordinator/Wire.h"
#include "runtime/support/SystemRandom.h"

#include <algorithm>

#include <openssl/crypto.h>

namespace spmd::coordinator {

constexpr std::string_view magic = "SPMD";

std::string Opening::encode() const {
  Writer out;
  out.bytes = magic;
  out.integer(version);
  out.integer(static_cast<uint16_t>(role));
  out.bytes.append(jobTag.data(), jobTag.size());
  out.bytes.append(nonce.data(), nonce.size());
  return std::move(out.bytes);
}

bool Opening::decode(std::string_view bytes, Opening &result) {
  if (bytes.size() != openingBytes || bytes.substr(0, magic.size()) != magic)
    return false;
  bytes.remove_prefix(magic.size());
  result.version = Reader(bytes).integer<uint16_t>();
  bytes.remove_prefix(2);
  auto role = Reader(bytes).integer<uint16_t>();
  if (role > static_cast<uint16_t>(Role::Observer))
    return false;
  result.role = static_cast<Role>(role);
  bytes.remove_prefix(2);
  std::copy_n(bytes.data(), result.jobTag.size(), result.jobTag.data());
  std::copy_n(bytes.data() + result.jobTag.size(), result.nonce.size(), result.nonce.data());
  return true;
}

std::string tlsMismatch() {
  std::string record("SPMD: TLS on one side only");
  record.resize(challengeBytes);
  return record;
}

bool isTlsMismatch(std::string_view record) { return record == tlsMismatch(); }

std::array<char, 8> makeJobTag(const std::string &jobId) {
  std::array<char, 8> tag;
  std::copy_n(sha256({jobId}).begin(), tag.size(), tag.begin());
  return tag;
}

Nonce makeNonce() {
  Nonce nonce;
  fillWithSystemRandom(nonce.data(), nonce.size());
  return nonce;
}

Proof prove(Side side, const std::string &token, const Opening &process, const Opening &coordinator) {
  std::string text = side == Side::Process ? "spmd process  " : "spmd coordinator";
  text += process.encode() + coordinator.encode();
  // An empty token means "no token", which is allowed over loopback only.
  Sha256Digest digest = hmacSha256(token, text);
  Proof proof;
  std::copy(digest.begin(), digest.end(), proof.begin());
  return proof;
}

bool checkProof(const Proof &expected, std::string_view given) {
  return given.size() == expected.size() && CRYPTO_memcmp(expected.data(), given.data(), expected.size()) == 0;
}

std::optional<std::string> answerChallenge(std::string_view record, const std::string &token, const Opening &ours,
                                           const std::string &address, const std::string &remedy, Proof &proof) {
  if (isTlsMismatch(record))
    return "the coordinator at " + address +
           " takes TLS connections only: give --tls-cert, --tls-key and --tls-ca to " +
           "all processes of a job, or to none";
  Opening theirs;
  if (!Opening::decode(record.substr(0, openingBytes), theirs))
    return "the server at " + address + " is not a coordinator: another program has that port";
  if (theirs.version != protocolVersion)
    return "the coordinator at " + address + " speaks version " + std::to_string(theirs.version) +
           " of the protocol, this process version " + std::to_string(protocolVersion) +
           ": use one build for all processes";
  if (!checkProof(prove(Side::Coordinator, token, ours, theirs), record.substr(openingBytes)))
    return "the coordinator at " + address + " has another token than this process: " + remedy;
  proof = prove(Side::Process, token, ours, theirs);
  return std::nullopt;
}

} // namespace spmd::coordinator
