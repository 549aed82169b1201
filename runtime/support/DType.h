//===- DType.h - element types of arrays ------------------------*- C++ -*-===//
//
// The element types of LANGUAGE.md, in their memory format: bool is one byte (0 or 1), bf16 and f16 are two bytes, a
// random key is two u32.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace spmd {

enum class DType : uint8_t { F64, F32, BF16, F16, I64, I32, I8, U32, U8, Bool, Key };

/// Bytes of one element.
int64_t byteSize(DType dtype);

/// The name the language uses: `f32`, `bool`, ...
std::string_view dtypeName(DType dtype);

/// Returns the dtype of that name, if there is one.
std::optional<DType> parseDType(std::string_view name);

bool isFloat(DType dtype);
/// Signed or unsigned integers; bool and key are neither float nor integer.
bool isInteger(DType dtype);

} // namespace spmd
