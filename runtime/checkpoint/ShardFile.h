//===- ShardFile.h - the shards of one process ------------------*- C++ -*-===//
//
// A .safetensors file whose metadata has a checksum for every MiB of every array. A reader detects a flipped byte
// before it uses it, and reads only the blocks that it needs.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/checkpoint/Manifest.h"
#include "runtime/io/Safetensors.h"
#include "runtime/support/Error.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace spmd {

/// Writes and syncs the file; returns its entry for the manifest. `step` is recorded in the file for human readers.
CheckpointFile writeShardFile(const std::string &folder, const std::string &name, int64_t step,
                              const std::vector<NamedArray> &pieces);

/// An open file of shards. Not thread-safe.
class ShardFile {
public:
  /// Throws an error that names the file if its size or its header differs from the manifest.
  ShardFile(const std::string &folder, const CheckpointFile &expected);

  /// Copies a box of a shard to `targetStart` of a row-major array of `targetShape`. `boxStart` counts from the shard's
  /// own first element. The checksums of the read blocks are compared first.
  void read(const CheckpointArray &array, const CheckpointShard &piece, const std::vector<int64_t> &boxStart,
            const std::vector<int64_t> &boxSize, void *target, const std::vector<int64_t> &targetShape,
            const std::vector<int64_t> &targetStart);

private:
  struct Checked {
    std::string_view bytes;
    std::vector<uint32_t> checksums;
    std::vector<bool> isChecked;
  };
  Checked &find(const CheckpointArray &array, const CheckpointShard &piece);
  void check(Checked &piece, const std::string &key, uint64_t begin, uint64_t end);
  Error damaged(const std::string &problem) const;

  std::string path;
  std::unique_ptr<SafetensorsArchive> archive;
  std::map<std::string, Checked> pieces; ///< By key; filled when a shard is first read.
};

} // namespace spmd
