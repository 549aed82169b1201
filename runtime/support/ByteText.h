//===- ByteText.h - numbers of bytes as text --------------------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace spmd {

/// `16.0 MiB`, `4 B`.
std::string bytesText(double bytes);

/// Texts of two sizes in a message that says that they differ: exact to the byte if the rounded texts would be equal.
std::pair<std::string, std::string> comparedBytesTexts(double a, double b);

/// Parses `64MiB`, `1.5GiB`, `2GB`, `100`: an integer number of bytes below 2^63, or nothing.
std::optional<int64_t> parseBytes(std::string_view text);

/// Returns why parseBytes does not accept a text, as the end of a message: `is not a number of bytes such as 64MiB (B,
/// KiB, ...)`, or that it is too large.
std::string bytesMistake(std::string_view text);

} // namespace spmd
