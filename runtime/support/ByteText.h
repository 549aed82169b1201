//===- ByteText.h - numbers of bytes as people write them -------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace spmd {

/// `16.0 MiB`, `4 B`.
std::string bytesText(double bytes);

/// Two sizes of which a text says that they differ: to the byte where they would look alike.
std::pair<std::string, std::string> comparedBytesTexts(double a, double b);

/// `64MiB`, `1.5GiB`, `2GB`, `100`: a whole number of bytes below 2^63, or nothing.
std::optional<int64_t> parseBytes(std::string_view text);

/// What is wrong with a text that parseBytes does not take, to stand behind it: `is no number of bytes such as 64MiB
/// (B, KiB, ...)`, or that it is too large.
std::string bytesMistake(std::string_view text);

} // namespace spmd
