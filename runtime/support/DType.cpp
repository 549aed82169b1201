//===- DType.cpp - element types of arrays --------------------------------===//

#include "runtime/support/DType.h"

#include <array>
#include <cstddef>

namespace spmd {
namespace {

struct Info {
  std::string_view name;
  int64_t bytes;
};

// In the order of the enumeration.
constexpr std::array<Info, 11> kInfos = {{{"f64", 8},
                                          {"f32", 4},
                                          {"bf16", 2},
                                          {"f16", 2},
                                          {"i64", 8},
                                          {"i32", 4},
                                          {"i8", 1},
                                          {"u32", 4},
                                          {"u8", 1},
                                          {"bool", 1},
                                          {"key", 8}}};

} // namespace

int64_t byteSize(DType dtype) { return kInfos[static_cast<size_t>(dtype)].bytes; }

std::string_view dtypeName(DType dtype) { return kInfos[static_cast<size_t>(dtype)].name; }

std::optional<DType> parseDType(std::string_view name) {
  for (size_t i = 0; i < kInfos.size(); ++i)
    if (kInfos[i].name == name)
      return static_cast<DType>(i);
  return std::nullopt;
}

bool isFloat(DType dtype) { return dtype <= DType::F16; }

bool isInteger(DType dtype) { return dtype >= DType::I64 && dtype <= DType::U8; }

} // namespace spmd
