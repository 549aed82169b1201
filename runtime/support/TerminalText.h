//===- TerminalText.h - text of others on a terminal ------------*- C++ -*-===//
#pragma once

#include <string>
#include <string_view>

namespace spmd {

/// `text` with all that a terminal would obey, or show in another order than it is written, as characters: `\x1b` for a
/// byte, `\u{202e}` for a character. New lines and tabs stay, and so does the rest of UTF-8; bytes that are none become
/// `\xff`. What has gone through it comes through it unchanged.
std::string escapeControls(std::string_view text);

} // namespace spmd
