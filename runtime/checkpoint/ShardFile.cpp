//===- ShardFile.cpp - the shards that one process wrote ------------------===//

#include "runtime/checkpoint/ShardFile.h"
#include "runtime/io/BoxCopy.h"
#include "runtime/support/File.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace spmd {
namespace {

constexpr uint64_t kChunkBytes = uint64_t(1) << 20;

std::string checksumKey(const std::string &key) { return "crc32 per MiB of " + key; }

std::vector<uint32_t> checksumsOf(std::string_view bytes) {
  std::vector<uint32_t> checksums;
  for (uint64_t begin = 0; begin < bytes.size(); begin += kChunkBytes)
    checksums.push_back(checksum(bytes.substr(begin, kChunkBytes)));
  return checksums;
}

} // namespace

CheckpointFile writeShardFile(const std::string &folder, const std::string &name, int64_t step,
                              const std::vector<NamedArray> &pieces) {
  std::map<std::string, std::string> metadata = {{"step", std::to_string(step)}};
  for (const NamedArray &piece : pieces) {
    auto bytes = static_cast<size_t>(elementCount(piece.shape) * byteSize(piece.dtype));
    metadata[checksumKey(piece.name)] =
        nlohmann::json(checksumsOf({static_cast<const char *>(piece.data), bytes})).dump();
  }
  std::string path = folder + "/" + name;
  writeSafetensors(path, pieces, metadata, Readers::Owner);
  CheckpointFile file;
  file.name = name;
  MappedFile mapped(path);
  file.bytes = mapped.bytes().size();
  file.headerChecksum = checksum(openSafetensors(path)->getHeader());
  return file;
}

ShardFile::ShardFile(const std::string &folder, const CheckpointFile &expected) : path(folder + "/" + expected.name) {
  uint64_t bytes = MappedFile(path).bytes().size();
  if (bytes != expected.bytes)
    throw damaged("it has " + std::to_string(bytes) + " bytes and was written with " + std::to_string(expected.bytes));
  archive = openSafetensors(path);
  if (checksum(archive->getHeader()) != expected.headerChecksum)
    throw damaged("its header does not have the checksum with which it was written");
}

Error ShardFile::damaged(const std::string &problem) const { return Error("'" + path + "' is damaged: " + problem); }

ShardFile::Checked &ShardFile::find(const CheckpointArray &array, const CheckpointShard &piece) {
  std::string key = shardKey(array, piece);
  auto [entry, isNew] = pieces.try_emplace(key);
  if (!isNew)
    return entry->second;
  Checked &checked = entry->second;
  const ArrayLayout &layout = archive->getLayout(key);
  if (layout.dtype != array.dtype || layout.shape != piece.size)
    throw damaged("'" + key + "' has another type or shape than the manifest says");
  checked.bytes = archive->getBytes(key);
  auto text = archive->getMetadata().find(checksumKey(key));
  nlohmann::json list =
      text == archive->getMetadata().end() ? nlohmann::json() : nlohmann::json::parse(text->second, nullptr, false);
  uint64_t chunks = (checked.bytes.size() + kChunkBytes - 1) / kChunkBytes;
  if (!list.is_array() || list.size() != chunks ||
      !std::all_of(list.begin(), list.end(), [](const nlohmann::json &value) { return value.is_number_unsigned(); }))
    throw damaged("the checksums of '" + key + "' are missing");
  for (const nlohmann::json &value : list)
    checked.checksums.push_back(static_cast<uint32_t>(value.get<uint64_t>()));
  checked.isChecked.resize(chunks);
  return checked;
}

void ShardFile::check(Checked &piece, const std::string &key, uint64_t begin, uint64_t end) {
  for (uint64_t chunk = begin / kChunkBytes; chunk * kChunkBytes < end; ++chunk) {
    if (piece.isChecked[chunk])
      continue;
    if (checksum(piece.bytes.substr(chunk * kChunkBytes, kChunkBytes)) != piece.checksums[chunk])
      throw damaged("bytes " + std::to_string(chunk * kChunkBytes) + " to " +
                    std::to_string(std::min<uint64_t>((chunk + 1) * kChunkBytes, piece.bytes.size())) + " of '" + key +
                    "' do not have the checksum with which they were written");
    piece.isChecked[chunk] = true;
  }
}

void ShardFile::read(const CheckpointArray &array, const CheckpointShard &piece, const std::vector<int64_t> &boxStart,
                     const std::vector<int64_t> &boxSize, void *target, const std::vector<int64_t> &targetShape,
                     const std::vector<int64_t> &targetStart) {
  if (elementCount(boxSize) == 0)
    return;
  Checked &checked = find(array, piece);
  std::string key = shardKey(array, piece);
  // Copies the box row by row; a row covers the last dimensions that the box has in full size.
  auto elementBytes = static_cast<uint64_t>(byteSize(array.dtype));
  size_t rank = boxSize.size(), outer = rank;
  int64_t run = 1;
  while (outer > 0) {
    run *= boxSize[--outer];
    if (boxSize[outer] != piece.size[outer])
      break;
  }
  std::vector<int64_t> strides(rank, 1), index(boxStart);
  for (size_t d = rank; d-- > 1;)
    strides[d - 1] = strides[d] * piece.size[d];
  for (bool isDone = false; !isDone;) {
    uint64_t first = 0;
    for (size_t d = 0; d < rank; ++d)
      first += static_cast<uint64_t>(index[d] * strides[d]) * elementBytes;
    check(checked, key, first, first + static_cast<uint64_t>(run) * elementBytes);
    isDone = true;
    for (size_t d = outer; d-- > 0;) {
      if (++index[d] < boxStart[d] + boxSize[d]) {
        isDone = false;
        break;
      }
      index[d] = boxStart[d];
    }
  }
  copyBox(byteSize(array.dtype), boxSize, checked.bytes.data(), piece.size, boxStart, target, targetShape, targetStart);
}

} // namespace spmd
