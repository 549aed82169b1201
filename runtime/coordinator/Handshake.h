//===- Handshake.h - mutual proof of the token ------------------*- C++ -*-===//
//
// Three records of fixed size, so that an unauthenticated peer can make the coordinator read at most 64 bytes:
//     process -> coordinator   Opening (32):   magic, version, job tag, nonce
//     coordinator -> process   Challenge (64): magic, version, job tag, nonce, proof
//     process -> coordinator   Proof (32)
// A proof is the HMAC-SHA256, keyed by the token, of the side's name and of both versions, job tags and nonces, so it
// can be neither replayed nor reflected. The process checks the coordinator's proof before it sends its own.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace spmd::coordinator {

constexpr uint16_t protocolVersion = 5;
constexpr size_t openingBytes = 32;
constexpr size_t challengeBytes = 64;
constexpr size_t proofBytes = 32;

/// The role that the connecting side asks for.
enum class Role : uint16_t {
  Process,  ///< A process of the job.
  Observer, ///< Asks for the job's status, nothing else.
};

using Nonce = std::array<char, 16>;
using Proof = std::array<char, proofBytes>;

/// The fields that Opening and Challenge have in common.
struct Opening {
  uint16_t version = protocolVersion;
  Role role = Role::Process;
  std::array<char, 8> jobTag = {};
  Nonce nonce = {};

  std::string encode() const;
  /// Returns false if the bytes are not of this protocol.
  static bool decode(std::string_view bytes, Opening &result);
};

/// Returns a short hash of the job's id. It is only a part of what is proven: the ids themselves are compared after the
/// handshake.
std::array<char, 8> makeJobTag(const std::string &jobId);

/// Random, from the operating system. Throws spmd::Error.
Nonce makeNonce();

/// The record in clear text that a side with TLS sends to one without, and the other way round (challengeBytes long).
std::string tlsMismatch();
bool isTlsMismatch(std::string_view record);

enum class Side : uint8_t { Process, Coordinator };

Proof prove(Side side, const std::string &token, const Opening &process, const Opening &coordinator);

/// Compares in constant time.
bool checkProof(const Proof &expected, std::string_view given);

/// Returns the answer of the connecting side to a challenge (challengeBytes long): its proof, or the error why it gives
/// none. The error names `address`, that of the other side, and `remedy`, what to do if the tokens differ.
std::optional<std::string> answerChallenge(std::string_view record, const std::string &token, const Opening &ours,
                                           const std::string &address, const std::string &remedy, Proof &proof);

} // namespace spmd::coordinator
