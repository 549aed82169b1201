//===- Safetensors.cpp - archives in the safetensors format ---------------===//

#include "runtime/io/Safetensors.h"

#include "runtime/io/MappedSource.h"
#include "runtime/support/Error.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace spmd {
namespace {

using Json = nlohmann::ordered_json;

struct TypeName {
  std::string_view name;
  DType dtype;
};
constexpr std::array<TypeName, 10> kTypeNames = {{{"F64", DType::F64},
                                                  {"F32", DType::F32},
                                                  {"BF16", DType::BF16},
                                                  {"F16", DType::F16},
                                                  {"I64", DType::I64},
                                                  {"I32", DType::I32},
                                                  {"I8", DType::I8},
                                                  {"U32", DType::U32},
                                                  {"U8", DType::U8},
                                                  {"BOOL", DType::Bool}}};

class SafetensorsArchive final : public ArrayArchive {
public:
  explicit SafetensorsArchive(const std::string &path) : file(std::make_shared<const MappedFile>(path)) {
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
    header = Json::parse(bytes.substr(8, length), nullptr, /*allow_exceptions=*/false);
    if (!header.is_object())
      throw damaged("its header is not a JSON object");
    for (const auto &[name, entry] : header.items())
      if (name != "__metadata__")
        names.push_back(name);
  }

  std::vector<std::string> getNames() const override { return names; }

  ArraySource open(const std::string &key) override {
    if (std::find(names.begin(), names.end(), key) == names.end())
      throw Error(missingKeyMessage(file->getPath(), key, names));
    const Json &entry = header[key];
    auto get = [&](const char *field) -> const Json & {
      static const Json null;
      auto it = entry.is_object() ? entry.find(field) : entry.end();
      return entry.is_object() && it != entry.end() ? *it : null;
    };
    ArrayLayout layout;
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
    for (const TypeName &known : kTypeNames)
      if (known.name == layout.dtypeText)
        layout.dtype = known.dtype;
    uint64_t begin = offsets[0].get<uint64_t>(), end = offsets[1].get<uint64_t>();
    uint64_t available = file->bytes().size() - dataBegin;
    if (begin > end || end > available)
      throw damaged("array '" + key + "' lies outside of the file");
    return ArraySource(file->getPath() + "[" + key + "]", std::move(layout),
                       std::make_unique<MappedSource>(file, dataBegin + begin), end - begin);
  }

private:
  Error damaged(const std::string &problem) const {
    return Error("'" + file->getPath() + "' is not a valid .safetensors file: " + problem + "; save or copy it again");
  }

  std::shared_ptr<const MappedFile> file;
  Json header;
  std::vector<std::string> names;
  uint64_t dataBegin = 0;
};

} // namespace

std::unique_ptr<ArrayArchive> openSafetensors(const std::string &path) {
  return std::make_unique<SafetensorsArchive>(path);
}

void writeSafetensors(const std::string &path, const std::vector<NamedArray> &arrays) {
  Json header = Json::object();
  std::vector<std::string_view> contents;
  uint64_t offset = 0;
  for (const NamedArray &array : arrays) {
    DType dtype = array.dtype;
    std::vector<int64_t> shape = array.shape;
    if (dtype == DType::Key) {
      dtype = DType::U32;
      shape.push_back(2);
    }
    auto size = static_cast<uint64_t>(byteSize(dtype));
    for (int64_t extent : shape)
      size *= static_cast<uint64_t>(extent);
    auto known =
        std::find_if(kTypeNames.begin(), kTypeNames.end(), [&](const TypeName &t) { return t.dtype == dtype; });
    header[array.name] = {{"dtype", known->name}, {"shape", shape}, {"data_offsets", {offset, offset + size}}};
    contents.emplace_back(static_cast<const char *>(array.data), size);
    offset += size;
  }
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' '); // The data begins aligned.
  std::string length(8, '\0');
  for (size_t i = 0; i < 8; ++i)
    length[i] = static_cast<char>(text.size() >> (8 * i) & 255);
  AtomicFile file(path);
  file.write(length);
  file.write(text);
  for (std::string_view content : contents)
    file.write(content);
  file.commit();
}

} // namespace spmd
