//===- Safetensors.cpp - archives in the safetensors format ---------------===//

#include "runtime/io/Safetensors.h"

#include "runtime/io/MappedSource.h"
#include "runtime/support/Error.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <tuple>

namespace spmd {
namespace {

using Json = nlohmann::ordered_json;

/// The format's names are those of the language in upper case; random keys are stored as u32. Narrow numbers without a
/// name are stored as bytes.
std::string nameOf(DType dtype, ElementFormat format = ElementFormat::Plain) {
  if (const NarrowFormat *narrow = findNarrow(format); narrow && !narrow->safetensorsName.empty())
    return std::string(narrow->safetensorsName);
  std::string name(dtypeName(dtype));
  for (char &c : name)
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

class SafetensorsFile final : public SafetensorsArchive {
public:
  explicit SafetensorsFile(const std::string &path) : file(std::make_shared<const MappedFile>(path)) {
    std::string_view bytes = file->bytes();
    if (bytes.size() < 8)
      throw damaged("it has " + std::to_string(bytes.size()) + " bytes");
    uint64_t length = 0;
    for (size_t i = 0; i < 8; ++i)
      length |= static_cast<uint64_t>(static_cast<uint8_t>(bytes[i])) << (8 * i);
    if (length > kMaxSafetensorsHeaderBytes || length > bytes.size() - 8)
      throw damaged("its header claims " + std::to_string(length) + " bytes of the file's " +
                    std::to_string(bytes.size()));
    dataBegin = 8 + length;
    Json header = Json::parse(bytes.substr(8, length), nullptr, /*allow_exceptions=*/false);
    if (!header.is_object())
      throw damaged("its header is not a JSON object");
    for (const auto &[name, entry] : header.items())
      if (name != "__metadata__") {
        names.push_back(name);
        entries.push_back(parseEntry(name, entry));
      } else if (entry.is_object()) {
        for (const auto &[key, text] : entry.items())
          if (text.is_string())
            metadata[key] = text.get<std::string>();
      }
    checkPlaces();
  }

  std::vector<std::string> getNames() const override { return names; }

  const std::map<std::string, std::string> &getMetadata() const override { return metadata; }
  std::string_view getHeader() const override { return file->bytes().substr(0, dataBegin); }
  const ArrayLayout &getLayout(const std::string &key) const override { return find(key).layout; }
  std::string_view getBytes(const std::string &key) const override {
    const Entry &entry = find(key);
    return file->bytes().substr(dataBegin + entry.begin, entry.end - entry.begin);
  }

  ArraySource open(const std::string &key) override {
    const Entry &entry = find(key);
    ArrayLayout layout = entry.layout;
    layout.narrowsIntegers = true;
    return ArraySource(file->getPath() + "[" + key + "]", std::move(layout),
                       std::make_unique<MappedSource>(file, dataBegin + entry.begin), entry.end - entry.begin);
  }

private:
  struct Entry {
    ArrayLayout layout;
    uint64_t begin = 0, end = 0;
  };

  const Entry &find(const std::string &key) const {
    auto found = std::find(names.begin(), names.end(), key);
    if (found == names.end())
      throw Error(missingKeyMessage(file->getPath(), key, names));
    return entries[static_cast<size_t>(found - names.begin())];
  }

  Entry parseEntry(const std::string &key, const Json &entry) const {
    auto get = [&](const char *field) -> const Json & {
      static const Json null;
      auto it = entry.is_object() ? entry.find(field) : entry.end();
      return entry.is_object() && it != entry.end() ? *it : null;
    };
    Entry result;
    ArrayLayout &layout = result.layout;
    const Json &dtype = get("dtype"), &shape = get("shape"), &offsets = get("data_offsets");
    bool valid = dtype.is_string() && shape.is_array() && offsets.is_array() && offsets.size() == 2 &&
                 offsets[0].is_number_unsigned() && offsets[1].is_number_unsigned();
    if (valid)
      for (const Json &size : shape) {
        valid = valid && size.is_number_unsigned() && size.get<uint64_t>() < uint64_t(1) << 62;
        if (valid)
          layout.shape.push_back(size.get<int64_t>());
      }
    if (!valid)
      throw damaged("its entry '" + key + "' is malformed");
    layout.dtypeText = dtype.get<std::string>();
    for (const DTypeInfo &known : kDTypes)
      if (known.dtype != DType::Key && nameOf(known.dtype) == layout.dtypeText)
        layout.dtype = known.dtype;
    for (const NarrowFormat &narrow : kNarrowFormats)
      if (narrow.safetensorsName == layout.dtypeText) {
        layout.dtype = narrow.storage;
        layout.format = narrow.format;
      }
    result.begin = offsets[0].get<uint64_t>();
    result.end = offsets[1].get<uint64_t>();
    uint64_t available = file->bytes().size() - dataBegin;
    if (result.begin > result.end || result.end > available)
      throw damaged("array '" + key + "' is outside of the file, at bytes " + std::to_string(result.begin) + " to " +
                    std::to_string(result.end) + " of " + std::to_string(available));
    // The size of a type that the language does not have is unknown; a use of the array is an error anyway.
    if (layout.dtype) {
      uint64_t size = static_cast<uint64_t>(byteSize(*layout.dtype));
      bool overflows = false;
      for (int64_t extent : layout.shape)
        overflows |= __builtin_mul_overflow(size, static_cast<uint64_t>(extent), &size);
      if (overflows || size != result.end - result.begin)
        throw damaged("array '" + key + "' has " + std::to_string(result.end - result.begin) +
                      " bytes, which is not what its type and shape need");
    }
    return result;
  }

  /// Checks that the arrays are consecutive, with no bytes between or after them.
  void checkPlaces() const {
    std::vector<size_t> order(entries.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::tuple(entries[a].begin, entries[a].end, a) < std::tuple(entries[b].begin, entries[b].end, b);
    });
    uint64_t end = 0;
    for (size_t i : order) {
      if (entries[i].begin != end)
        throw damaged("array '" + names[i] + "' begins at byte " + std::to_string(entries[i].begin) +
                      (entries[i].begin < end ? ", inside of another" : ", after a gap"));
      end = entries[i].end;
    }
    uint64_t available = file->bytes().size() - dataBegin;
    if (end != available)
      throw damaged("its arrays have " + std::to_string(end) + " bytes together and the file holds " +
                    std::to_string(available));
  }

  Error damaged(const std::string &problem) const {
    return Error("'" + file->getPath() + "' is not a valid .safetensors file: " + problem + "; save or copy it again");
  }

  std::shared_ptr<const MappedFile> file;
  std::vector<std::string> names;
  std::vector<Entry> entries; ///< One for each name.
  std::map<std::string, std::string> metadata;
  uint64_t dataBegin = 0;
};

} // namespace

std::unique_ptr<SafetensorsArchive> openSafetensors(const std::string &path) {
  return std::make_unique<SafetensorsFile>(path);
}

void writeSafetensors(const std::string &path, const std::vector<NamedArray> &arrays,
                      const std::map<std::string, std::string> &metadata, Readers readers) {
  auto elementBytes = [&](size_t i) { return arrays[i].dtype == DType::Key ? 4 : byteSize(arrays[i].dtype); };
  std::vector<size_t> order(arrays.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return std::pair(-elementBytes(a), a) < std::pair(-elementBytes(b), b); });
  Json header = Json::object();
  if (!metadata.empty())
    header["__metadata__"] = metadata;
  for (const NamedArray &array : arrays)
    header[array.name] = nullptr;
  std::vector<std::string_view> contents;
  uint64_t offset = 0;
  for (size_t i : order) {
    const NamedArray &array = arrays[i];
    DType dtype = array.dtype;
    std::vector<int64_t> shape = array.shape;
    if (dtype == DType::Key) {
      dtype = DType::U32;
      shape.push_back(2);
    }
    auto size = static_cast<uint64_t>(byteSize(dtype));
    for (int64_t extent : shape)
      size *= static_cast<uint64_t>(extent);
    header[array.name] = {
        {"dtype", nameOf(dtype, array.format)}, {"shape", shape}, {"data_offsets", {offset, offset + size}}};
    contents.emplace_back(static_cast<const char *>(array.data), size);
    offset += size;
  }
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' '); // Padding, so that the data is aligned.
  std::string length(8, '\0');
  for (size_t i = 0; i < 8; ++i)
    length[i] = static_cast<char>(text.size() >> (8 * i) & 255);
  AtomicFile file(path, readers);
  file.write(length);
  file.write(text);
  for (std::string_view content : contents)
    file.write(content);
  file.commit();
}

} // namespace spmd
