//===- Manifest.h - the manifest of a checkpoint ----------------*- C++ -*-===//
//
// A checkpoint is a folder: one .safetensors file for each process that wrote shards, and `manifest.json`, which
// records the file of each shard of each array. Standard tools can read every file; the manifest is only needed to
// assemble arrays whose shards were written by several devices.
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

/// A box of an array, and the file that holds it.
struct CheckpointShard {
  size_t file = 0; ///< Index into Manifest::files.
  std::vector<int64_t> start, size;
  bool operator==(const CheckpointShard &) const = default;
};

struct CheckpointArray {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::vector<CheckpointShard> pieces; ///< Disjoint boxes that together cover the array. Empty boxes are left out.
  bool operator==(const CheckpointArray &) const = default;
};

struct CheckpointFile {
  std::string name; ///< `process-00003.safetensors`, in the checkpoint's folder.
  uint64_t bytes = 0;
  uint32_t headerChecksum = 0; ///< CRC-32 of its header, which contains the checksums of its arrays.
  bool operator==(const CheckpointFile &) const = default;
};

struct Manifest {
  int64_t step = 0;
  /// The checkpoint of the folder that this one continues; none if the job started anew.
  std::optional<int64_t> previous;
  std::vector<CheckpointArray> arrays;
  std::vector<CheckpointFile> files;
  bool operator==(const Manifest &) const = default;
};

inline constexpr const char *kManifestName = "manifest.json";
/// Limit of the size of a manifest.
inline constexpr size_t kMaxManifestBytes = size_t(256) << 20;

/// Returns the name of a shard in its file: the array's name if the shard is the full array, else with the box in
/// Python's notation, `w[0:4, 8:16]`.
std::string shardKey(const CheckpointArray &array, const CheckpointShard &piece);

/// Returns indented JSON with a checksum of itself.
std::string encodeManifest(const Manifest &manifest);

/// Throws spmd::Error that names `path` if the text is not a manifest whose shards cover their arrays.
Manifest decodeManifest(std::string_view text, const std::string &path);

/// Returns the CRC-32 of zlib, PNG and Python's zlib.crc32.
uint32_t checksum(std::string_view bytes);

} // namespace spmd
