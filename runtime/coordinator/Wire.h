//===- Wire.h - bounded little-endian reading and writing -------*- C++ -*-===//
#pragma once

#include "runtime/coordinator/Protocol.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace spmd::coordinator {

/// Appends fields to a string.
class Writer {
public:
  template <typename T> void integer(T value) {
    for (size_t i = 0; i != sizeof(T); ++i)
      bytes += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
  }
  void text(std::string_view value, size_t limit) {
    if (value.size() > limit)
      throw ProtocolError("a field of " + std::to_string(value.size()) + " bytes; the limit is " +
                          std::to_string(limit));
    integer(static_cast<uint32_t>(value.size()));
    bytes += value;
  }
  void count(size_t value, size_t limit) {
    if (value > limit)
      throw ProtocolError("a list of " + std::to_string(value) + " entries; the limit is " + std::to_string(limit));
    integer(static_cast<uint32_t>(value));
  }

  std::string bytes;
};

/// Reads fields from a string; throws ProtocolError instead of reading past its end or beyond a limit.
class Reader {
public:
  explicit Reader(std::string_view bytes) : rest(bytes) {}

  template <typename T> T integer() {
    need(sizeof(T));
    uint64_t value = 0;
    for (size_t i = 0; i != sizeof(T); ++i)
      value |= static_cast<uint64_t>(static_cast<unsigned char>(rest[i])) << (8 * i);
    rest.remove_prefix(sizeof(T));
    return static_cast<T>(value);
  }
  std::string text(size_t limit) {
    size_t size = integer<uint32_t>();
    if (size > limit)
      throw ProtocolError("a field of " + std::to_string(size) + " bytes; the limit is " + std::to_string(limit));
    need(size);
    std::string value(rest.substr(0, size));
    rest.remove_prefix(size);
    return value;
  }
  /// Reads the length of a list whose entries have at least `entryBytes` bytes each.
  size_t count(size_t entryBytes, size_t limit) {
    size_t value = integer<uint32_t>();
    if (value > limit || value * entryBytes > rest.size())
      throw ProtocolError("a list of " + std::to_string(value) + " entries");
    return value;
  }
  bool flag() {
    uint8_t value = integer<uint8_t>();
    if (value > 1)
      throw ProtocolError("a truth value of " + std::to_string(value));
    return value == 1;
  }
  template <typename T> T enumerator(T last) {
    uint8_t value = integer<uint8_t>();
    if (value > static_cast<uint8_t>(last))
      throw ProtocolError("an unknown enumerator " + std::to_string(value));
    return static_cast<T>(value);
  }
  void finish() const {
    if (!rest.empty())
      throw ProtocolError(std::to_string(rest.size()) + " bytes after the last field");
  }

private:
  void need(size_t size) const {
    if (rest.size() < size)
      throw ProtocolError("the frame ends early");
  }

  std::string_view rest;
};

// Fields that several messages have.
void put(Writer &out, const Position &position);
void get(Reader &in, Position &position);
void put(Writer &out, const Verdict &verdict);
void get(Reader &in, Verdict &verdict);

} // namespace spmd::coordinator
