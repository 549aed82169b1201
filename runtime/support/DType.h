//===- DType.h - element types of arrays ------------------------*- C++ -*-===//
//
// The element types of LANGUAGE.md, in their memory format: bool is one byte (0 or 1), bf16 and f16 are two bytes, a
// random key is two u32. Names in files and other libraries, MLIR's types and messages derive from the table here.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace spmd {

/// Files name a type by its text (dtypeName), so a new type may be anywhere in the list.
enum class DType : uint8_t { F64, F32, BF16, F16, I64, I32, I16, I8, U64, U32, U16, U8, Bool, Key };

enum class DTypeKind : uint8_t { Float, Signed, Unsigned, Bool, Key };

struct DTypeInfo {
  DType dtype;
  DTypeKind kind;
  int64_t bytes;
  std::string_view name; ///< The name the language uses.
};

/// All types, in the order of the enumeration.
inline constexpr auto kDTypes = std::to_array<DTypeInfo>({
    {DType::F64, DTypeKind::Float, 8, "f64"},
    {DType::F32, DTypeKind::Float, 4, "f32"},
    {DType::BF16, DTypeKind::Float, 2, "bf16"},
    {DType::F16, DTypeKind::Float, 2, "f16"},
    {DType::I64, DTypeKind::Signed, 8, "i64"},
    {DType::I32, DTypeKind::Signed, 4, "i32"},
    {DType::I16, DTypeKind::Signed, 2, "i16"},
    {DType::I8, DTypeKind::Signed, 1, "i8"},
    {DType::U64, DTypeKind::Unsigned, 8, "u64"},
    {DType::U32, DTypeKind::Unsigned, 4, "u32"},
    {DType::U16, DTypeKind::Unsigned, 2, "u16"},
    {DType::U8, DTypeKind::Unsigned, 1, "u8"},
    {DType::Bool, DTypeKind::Bool, 1, "bool"},
    {DType::Key, DTypeKind::Key, 8, "key"},
});

constexpr const DTypeInfo &infoOf(DType dtype) { return kDTypes[static_cast<size_t>(dtype)]; }

/// Bytes of one element.
constexpr int64_t byteSize(DType dtype) { return infoOf(dtype).bytes; }

/// The name the language uses: `f32`, `bool`, ...
constexpr std::string_view dtypeName(DType dtype) { return infoOf(dtype).name; }

/// Returns the dtype of that name, if there is one.
std::optional<DType> parseDType(std::string_view name);

/// The names of all types in order, separated by spaces, for messages; `withKey` includes random keys.
std::string_view listDTypes(bool withKey);

constexpr bool isFloat(DType dtype) { return infoOf(dtype).kind == DTypeKind::Float; }
constexpr bool isUnsigned(DType dtype) { return infoOf(dtype).kind == DTypeKind::Unsigned; }
/// Signed or unsigned integers; bool and key are neither float nor integer.
constexpr bool isInteger(DType dtype) { return infoOf(dtype).kind == DTypeKind::Signed || isUnsigned(dtype); }

} // namespace spmd
