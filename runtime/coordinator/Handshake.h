//===- Handshake.h - both sides prove that they know the token ---*- C++ -*-===//
//
// Three records of fixed size, so that a stranger can make the coordinator read 64 bytes at most:
//     process -> coordinator   Opening (32):   magic, version, job tag, nonce
//     coordinator -> process   Challenge (64): magic, version, job tag, nonce, proof
//     process -> coordinator   Proof (32)
// A proof is the HMAC-SHA256, keyed by the token, of the side's name, both versions, job tags and nonces: it can be
// neither replayed nor reflected. The process checks the coordinator's before it sends its own.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace spmd::coordinator {

constexpr uint16_t protocolVersion = 3;
constexpr size_t openingBytes = 32;
constexpr size_t challengeBytes = 64;
constexpr size_t proofBytes = 32;

/// What the side that opens the connection wants to be.
enum class Role : uint16_t {
  Process,  ///< One of the job.
  Observer, ///< Asks how the job is, and nothing else.
};

using Nonce = std::array<char, 16>;
using Proof = std::array<char, proofBytes>;

/// What is common to Opening and Challenge.
struct Opening {
  uint16_t version = protocolVersion;
  Role role = Role::Process;
  std::array<char, 8> jobTag = {};
  Nonce nonce = {};

  std::string encode() const;
  /// False if the bytes are not of this protocol at all.
  static bool decode(std::string_view bytes, Opening &result);
};

/// A short hash of the job's id. Only a part of what is proven: the ids themselves are compared after the handshake.
std::array<char, 8> makeJobTag(const std::string &jobId);

/// Random, from the operating system. Throws spmd::Error.
Nonce makeNonce();

/// What a side with TLS answers one without, and the other way round, in the clear (challengeBytes).
std::string tlsMismatch();
bool isTlsMismatch(std::string_view record);

enum class Side : uint8_t { Process, Coordinator };

Proof prove(Side side, const std::string &token, const Opening &process, const Opening &coordinator);

/// In constant time.
bool checkProof(const Proof &expected, std::string_view given);

/// The answer of the side that opened the connection to a challenge (challengeBytes): its proof, or in words why it
/// gives none. `address` and `remedy`: of the other side, and what to do where it has another token, for messages.
std::optional<std::string> answerChallenge(std::string_view record, const std::string &token, const Opening &ours,
                                           const std::string &address, const std::string &remedy, Proof &proof);

} // namespace spmd::coordinator
