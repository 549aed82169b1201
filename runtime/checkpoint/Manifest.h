//===- Manifest.h - what a checkpoint consists of ---------------*- C++ -*-===//
//
// A checkpoint is a folder: one .safetensors file for each process that wrote something, and `manifest.json`, which
// says which piece of which array lies where. Every file can be read with plain tools; the manifest is needed only to
// put arrays together whose pieces were written by several devices.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/support/DType.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spmd {

/// A box of an array, and where it lies.
struct CheckpointPiece {
  size_t file = 0; ///< In Manifest::files.
  std::vector<int64_t> start, size;
  bool operator==(const CheckpointPiece &) const = default;
};

struct CheckpointArray {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::vector<CheckpointPiece> pieces; ///< Without overlap, together the whole array. Empty boxes are left out.
  bool operator==(const CheckpointArray &) const = default;
};

struct CheckpointFile {
  std::string name; ///< `process-00003.safetensors`, in the checkpoint's folder.
  uint64_t bytes = 0;
  uint32_t headerChecksum = 0; ///< CRC-32 of its header, which has the checksums of its arrays.
  bool operator==(const CheckpointFile &) const = default;
};

struct Manifest {
  int64_t step = 0;
  /// The checkpoint of the folder that this one goes on from; none where the job began anew.
  std::optional<int64_t> previous;
  std::vector<CheckpointArray> arrays;
  std::vector<CheckpointFile> files;
  bool operator==(const Manifest &) const = default;
};

inline constexpr const char *kManifestName = "manifest.json";
/// Longest manifest that is read.
inline constexpr size_t kMaxManifestBytes = size_t(256) << 20;

/// The name of a piece in its file: the array's if it is whole, else with the box as in Python, `w[0:4, 8:16]`.
std::string pieceKey(const CheckpointArray &array, const CheckpointPiece &piece);

/// Indented JSON with a checksum of itself.
std::string encodeManifest(const Manifest &manifest);

/// Throws spmd::Error, naming `path`, where the text is not a manifest whose pieces make whole arrays.
Manifest decodeManifest(std::string_view text, const std::string &path);

/// CRC-32 as in zlib, PNG and Python's zlib.crc32.
uint32_t checksum(std::string_view bytes);

} // namespace spmd
