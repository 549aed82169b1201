//===- ArtifactHelper.cpp - portable artifacts made by hand ---------------===//

#include "tests/frontend/stablehlo/portable/ArtifactHelper.h"

#include <algorithm>

namespace spmdc {

std::string number(uint64_t value) {
  std::string bytes(1, '\0'); // Nine bytes, which every number may have.
  if (value < 128)
    return {static_cast<char>(value << 1 | 1)};
  for (int shift = 0; shift < 64; shift += 8)
    bytes += static_cast<char>(value >> shift);
  return bytes;
}

std::string numbers(std::initializer_list<uint64_t> values) {
  std::string bytes;
  for (uint64_t value : values)
    bytes += number(value);
  return bytes;
}

template <typename T> static uint64_t indexIn(std::vector<T> &list, const T &value) {
  auto found = std::find(list.begin(), list.end(), value);
  if (found == list.end())
    found = list.insert(found, value);
  return static_cast<uint64_t>(found - list.begin());
}

uint64_t Artifact::string(const std::string &text) { return indexIn(strings, text); }
uint64_t Artifact::dialect(const std::string &name) { return indexIn(dialects, string(name)); }

uint64_t Artifact::operation(const std::string &dialectName, const std::string &name) {
  return indexIn(operations, {dialect(dialectName), string(name)});
}

uint64_t Artifact::attribute(const std::string &dialectName, const std::string &bytes) {
  attributes.push_back({dialect(dialectName), bytes});
  return attributes.size() - 1;
}

uint64_t Artifact::type(const std::string &dialectName, const std::string &bytes) {
  types.push_back({dialect(dialectName), bytes});
  return types.size() - 1;
}

std::string Artifact::bytesOf(const std::string &dialectName, const std::string &name, uint8_t parts,
                              const std::string &rest) {
  return number(operation(dialectName, name)) + static_cast<char>(parts) + number(0) + rest;
}

static std::string section(char id, const std::string &bytes) { return id + number(bytes.size()) + bytes; }

std::string Artifact::str(const std::vector<std::string> &body, uint64_t valueCount) {
  std::string region = number(1) + number(valueCount) + number(body.size() << 1);
  for (const std::string &operation : body)
    region += operation;
  // One operation with one region, which is isolated from above.
  std::string ir = number(1 << 1) + bytesOf("builtin", "module", 16, number(1 << 1 | 1)) + section(4, region);

  std::string sizes = numbers({attributes.size(), types.size()}), data;
  for (const auto *list : {&attributes, &types})
    for (const Element &element : *list) {
      sizes += numbers({element.dialect, 1, element.bytes.size() << 1 | 1});
      data += element.bytes;
    }
  std::string names = number(dialects.size());
  for (uint64_t name : dialects)
    names += number(name << 1);
  names += number(operations.size());
  for (auto [of, name] : operations)
    names += numbers({of, 1, name});
  std::string lengths, texts;
  for (const std::string &text : strings) {
    lengths = number(text.size() + 1) + lengths;
    texts += text + '\0';
  }
  return "ML\xefR" + number(version) + "test" + std::string(1, '\0') +
         section(0, number(strings.size()) + lengths + texts) + section(1, names) + section(2, data) +
         section(3, sizes) + section(4, ir);
}

} // namespace spmdc
