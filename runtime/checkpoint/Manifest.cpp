//===- Manifest.cpp - the manifest of a checkpoint ------------------------===//

#include "runtime/checkpoint/Manifest.h"
#include "runtime/support/Error.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <set>

#include <zlib.h>

namespace spmd {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char *kFormat = "spmd checkpoint 1";

/// Returns the CRC-32 of the text without the checksum itself.
uint32_t checksumOf(Json json) {
  json.erase("checksum");
  return checksum(json.dump());
}

/// Reads fields; throws if one is missing or has another type.
class Decoder {
public:
  explicit Decoder(const std::string &path) : path(path) {}

  Error damaged(const std::string &problem) const {
    return Error("'" + path + "' is not a valid manifest of a checkpoint: " + problem);
  }

  const Json &field(const Json &object, const char *name) const {
    auto found = object.is_object() ? object.find(name) : object.end();
    if (!object.is_object() || found == object.end())
      throw damaged(std::string("'") + name + "' is missing");
    return *found;
  }

  uint64_t number(const Json &object, const char *name, uint64_t limit) const {
    const Json &value = field(object, name);
    if (!value.is_number_unsigned() || value.get<uint64_t>() > limit)
      throw damaged(std::string("'") + name + "' is not a number in range");
    return value.get<uint64_t>();
  }

  std::string text(const Json &object, const char *name) const {
    const Json &value = field(object, name);
    if (!value.is_string())
      throw damaged(std::string("'") + name + "' is not a string");
    return value.get<std::string>();
  }

  const Json &list(const Json &object, const char *name) const {
    const Json &value = field(object, name);
    if (!value.is_array())
      throw damaged(std::string("'") + name + "' is not a list");
    return value;
  }

  std::vector<int64_t> sizes(const Json &object, const char *name) const {
    std::vector<int64_t> result;
    for (const Json &size : list(object, name)) {
      if (!size.is_number_unsigned() || size.get<uint64_t>() >= uint64_t(1) << 62)
        throw damaged(std::string("'") + name + "' has an entry that is not a size");
      result.push_back(size.get<int64_t>());
    }
    return result;
  }

  /// Returns the product; throws if it overflows.
  int64_t count(const std::vector<int64_t> &sizes, const std::string &name) const {
    int64_t result = 1;
    for (int64_t size : sizes)
      if (__builtin_mul_overflow(result, size, &result))
        throw damaged("array '" + name + "' is too large");
    return result;
  }

private:
  const std::string &path;
};

bool overlap(const CheckpointShard &a, const CheckpointShard &b) {
  for (size_t d = 0; d < a.start.size(); ++d)
    if (a.start[d] >= b.start[d] + b.size[d] || b.start[d] >= a.start[d] + a.size[d])
      return false;
  return true;
}

/// Checks that the shards are inside the array, do not overlap, and together have as many elements as the array.
void checkShards(const Decoder &decoder, const CheckpointArray &array) {
  int64_t covered = 0, total = decoder.count(array.shape, array.name);
  std::vector<const CheckpointShard *> order;
  for (const CheckpointShard &piece : array.pieces) {
    if (piece.start.size() != array.shape.size() || piece.size.size() != array.shape.size())
      throw decoder.damaged("a shard of array '" + array.name + "' has another rank");
    for (size_t d = 0; d < array.shape.size(); ++d)
      if (piece.size[d] == 0 || piece.start[d] > array.shape[d] || piece.size[d] > array.shape[d] - piece.start[d])
        throw decoder.damaged("a shard of array '" + array.name + "' is outside of it");
    if (__builtin_add_overflow(covered, decoder.count(piece.size, array.name), &covered))
      throw decoder.damaged("array '" + array.name + "' is too large");
    order.push_back(&piece);
  }
  if (covered != total)
    throw decoder.damaged("the shards of array '" + array.name + "' have " + std::to_string(covered) +
                          " elements together and the array " + std::to_string(total));
  // Shards are sorted along the first dimension, so only shards in the same rows have to be compared.
  if (array.shape.empty())
    return;
  std::sort(order.begin(), order.end(),
            [](const CheckpointShard *a, const CheckpointShard *b) { return a->start[0] < b->start[0]; });
  for (size_t i = 0; i < order.size(); ++i)
    for (size_t j = i + 1; j < order.size() && order[j]->start[0] < order[i]->start[0] + order[i]->size[0]; ++j)
      if (overlap(*order[i], *order[j]))
        throw decoder.damaged("two shards of array '" + array.name + "' overlap");
}

} // namespace

uint32_t checksum(std::string_view bytes) {
  return static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef *>(bytes.data()), bytes.size()));
}

std::string shardKey(const CheckpointArray &array, const CheckpointShard &piece) {
  if (piece.size == array.shape)
    return array.name;
  std::string box;
  for (size_t d = 0; d < array.shape.size(); ++d)
    box += (d ? ", " : "") + std::to_string(piece.start[d]) + ":" + std::to_string(piece.start[d] + piece.size[d]);
  return array.name + "[" + box + "]";
}

std::string encodeManifest(const Manifest &manifest) {
  Json json = {{"format", kFormat}, {"step", manifest.step}};
  if (manifest.previous)
    json["previous"] = *manifest.previous;
  json["files"] = Json::array();
  json["arrays"] = Json::array();
  for (const CheckpointFile &file : manifest.files)
    json["files"].push_back({{"name", file.name}, {"bytes", file.bytes}, {"header_checksum", file.headerChecksum}});
  for (const CheckpointArray &array : manifest.arrays) {
    Json pieces = Json::array();
    for (const CheckpointShard &piece : array.pieces)
      pieces.push_back({{"file", manifest.files[piece.file].name},
                        {"key", shardKey(array, piece)},
                        {"start", piece.start},
                        {"size", piece.size}});
    json["arrays"].push_back(
        {{"name", array.name}, {"dtype", dtypeName(array.dtype)}, {"shape", array.shape}, {"pieces", pieces}});
  }
  json["checksum"] = checksumOf(json);
  return json.dump(1) + "\n";
}

Manifest decodeManifest(std::string_view text, const std::string &path) {
  Decoder decoder(path);
  if (text.size() > kMaxManifestBytes)
    throw decoder.damaged("it has " + std::to_string(text.size()) + " bytes");
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    throw decoder.damaged("it is not a JSON object");
  if (std::string format = decoder.text(json, "format"); format != kFormat)
    throw decoder.damaged("its format is '" + format + "' and this version reads '" + kFormat + "'");
  if (decoder.number(json, "checksum", UINT32_MAX) != checksumOf(json))
    throw decoder.damaged("its checksum does not match its content");
  Manifest manifest;
  manifest.step = static_cast<int64_t>(decoder.number(json, "step", INT64_MAX));
  if (json.contains("previous"))
    manifest.previous = static_cast<int64_t>(decoder.number(json, "previous", INT64_MAX));
  for (const Json &entry : decoder.list(json, "files")) {
    CheckpointFile file;
    file.name = decoder.text(entry, "name");
    file.bytes = decoder.number(entry, "bytes", INT64_MAX);
    file.headerChecksum = static_cast<uint32_t>(decoder.number(entry, "header_checksum", UINT32_MAX));
    if (file.name.empty() || file.name[0] == '.' || file.name.find('/') != std::string::npos)
      throw decoder.damaged("'" + file.name + "' is not the name of a file in the folder");
    manifest.files.push_back(std::move(file));
  }
  std::set<std::string> names;
  for (const Json &entry : decoder.list(json, "arrays")) {
    CheckpointArray array;
    array.name = decoder.text(entry, "name");
    array.shape = decoder.sizes(entry, "shape");
    std::optional<DType> dtype = parseDType(decoder.text(entry, "dtype"));
    if (!dtype)
      throw decoder.damaged("array '" + array.name + "' has an unknown dtype");
    array.dtype = *dtype;
    if (!names.insert(array.name).second)
      throw decoder.damaged("it has array '" + array.name + "' twice");
    for (const Json &item : decoder.list(entry, "pieces")) {
      CheckpointShard piece;
      std::string name = decoder.text(item, "file");
      auto file = std::find_if(manifest.files.begin(), manifest.files.end(),
                               [&](const CheckpointFile &candidate) { return candidate.name == name; });
      if (file == manifest.files.end())
        throw decoder.damaged("a shard of array '" + array.name + "' is in '" + name + "', which is not listed");
      piece.file = static_cast<size_t>(file - manifest.files.begin());
      piece.start = decoder.sizes(item, "start");
      piece.size = decoder.sizes(item, "size");
      array.pieces.push_back(std::move(piece));
    }
    checkShards(decoder, array);
    manifest.arrays.push_back(std::move(array));
  }
  return manifest;
}

} // namespace spmd
