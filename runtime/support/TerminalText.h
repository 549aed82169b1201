//===- TerminalText.h - untrusted text on a terminal ------------*- C++ -*-===//
#pragma once

#include <string>
#include <string_view>

namespace spmd {

/// Returns `text` with all characters escaped that control a terminal or reorder the displayed text: `\x1b` for a byte,
/// `\u{202e}` for a character. New lines, tabs and all other UTF-8 are kept; invalid bytes become `\xff`. Idempotent.
std::string escapeControls(std::string_view text);

} // namespace spmd
