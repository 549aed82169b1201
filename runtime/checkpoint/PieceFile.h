//===- PieceFile.h - the pieces that one process wrote ----------*- C++ -*-===//
//
// A .safetensors file whose metadata has a checksum for every megabyte of every array: a flipped byte is found before
// it is used, by reading no more than what is wanted.
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

/// Writes and syncs the file; returns what the manifest says of it. `step` is kept in the file, for people.
CheckpointFile writePieceFile(const std::string &folder, const std::string &name, int64_t step,
                              const std::vector<NamedArray> &pieces);

/// An open file of pieces. Not thread-safe.
class PieceFile {
public:
  /// Throws, naming the file, where its size or its header is not what the manifest says.
  PieceFile(const std::string &folder, const CheckpointFile &expected);

  /// Copies a box of a piece: `boxStart` counts from the piece's own first element, and lands at `targetStart` of a
  /// row-major array of `targetShape`. What is read is compared with its checksums first.
  void read(const CheckpointArray &array, const CheckpointPiece &piece, const std::vector<int64_t> &boxStart,
            const std::vector<int64_t> &boxSize, void *target, const std::vector<int64_t> &targetShape,
            const std::vector<int64_t> &targetStart);

private:
  struct Checked {
    std::string_view bytes;
    std::vector<uint32_t> checksums;
    std::vector<bool> isChecked;
  };
  Checked &find(const CheckpointArray &array, const CheckpointPiece &piece);
  void check(Checked &piece, const std::string &key, uint64_t begin, uint64_t end);
  Error damaged(const std::string &problem) const;

  std::string path;
  std::unique_ptr<SafetensorsArchive> archive;
  std::map<std::string, Checked> pieces; ///< By key, as they are asked for.
};

} // namespace spmd
