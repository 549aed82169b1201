//===- Diagnostics.cpp - errors of a program ------------------------------===//

#include "frontend/syntax/Diagnostics.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace spmdc {

namespace {

/// Characters of a line that are shown around the caret; the rest of a long line is left out.
constexpr size_t shownBefore = 80;
constexpr size_t shownAfter = 80;
constexpr std::string_view replacementCharacter = "\xEF\xBF\xBD";

/// The characters of a line, as a terminal may show them: invalid UTF-8 and control characters are replaced.
std::vector<std::string_view> printableCharacters(std::string_view text) {
  std::vector<std::string_view> characters;
  for (size_t i = 0; i < text.size();) {
    size_t length = utf8Length(text.substr(i));
    unsigned char first = text[i];
    bool isPrintable = length != 0 && (first >= 0x20 || first == '\t') && first != 0x7F;
    characters.push_back(isPrintable ? text.substr(i, length) : replacementCharacter);
    i += std::max<size_t>(length, 1);
  }
  return characters;
}

std::string printable(std::string_view text) {
  std::string result;
  for (std::string_view character : printableCharacters(text))
    result += character;
  return result;
}

/// Appends the source line and, under it, a caret and tildes for the part of the range in that line.
void appendExcerpt(std::string &out, const Range &where) {
  std::string_view line = where.source->lineAt(where.begin);
  size_t lineBegin = line.data() - where.source->getText().data();
  size_t caret = std::min<size_t>(where.begin - lineBegin, line.size());
  size_t end = std::min<size_t>(std::max<size_t>(where.end, where.begin) - lineBegin, line.size());

  // Four bytes hold any character, so this is enough text on either side.
  size_t first = caret > 4 * shownBefore ? caret - 4 * shownBefore : 0;
  while (first > 0 && first < caret && (static_cast<unsigned char>(line[first]) & 0xC0) == 0x80)
    ++first;
  std::vector<std::string_view> before = printableCharacters(line.substr(first, caret - first));
  std::vector<std::string_view> after = printableCharacters(line.substr(caret, 4 * shownAfter));
  size_t marked = printableCharacters(line.substr(caret, std::min(end - std::min(caret, end), 4 * shownAfter))).size();

  bool cutLeft = first > 0 || before.size() > shownBefore;
  if (before.size() > shownBefore)
    before.erase(before.begin(), before.end() - shownBefore);
  bool cutRight = caret + 4 * shownAfter < line.size() || after.size() > shownAfter;
  if (after.size() > shownAfter)
    after.resize(shownAfter);

  std::string caretLine;
  if (cutLeft) {
    out += "...";
    caretLine += "   ";
  }
  for (std::string_view character : before) {
    out += character;
    caretLine += character == "\t" ? '\t' : ' ';
  }
  for (std::string_view character : after)
    out += character;
  if (cutRight)
    out += "...";
  caretLine += '^';
  if (size_t tail = std::min(marked, after.size()); tail > 1)
    caretLine.append(tail - 1, '~');
  out += '\n';
  out += caretLine;
  out += '\n';
}

void appendMessage(std::string &out, const Range &where, std::string_view severity, std::string_view message) {
  out += where.str();
  out += ": ";
  out += severity;
  out += ": ";
  out += message;
  out += '\n';
  appendExcerpt(out, where);
}

} // namespace

const Source &Diagnostics::addSource(std::string name, std::string text) {
  return *sources.emplace_back(std::make_unique<Source>(std::move(name), std::move(text)));
}

Diagnostic &Diagnostic::note(Range where, std::string_view message) {
  notes.push_back({where, printable(message)});
  return *this;
}

Diagnostic &Diagnostics::error(Range where, std::string message) {
  message = printable(message);
  for (const Diagnostic &known : errors)
    if (known.where.source == where.source && known.where.begin == where.begin && known.message == message)
      return lastIsDropped = true, dropped = {};
  lastIsDropped = errors.size() == maxErrors;
  if (lastIsDropped) {
    ++droppedCount;
    return dropped = {};
  }
  return errors.emplace_back(Diagnostic{where, std::move(message), {}});
}

bool Diagnostics::areInOptions() const {
  return std::all_of(errors.begin(), errors.end(),
                     [](const Diagnostic &error) { return error.where.source->getName().starts_with("--"); });
}

std::vector<Diagnostic> Diagnostics::getErrors() const {
  auto orderOf = [&](const Source *source) {
    return std::find_if(sources.begin(), sources.end(), [&](auto &owned) { return owned.get() == source; }) -
           sources.begin();
  };
  std::vector<size_t> order(errors.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    auto key = [&](size_t i) { return std::tuple(orderOf(errors[i].where.source), errors[i].where.begin, i); };
    return key(a) < key(b);
  });
  std::vector<Diagnostic> sorted;
  for (size_t i : order)
    sorted.push_back(errors[i]);
  return sorted;
}

std::string Diagnostics::str() const {
  std::string out;
  for (const Diagnostic &error : getErrors()) {
    appendMessage(out, error.where, severity, error.message);
    for (const DiagnosticNote &note : error.notes)
      appendMessage(out, note.where, "note", note.message);
  }
  if (droppedCount > 0)
    out += std::to_string(droppedCount) + " more " + severity + "s are not shown\n";
  return out;
}

} // namespace spmdc
