//===- Token.h - the shared secret of a job ---------------------*- C++ -*-===//
//
// Finds or creates the token with which processes and coordinator prove to each other that they belong to the same job.
// It never appears in a message, on a command line or in a log.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/support/Env.h"

#include <string>

namespace spmd {

/// Returns a new random token: 256 bits in hexadecimal.
std::string makeToken();

/// Returns the token of this process. Sources in this order: the file `tokenFile` (an option; may be empty),
/// SPMD_TOKEN_FILE, SPMD_TOKEN, and the 0600 file `token` in the user's configuration folder, which is created at first
/// use; processes that race for it all get the same token. Returns "" and the reason in `whyNone` if there is neither
/// an explicit token nor a usable configuration folder: such a process only joins processes of the same user on this
/// machine. Throws spmd::Error when a named file cannot be read, is empty, belongs to another user, or is readable by
/// others.
std::string findToken(const Environment &environment, const std::string &tokenFile = "",
                      std::string *whyNone = nullptr);

/// Returns the token with which observers may request the status of processes that this one starts: the same token, if
/// the user has one. An unusable folder is not an error here, so that the processes can start.
std::string findStatusToken(const Environment &environment, const std::string &tokenFile);

} // namespace spmd
