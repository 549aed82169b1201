//===- Token.h - the secret that the processes of a job share ---*- C++ -*-===//
//
// Finds or makes the token with which processes prove to the coordinator, and it to them, that they belong together.
// It never appears in a message, on a command line or in a log.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/support/Env.h"

#include <string>

namespace spmd {

/// A new random token: 256 bits in hexadecimal.
std::string makeToken();

/// The token of this process. In this order: the file `tokenFile` (an option; may be empty), SPMD_TOKEN_FILE,
/// SPMD_TOKEN, and the 0600 file `token` in the user's configuration folder, which is made at first use; processes
/// that race for that all get the same one. Returns "" where there is neither an explicit token nor a configuration
/// folder that can be used, and then says in `whyNone` why: such a process joins those of the same user on this machine
/// only. Throws spmd::Error when a named file cannot be read, is empty, belongs to somebody else, or is readable by
/// others.
std::string findToken(const Environment &environment, const std::string &tokenFile = "",
                      std::string *whyNone = nullptr);

/// What may ask how the processes are that this one starts: the same token, if the user has one; a folder that cannot
/// be used is no reason not to start them.
std::string findStatusToken(const Environment &environment, const std::string &tokenFile);

} // namespace spmd
