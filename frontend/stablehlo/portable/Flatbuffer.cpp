//===- Flatbuffer.cpp - what exp.serialize() writes -----------------------===//
//
// Only a few fields of one schema are read, so FlatBuffers' library is no dependency. A table begins with its distance
// to a list of 16-bit positions of its fields; texts, lists and tables are elsewhere, at a 32-bit distance from the
// field. All distances but the first lead forward, so reading ends; each is checked against the bytes.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/portable/Flatbuffer.h"

#include "frontend/stablehlo/portable/Sections.h"

#include "llvm/Support/Endian.h"

using llvm::StringRef;

namespace spmdc::stablehlo::portable {

namespace {

/// Numbers of the fields (serialization.fbs).
enum ExportField : unsigned { InTree = 2, OutTree = 4, Platforms = 9, Module = 13, KeptArguments = 15 };
enum TreeField : unsigned { NodeKind = 0, Children = 1, ChildNames = 2 };
enum Kind : uint8_t { Leaf = 0, None = 1, Dictionary = 4 };

/// Leaves and inner nodes of a tree of arguments: a few thousand in large models. Damaged trees may have shared parts.
constexpr size_t kMaxNodes = size_t(1) << 20;
constexpr size_t kMaxPathBytes = size_t(1) << 26;
constexpr unsigned kMaxDepth = 100;

template <typename Number> std::optional<Number> numberAt(StringRef bytes, size_t at) {
  if (at > bytes.size() || bytes.size() - at < sizeof(Number))
    return std::nullopt;
  return llvm::support::endian::read<Number, llvm::endianness::little>(bytes.data() + at);
}

/// The position that a field's distance leads to.
std::optional<size_t> follow(StringRef bytes, std::optional<size_t> at) {
  std::optional<uint32_t> distance = at ? numberAt<uint32_t>(bytes, *at) : std::nullopt;
  if (!distance || *distance == 0 || *distance > bytes.size() - *at)
    return std::nullopt;
  return *at + *distance;
}

/// The position of a table's field; nullopt if it is absent.
std::optional<size_t> fieldOf(StringRef bytes, size_t table, unsigned field) {
  std::optional<int32_t> distance = numberAt<int32_t>(bytes, table);
  int64_t list = distance ? static_cast<int64_t>(table) - *distance : -1;
  if (list < 0 || list > static_cast<int64_t>(bytes.size()))
    return std::nullopt;
  auto begin = static_cast<size_t>(list);
  std::optional<uint16_t> size = numberAt<uint16_t>(bytes, begin);
  size_t entry = 4 + 2 * size_t(field);
  std::optional<uint16_t> position = size && entry + 2 <= *size ? numberAt<uint16_t>(bytes, begin + entry) : 0;
  return position && *position ? std::optional(table + *position) : std::nullopt;
}

/// A list's elements: their number and first position.
struct List {
  size_t count = 0, begin = 0;
};
std::optional<List> listOf(StringRef bytes, size_t table, unsigned field, size_t elementSize) {
  std::optional<size_t> at = follow(bytes, fieldOf(bytes, table, field));
  std::optional<uint32_t> count = at ? numberAt<uint32_t>(bytes, *at) : std::nullopt;
  if (!count || *count > (bytes.size() - *at - 4) / elementSize)
    return std::nullopt;
  return List{*count, *at + 4};
}

std::optional<StringRef> textAt(StringRef bytes, size_t element) {
  std::optional<size_t> at = follow(bytes, element);
  std::optional<uint32_t> size = at ? numberAt<uint32_t>(bytes, *at) : std::nullopt;
  if (!size || *size > bytes.size() - *at - 4)
    return std::nullopt;
  return bytes.substr(*at + 4, *size);
}

/// Adds the paths of a tree's leaves; false if the tree is damaged.
class TreeReader {
public:
  TreeReader(StringRef bytes, std::vector<std::string> &paths) : bytes(bytes), paths(paths) {}

  bool read(size_t table, const std::string &path, unsigned depth = 0) {
    if (++nodes > kMaxNodes || depth > kMaxDepth)
      return false;
    std::optional<size_t> kindAt = fieldOf(bytes, table, NodeKind);
    uint8_t kind = kindAt && *kindAt < bytes.size() ? static_cast<uint8_t>(bytes[*kindAt]) : Leaf;
    if (kind == None)
      return true;
    if (kind == Leaf) {
      paths.push_back(path);
      return true;
    }
    std::optional<List> children = listOf(bytes, table, Children, 4), names = listOf(bytes, table, ChildNames, 4);
    if (!children)
      return true; // An empty list, tuple or dictionary.
    for (size_t i = 0; i < children->count; ++i) {
      std::optional<size_t> child = follow(bytes, children->begin + 4 * i);
      std::string part = "[" + std::to_string(i) + "]";
      if (kind == Dictionary && names && i < names->count)
        if (std::optional<StringRef> name = textAt(bytes, names->begin + 4 * i))
          part = "['" + name->str() + "']";
      pathBytes += path.size() + part.size();
      if (!child || pathBytes > kMaxPathBytes || !read(*child, path + part, depth + 1))
        return false;
    }
    return true;
  }

private:
  StringRef bytes;
  std::vector<std::string> &paths;
  size_t nodes = 0, pathBytes = 0;
};

std::vector<std::string> readPaths(StringRef bytes, size_t root, unsigned field, StringRef name) {
  std::vector<std::string> paths;
  std::optional<size_t> tree = follow(bytes, fieldOf(bytes, root, field));
  if (!tree || !TreeReader(bytes, paths).read(*tree, name.str()))
    paths.clear();
  return paths;
}

/// The tree of arguments is a pair of the positional ones and those that have names.
std::string argumentPath(StringRef path) {
  if (path.consume_front("[0]"))
    return ("args" + path).str();
  path.consume_front("[1]");
  if (path.consume_front("['"))
    if (size_t end = path.find("']"); end != StringRef::npos)
      return (path.take_front(end) + path.drop_front(end + 2)).str();
  return path.str();
}

std::optional<size_t> rootOf(StringRef bytes) { return follow(bytes, 0); }

} // namespace

std::optional<size_t> findArtifact(StringRef bytes) {
  std::optional<size_t> root = rootOf(bytes);
  std::optional<size_t> module = root ? follow(bytes, fieldOf(bytes, *root, Module)) : std::nullopt;
  if (!module || !bytes.substr(std::min(*module + 4, bytes.size())).starts_with(kBytecodeMagic))
    return std::nullopt;
  return *module + 4;
}

std::optional<SerializedExport> readSerializedExport(StringRef bytes) {
  std::optional<size_t> artifact = findArtifact(bytes), root = rootOf(bytes);
  std::optional<List> list = artifact ? listOf(bytes, *root, Module, 1) : std::nullopt;
  if (!list)
    return std::nullopt;
  SerializedExport result;
  result.artifact = bytes.substr(list->begin, list->count);
  std::vector<std::string> all = readPaths(bytes, *root, InTree, "");
  if (std::optional<List> kept = listOf(bytes, *root, KeptArguments, 2))
    for (size_t i = 0; i < kept->count; ++i)
      if (uint16_t number = *numberAt<uint16_t>(bytes, kept->begin + 2 * i); number < all.size())
        result.arguments.push_back(argumentPath(all[number]));
  result.results = readPaths(bytes, *root, OutTree, "result");
  if (std::optional<List> names = listOf(bytes, *root, Platforms, 4))
    for (size_t i = 0; i < names->count; ++i)
      result.platforms.push_back(textAt(bytes, names->begin + 4 * i).value_or("").str());
  return result;
}

} // namespace spmdc::stablehlo::portable
