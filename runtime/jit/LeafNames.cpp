//===- LeafNames.cpp - names of the arrays of arguments -------------------===//

#include "runtime/jit/LeafNames.h"

#include <charconv>

namespace spmd {
namespace {

/// Reads tree structures: `*` is an array, `(a, b)` a tuple or a struct, `[a, b]` a sequence, `{1:w: a, 1:b: b}` a map,
/// in which each key follows its length.
class Reader {
public:
  explicit Reader(std::string_view text) : text(text) {}

  void readTree(const std::string &path) {
    char kind = take();
    if (kind == '*') {
      names.push_back(path);
      return;
    }
    char end = kind == '(' ? ')' : kind == '[' ? ']' : '}';
    for (size_t i = 0; !text.empty() && text.front() != end; ++i) {
      skip(", ");
      readTree(path + "[" + (kind == '{' ? "'" + takeKey() + "'" : std::to_string(i)) + "]");
    }
    take();
  }
  void skip(std::string_view what) {
    if (text.starts_with(what))
      text.remove_prefix(what.size());
  }

  std::vector<std::string> names;

private:
  char take() {
    char first = text.empty() ? '*' : text.front();
    text.remove_prefix(text.empty() ? 0 : 1);
    return first;
  }
  std::string takeKey() {
    size_t length = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    skip(":");
    std::string key(text.substr(0, length));
    text.remove_prefix(key.size());
    skip(": ");
    return key;
  }

  std::string_view text;
};

} // namespace

std::vector<std::string> leafNames(std::string_view structure, size_t arguments) {
  Reader reader(structure);
  for (size_t i = 0; i < arguments; ++i) {
    reader.readTree("argument " + std::to_string(i));
    reader.skip(", ");
  }
  return std::move(reader.names);
}

} // namespace spmd
