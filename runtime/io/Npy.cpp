//===- Npy.cpp - NumPy's array files --------------------------------------===//

#include "runtime/io/Npy.h"

#include "runtime/io/MappedSource.h"
#include "runtime/support/Error.h"
#include "runtime/support/File.h"

#include <algorithm>
#include <charconv>

namespace spmd {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);

/// NumPy's name of a type, without the byte order: a letter for its kind, and its bytes.
std::string descrOf(DType dtype) {
  const DTypeInfo &info = infoOf(dtype);
  char kind = dtype == DType::BF16               ? 'V'
              : info.kind == DTypeKind::Float    ? 'f'
              : info.kind == DTypeKind::Signed   ? 'i'
              : info.kind == DTypeKind::Unsigned ? 'u'
                                                 : 'b';
  return kind + std::to_string(info.bytes);
}

/// The same of complex numbers with parts of this type.
std::string complexDescrOf(DType part) { return "c" + std::to_string(2 * byteSize(part)); }

/// The header is a Python dictionary literal with three known keys, in any order.
class HeaderParser {
public:
  HeaderParser(std::string_view text, const std::string &name) : text(text), name(name) {}

  ArrayLayout parse() {
    ArrayLayout layout;
    bool seenDescr = false, seenOrder = false, seenShape = false;
    expect('{');
    while (!accept('}')) {
      std::string key = parseString();
      expect(':');
      if (key == "descr" && !seenDescr) {
        seenDescr = true;
        parseDescr(layout);
      } else if (key == "fortran_order" && !seenOrder) {
        seenOrder = true;
        layout.fortranOrder = parseBool();
      } else if (key == "shape" && !seenShape) {
        seenShape = true;
        layout.shape = parseShape();
      } else {
        fail("its header has the key '" + key + "'");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skipSpace();
    if (position != text.size() || !seenDescr || !seenOrder || !seenShape)
      fail("its header is not a dictionary of descr, fortran_order and shape");
    if (layout.format == ElementFormat::Complex)
      layout.shape.push_back(2);
    return layout;
  }

private:
  [[noreturn]] void fail(const std::string &problem) const {
    throw Error("'" + name + "' is not a valid .npy file: " + problem + "; save it again with numpy.save");
  }

  void skipSpace() {
    while (position < text.size() && (text[position] == ' ' || text[position] == '\n' || text[position] == '\t'))
      ++position;
  }
  bool accept(char c) {
    skipSpace();
    if (position >= text.size() || text[position] != c)
      return false;
    ++position;
    return true;
  }
  void expect(char c) {
    if (!accept(c))
      fail(std::string("its header has no '") + c + "' where one belongs");
  }
  bool acceptWord(std::string_view word) {
    skipSpace();
    if (text.substr(position, word.size()) != word)
      return false;
    position += word.size();
    return true;
  }

  std::string parseString() {
    skipSpace();
    char quote = position < text.size() ? text[position] : '\0';
    if (quote != '\'' && quote != '"')
      fail("its header has no string where one belongs");
    size_t end = text.find(quote, position + 1);
    if (end == std::string_view::npos)
      fail("a string in its header does not end");
    std::string value(text.substr(position + 1, end - position - 1));
    position = end + 1;
    return value;
  }

  bool parseBool() {
    if (acceptWord("True"))
      return true;
    if (!acceptWord("False"))
      fail("fortran_order is neither True nor False");
    return false;
  }

  std::vector<int64_t> parseShape() {
    std::vector<int64_t> shape;
    expect('(');
    while (!accept(')')) {
      skipSpace();
      int64_t size = 0;
      auto [end, error] = std::from_chars(text.data() + position, text.data() + text.size(), size);
      if (error != std::errc() || size < 0)
        fail("its shape is not a tuple of sizes");
      position = static_cast<size_t>(end - text.data());
      acceptWord("L"); // Python 2 wrote long integers this way.
      shape.push_back(size);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }

  void parseDescr(ArrayLayout &layout) {
    skipSpace();
    // A structured type: skipped here, refused by ArraySource::check.
    if (position < text.size() && text[position] == '[') {
      skipList();
      layout.dtypeText = "structured";
      return;
    }
    layout.dtypeText = parseString();
    std::string_view descr = layout.dtypeText;
    char order = descr.empty() ? '\0' : descr[0];
    if (order == '<' || order == '>' || order == '|' || order == '=')
      descr.remove_prefix(1);
    for (const DTypeInfo &known : kDTypes)
      if (known.dtype != DType::Key && descrOf(known.dtype) == descr)
        layout.dtype = known.dtype;
    for (DType part : {DType::F32, DType::F64})
      if (complexDescrOf(part) == descr) {
        layout.dtype = part;
        layout.format = ElementFormat::Complex;
      }
    if (descr == "V1" || descr == "f1") { // As ml_dtypes names its types of one byte.
      layout.dtype = DType::U8;
      layout.isUnnamed = true;
    }
    layout.byteSwapped = order == '>' && layout.dtype && byteSize(*layout.dtype) > 1;
  }

  void skipList() {
    int depth = 0;
    do {
      skipSpace();
      if (position >= text.size())
        fail("its type does not end");
      char c = text[position];
      if (c == '\'' || c == '"') {
        parseString();
        continue;
      }
      depth += (c == '[' || c == '(') - (c == ']' || c == ')');
      ++position;
    } while (depth > 0);
  }

  std::string_view text;
  const std::string &name;
  size_t position = 0;
};

} // namespace

uint64_t npyHeaderBytes(std::string_view firstBytes) {
  if (firstBytes.size() < 10 || firstBytes.substr(0, kMagic.size()) != kMagic)
    return 0;
  auto byte = [&](size_t i) { return static_cast<uint64_t>(static_cast<uint8_t>(firstBytes[i])); };
  uint64_t length = byte(8) | byte(9) << 8;
  if (byte(6) == 1)
    return 10 + length;
  if (firstBytes.size() < 12)
    return 0;
  return 12 + (length | byte(10) << 16 | byte(11) << 24);
}

NpyHeader parseNpyHeader(std::string_view bytes, const std::string &name) {
  if (bytes.substr(0, kMagic.size()) != kMagic)
    throw Error("'" + name + "' is not a .npy file: it does not begin with NumPy's magic; save it with numpy.save");
  if (bytes.size() < 12)
    throw Error("'" + name + "' is truncated: it ends within its header; save or copy it again");
  int version = static_cast<uint8_t>(bytes[6]);
  if (version < 1 || version > 3)
    throw Error("'" + name + "' has .npy version " + std::to_string(version) +
                " and versions 1 to 3 are read; save it again with numpy.save");
  uint64_t begin = version == 1 ? 10 : 12, end = npyHeaderBytes(bytes);
  if (end > kMaxNpyHeaderBytes)
    throw Error("'" + name + "' is not a valid .npy file: its header has " + std::to_string(end) + " bytes");
  if (end > bytes.size())
    throw Error("'" + name + "' is truncated: it ends within its header; save or copy it again");
  NpyHeader header;
  header.layout = HeaderParser(bytes.substr(begin, end - begin), name).parse();
  header.dataOffset = end;
  return header;
}

ArraySource openNpy(const std::string &path) {
  auto file = std::make_shared<const MappedFile>(path);
  NpyHeader header = parseNpyHeader(file->bytes(), path);
  uint64_t available = file->bytes().size() - header.dataOffset;
  return ArraySource(path, std::move(header.layout), std::make_unique<MappedSource>(file, header.dataOffset),
                     available);
}

std::string npyHeaderText(DType dtype, const std::vector<int64_t> &shape, ElementFormat format) {
  std::vector<int64_t> stored = shape;
  bool isComplex = format == ElementFormat::Complex;
  if (isComplex)
    stored.pop_back();
  if (dtype == DType::Key) {
    dtype = DType::U32;
    stored.push_back(2);
  }
  std::string descr = isComplex ? complexDescrOf(dtype) : findNarrow(format) ? "V1" : descrOf(dtype);
  descr.insert(0, byteSize(dtype) == 1 || dtype == DType::BF16 ? "|" : "<");
  std::string text = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < stored.size(); ++i)
    text += (i ? ", " : "") + std::to_string(stored[i]);
  text += stored.size() == 1 ? ",), }" : "), }";
  size_t length = text.size() + 1;
  text.append((64 - (10 + length) % 64) % 64, ' ');
  text += '\n';
  std::string bytes(kMagic);
  bytes += {'\1', '\0', static_cast<char>(text.size() & 255), static_cast<char>(text.size() >> 8)};
  return bytes + text;
}

void writeNpy(const std::string &path, DType dtype, const std::vector<int64_t> &shape, const void *data,
              ElementFormat format) {
  int64_t size = byteSize(dtype);
  for (int64_t extent : shape)
    size *= extent;
  AtomicFile file(path);
  file.write(npyHeaderText(dtype, shape, format));
  file.write({static_cast<const char *>(data), static_cast<size_t>(size)});
  file.commit();
}

} // namespace spmd
