//===- ShardingTexts.cpp - shardings in an exported text ------------------===//

#include "frontend/stablehlo/ShardingTexts.h"
#include "frontend/stablehlo/LocationTexts.h"

#include <charconv>

namespace spmdc::stablehlo {

namespace {

/// Walks over a text, and over strings in one step.
class Scanner {
public:
  Scanner(const Source &source, size_t offset) : source(source), text(source.getText()), at(offset) {}

  bool isAtEnd() const { return at >= text.size(); }
  bool take(std::string_view word) {
    if (!text.substr(at).starts_with(word))
      return false;
    at += word.size();
    return true;
  }
  void skipSpaces() {
    while (!isAtEnd() && (text[at] == ' ' || text[at] == '\n'))
      ++at;
  }
  /// Takes one character, or all of a string.
  void skip() {
    if (text[at++] != '"')
      return;
    while (!isAtEnd() && text[at] != '"')
      at += text[at] == '\\' ? 2 : 1;
    at = std::min(at + 1, text.size());
  }
  std::optional<std::string> takeString() {
    if (isAtEnd() || text[at] != '"')
      return std::nullopt;
    size_t begin = at + 1;
    skip();
    return std::string(text.substr(begin, at - 1 - begin));
  }
  Range rangeFrom(size_t begin) const { return {&source, static_cast<uint32_t>(begin), static_cast<uint32_t>(at)}; }

  const Source &source;
  std::string_view text;
  size_t at;
};

/// `{"a", ?}p1`; nullopt for anything else.
std::optional<AnnotatedDim> takeDim(Scanner &scanner) {
  AnnotatedDim dim;
  size_t begin = scanner.at;
  dim.isOpen = false;
  if (!scanner.take("{"))
    return std::nullopt;
  while (!scanner.take("}")) {
    if (scanner.take("?"))
      dim.isOpen = true;
    else if (std::optional<std::string> axis = scanner.takeString())
      dim.axes.push_back(std::move(*axis));
    else
      return std::nullopt;
    scanner.take(", ");
  }
  if (scanner.take("p")) {
    std::string_view digits = scanner.text.substr(scanner.at);
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), dim.priority);
    if (error != std::errc())
      return std::nullopt;
    scanner.at += static_cast<size_t>(end - digits.data());
  }
  dim.whole = dim.suffix = scanner.rangeFrom(begin);
  return dim;
}

/// `<@mesh, [{"a"}, {}]...`; nullopt if the array is also unreduced, which `writePartitionSpec` cannot say.
std::optional<Annotation> takeSharding(Scanner &scanner) {
  Annotation annotation;
  size_t begin = scanner.at;
  size_t list = scanner.text.find(", [", begin);
  if (!scanner.take("<@") || list == std::string_view::npos)
    return std::nullopt;
  scanner.at = list + 3;
  while (!scanner.take("]")) {
    std::optional<AnnotatedDim> dim = takeDim(scanner);
    if (!dim)
      return std::nullopt;
    annotation.dims.push_back(std::move(*dim));
    scanner.take(", ");
  }
  annotation.range = scanner.rangeFrom(begin);
  annotation.isPartition = true;
  std::string_view rest = scanner.text.substr(scanner.at);
  bool isUnreduced = rest.substr(0, rest.find('>')).find("unreduced=") != std::string_view::npos;
  return annotation.dims.empty() || isUnreduced ? std::nullopt : std::optional(annotation);
}

/// JAX's path of the argument or result whose text begins at an offset: of its location, or of its `jax.result_info`.
std::string pathIn(const Scanner &scanner, size_t begin) {
  std::string_view text = scanner.text.substr(begin, scanner.at - begin);
  for (std::string_view word : {"jax.result_info = \"", "loc(\""})
    if (size_t found = text.find(word); found != std::string_view::npos) {
      std::string_view path = text.substr(found + word.size());
      return takeQuoted(path);
    }
  text = text.substr(0, text.find(':'));
  text.remove_prefix(std::min(text.find_first_not_of("( \n"), text.size())); // The first one begins with the list.
  constexpr std::string_view kNumbered = "%arg";
  return text.starts_with(kNumbered) ? "argument " + std::string(text.substr(kNumbered.size())) : std::string(text);
}

/// `tensor<8x16xf32>`, the type of the argument or result whose text begins at an offset, which has a sharding.
std::string typeIn(const Scanner &scanner, size_t begin) {
  size_t type = std::min(scanner.text.find("tensor<", begin), scanner.at);
  return std::string(scanner.text.substr(type, std::min(scanner.text.find(" {", type), scanner.at) - type));
}

/// Whether the argument whose text begins at an offset is the number of the platform.
bool isPlatformIndex(const Scanner &scanner, size_t begin) {
  return scanner.text.substr(begin, scanner.at - begin).find("jax.global_constant = \"_platform_index\"") !=
         std::string_view::npos;
}

/// The shardings of a list of arguments or results in parentheses.
std::vector<std::optional<Annotation>> takeList(Scanner &scanner, bool isParameter) {
  std::vector<std::optional<Annotation>> list(1);
  int depth = 0;
  size_t begin = scanner.at;
  while (!scanner.isAtEnd()) {
    char letter = scanner.text[scanner.at];
    if (scanner.take("sdy.sharding = #sdy.sharding")) {
      size_t sharding = scanner.at;
      std::optional<Annotation> annotation = takeSharding(scanner);
      if (!annotation) {
        scanner.at = sharding;
        continue;
      }
      ++depth; // The bracket that is still open.
      annotation->isSignature = true;
      annotation->isParameter = isParameter;
      list.back() = std::move(annotation);
      continue;
    }
    if (scanner.take("->"))
      continue;
    scanner.skip();
    depth += letter == '(' || letter == '{' || letter == '[' || letter == '<';
    depth -= letter == ')' || letter == '}' || letter == ']' || letter == '>';
    bool isEnd = depth == 0 || (letter == ',' && depth == 1);
    if (isEnd && isPlatformIndex(scanner, begin)) { // No argument of the module (Platforms.h).
      list.pop_back();
      if (depth == 0)
        break;
      list.emplace_back();
      begin = scanner.at;
      continue;
    }
    if (isEnd && list.back()) {
      list.back()->label = (isParameter ? "in_shardings of " : "out_shardings of ") + pathIn(scanner, begin);
      list.back()->type = typeIn(scanner, begin);
    }
    if (depth == 0)
      break;
    if (isEnd) {
      list.emplace_back();
      begin = scanner.at;
    }
  }
  return list;
}

/// The offset of the entry's list of arguments; npos if the text has none in the form of StableHLO's assembly.
size_t findEntry(std::string_view text, std::string_view entry) {
  std::string name = "@" + std::string(entry) + "(";
  for (size_t line = text.find("func.func "); line != std::string_view::npos;
       line = text.find("func.func ", line + 1)) {
    size_t end = text.find('(', line), begin = text.find(name, line);
    if (begin != std::string_view::npos && begin + name.size() - 1 == end)
      return end;
  }
  return std::string_view::npos;
}

/// The attributes in braces from here on. A copy of the scanner reads them.
std::string_view attributesAt(Scanner scanner) {
  size_t begin = scanner.at;
  for (int depth = 0; !scanner.isAtEnd();) {
    char letter = scanner.text[scanner.at];
    scanner.skip();
    depth += (letter == '{') - (letter == '}');
    if (depth == 0)
      break;
  }
  return scanner.text.substr(begin, scanner.at - begin);
}

/// The first mesh with axes; empty if there is none. JAX declares meshes without axes for values on one device.
std::string findMesh(std::string_view text) {
  constexpr std::string_view kMesh = "sdy.mesh @";
  for (size_t at = text.find(kMesh); at != std::string_view::npos; at = text.find(kMesh, at + 1)) {
    std::string_view rest = text.substr(at + kMesh.size());
    std::string_view name = rest.substr(0, rest.find(' '));
    if (rest.substr(name.size()).starts_with(" = <[\""))
      return std::string(name);
  }
  return "";
}

/// Takes `tensor<8x16xf32>` behind `tensor<`, and returns the number of its dimensions.
size_t takeShape(Scanner &scanner) {
  size_t rank = 0;
  while (!scanner.isAtEnd()) {
    size_t begin = scanner.at;
    while (!scanner.isAtEnd() && scanner.text[scanner.at] >= '0' && scanner.text[scanner.at] <= '9')
      ++scanner.at;
    if (scanner.at == begin || !scanner.take("x"))
      break;
    ++rank;
  }
  for (int depth = 1; !scanner.isAtEnd() && depth > 0; ++scanner.at)
    depth += (scanner.text[scanner.at] == '<') - (scanner.text[scanner.at] == '>');
  return rank;
}

} // namespace

ShardingTexts findShardings(const Source &source, std::string_view entry) {
  ShardingTexts texts;
  std::string_view text = source.getText();
  if (size_t begin = findEntry(text, entry); begin != std::string_view::npos) {
    Scanner scanner(source, begin);
    texts.arguments = takeList(scanner, /*isParameter=*/true);
    if (scanner.take(" -> ") && scanner.text.substr(scanner.at).starts_with("("))
      texts.results = takeList(scanner, /*isParameter=*/false);
  }
  LocationTexts locations(text);
  constexpr std::string_view kConstraint = "= sdy.sharding_constraint ";
  for (size_t begin = text.find(kConstraint); begin != std::string_view::npos;
       begin = text.find(kConstraint, begin + 1)) {
    Scanner scanner(source, std::min(text.find('<', begin), text.size()));
    texts.constraints.push_back(takeSharding(scanner));
    if (std::optional<Annotation> &constraint = texts.constraints.back()) {
      std::string place = locations.placeAt(begin), operation = locations.operationAt(begin);
      // In a mesh with axes of type Explicit, every operation has a sharding.
      bool isImplicit = !operation.empty() && operation != "sharding_constraint" && operation != "reshard";
      constraint->label = (isImplicit               ? "the sharding of " + operation
                           : operation == "reshard" ? operation
                                                    : "with_sharding_constraint") +
                          " at " + (place.empty() ? constraint->range.str() : place);
    }
  }
  return texts;
}

std::string withOpenShardings(const Source &source, std::string_view entry, const std::vector<spmd::MeshAxis> &axes) {
  std::string_view text = source.getText();
  size_t module = text.find("module"), begin = findEntry(text, entry);
  size_t body = module == std::string_view::npos ? module : text.find("{\n", module);
  std::string name = findMesh(text), declaration;
  if (begin == std::string_view::npos || body == std::string_view::npos || (name.empty() && axes.empty()))
    return std::string(text);
  if (name.empty()) {
    name = "spmdc_mesh"; // No name that JAX gives.
    for (const spmd::MeshAxis &axis : axes)
      declaration += (declaration.empty() ? "" : ", ") + ("\"" + axis.name + "\"=") + std::to_string(axis.size);
    declaration = "  sdy.mesh @" + name + " = <[" + declaration + "]>\n";
  }
  std::vector<std::pair<size_t, std::string>> insertions = {{body + 2, declaration}};
  Scanner scanner(source, begin);
  int depth = 0;
  while (!scanner.isAtEnd()) {
    if (depth == 1 && scanner.take("tensor<")) {
      std::string dims;
      for (size_t rank = takeShape(scanner); rank > 0; --rank)
        dims += dims.empty() ? "{?}" : ", {?}";
      size_t end = scanner.at;
      std::string sharding = "sdy.sharding = #sdy.sharding<@" + name + ", [" + dims + "]>";
      bool hasAttributes =
          scanner.take(" ") && text.substr(scanner.at).starts_with("{") && attributesAt(scanner) != "{}";
      // One that names a part of an axis is no annotation of ShardingTexts, but a sharding.
      bool hasSharding = hasAttributes && attributesAt(scanner).find("sdy.sharding") != std::string_view::npos;
      if (!hasSharding && !dims.empty())
        insertions.emplace_back(hasAttributes ? scanner.at + 1 : end,
                                hasAttributes ? sharding + ", " : " {" + sharding + "}");
      continue;
    }
    char letter = text[scanner.at];
    scanner.skip();
    depth += letter == '(' || letter == '{' || letter == '[' || letter == '<';
    depth -= letter == ')' || letter == '}' || letter == ']' || letter == '>';
    if (depth == 0)
      break;
  }
  std::string result;
  size_t done = 0;
  for (const auto &[at, inserted] : insertions) {
    result += std::string(text.substr(done, at - done)) + inserted;
    done = at;
  }
  return result + std::string(text.substr(done));
}

std::string writeShardyDim(const std::vector<std::string> &axes, bool isOpen, int64_t priority) {
  std::string text;
  for (const std::string &axis : axes)
    text += (text.empty() ? "\"" : ", \"") + axis + "\"";
  if (isOpen)
    text += text.empty() ? "?" : ", ?";
  return "{" + text + "}" + (priority >= 0 ? "p" + std::to_string(priority) : "");
}

std::string writePartitionSpec(const std::vector<AnnotatedDim> &dims) {
  std::string text;
  for (const AnnotatedDim &dim : dims) {
    std::string entry;
    for (const std::string &axis : dim.axes)
      entry += (entry.empty() ? "'" : ", '") + axis + "'";
    if (dim.axes.size() > 1)
      entry = "(" + entry + ")";
    else if (dim.axes.empty())
      entry = dim.isOpen ? "P.UNCONSTRAINED" : "None";
    text += (text.empty() ? "" : ", ") + entry;
  }
  return "P(" + text + ")";
}

} // namespace spmdc::stablehlo
