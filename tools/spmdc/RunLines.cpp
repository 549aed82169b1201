//===- RunLines.cpp - the options that a program gives to `run` -----------===//

#include "tools/spmdc/RunLines.h"

#include "runtime/runner/Inputs.h"
#include "runtime/support/Error.h"
#include "tools/common/OptionNames.h"
#include "tools/common/RunCommandLine.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <string_view>

namespace spmdc {
namespace {

/// The options that a run line may hold: none of them writes a file, names a host or starts a process, so that a
/// program of another user can be run as safely as it can be compiled.
struct AllowedOption {
  std::string_view name;
  bool takesValue, isRepeatable;
};
constexpr AllowedOption kAllowed[] = {{"--input", true, true},       {"--shuffle", true, false},
                                      {"--last-batch", true, false}, {"--steps", true, false},
                                      {"--carry", true, true},       {"--print", false, false}};
constexpr const char *kAllowedNames = "--input, --shuffle, --last-batch, --steps, --carry and --print";

const AllowedOption *findAllowed(std::string_view name) {
  const auto *found = std::ranges::find(kAllowed, name, &AllowedOption::name);
  return found == std::end(kAllowed) ? nullptr : found;
}

bool isSpace(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/// The place of the first character at or behind `at` that is no space; `end` if there is none.
uint32_t skipSpaces(std::string_view text, uint32_t at, uint32_t end) {
  while (at < end && isSpace(text[at]))
    ++at;
  return at;
}

std::string folderOf(const std::string &file) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(file, unknown))
    return "";
  return std::filesystem::path(file).parent_path().string();
}

std::string inputName(std::string_view input) { return std::string(input.substr(0, input.find('='))); }

/// Whether one is the other, or the name of a struct that has the other among its fields.
bool overlap(std::string_view a, std::string_view b) {
  if (a.size() > b.size())
    std::swap(a, b);
  return b.starts_with(a) && (a.size() == b.size() || b[a.size()] == '.');
}

/// The error of the parser of `run`'s command line about one option; empty if there is none.
std::string parseAlone(const std::string &argument) {
  spmd::RunOptions scratch;
  CLI::App app;
  addRunOptions(app, scratch);
  try {
    app.parse(std::vector<std::string>{argument});
    for (const std::string &input : scratch.inputs)
      spmd::checkInputForm(input);
  } catch (const CLI::ParseError &error) {
    return error.what();
  } catch (const spmd::Error &error) {
    return error.what();
  }
  return "";
}

} // namespace

RunLines::RunLines(const std::string &file, std::string text)
    : source(diagnostics.addSource(file, std::move(text))), folder(folderOf(file)) {
  std::string_view all = source.getText();
  bool isHead = true;
  for (size_t begin = 0; begin < all.size();) {
    size_t end = std::min(all.find('\n', begin), all.size());
    uint32_t at = skipSpaces(all, static_cast<uint32_t>(begin), static_cast<uint32_t>(end));
    bool isComment = all.substr(at, 2) == "//";
    isHead &= isComment || at == end;
    if (isComment)
      readComment(at + 2, static_cast<uint32_t>(end), isHead);
    begin = end + 1;
  }
}

void RunLines::readComment(uint32_t begin, uint32_t end, bool isHead) {
  constexpr std::string_view kWord = "run:";
  std::string_view all = source.getText();
  begin = skipSpaces(all, begin, end);
  if (!all.substr(begin, end - begin).starts_with(kWord))
    return;
  uint32_t first = skipSpaces(all, begin + kWord.size(), end);
  if (isHead)
    readLine(first, end);
  else if (first < end && all[first] == '-') // Another comment may say `run:` about something else.
    diagnostics.error({&source, begin, begin + static_cast<uint32_t>(kWord.size())},
                      "a run line stands in front of the first declaration; move it to the top of the file");
}

void RunLines::readLine(uint32_t begin, uint32_t end) {
  std::string_view all = source.getText();
  auto nextWord = [&] {
    begin = skipSpaces(all, begin, end);
    uint32_t last = begin;
    while (last < end && !isSpace(all[last]))
      ++last;
    Range word{&source, begin, last};
    begin = last;
    return word;
  };
  for (Range word = nextWord(); word.begin < word.end; word = nextWord()) {
    std::string name(word.text()), value;
    size_t equals = name.find('=');
    const AllowedOption *allowed = findAllowed(std::string_view(name).substr(0, equals));
    if (equals != std::string::npos && name.starts_with("-")) {
      value = name.substr(equals + 1);
      name.resize(equals);
    } else if (allowed && allowed->takesValue && !all.substr(skipSpaces(all, begin, end)).starts_with("-")) {
      word = word.to(nextWord());
      value = word.text().substr(word.text().find_last_of(" \t") + 1);
    }
    if (allowed && allowed->takesValue && value.empty())
      diagnostics.error(word, name + ": the value is missing");
    else
      readOption(word, name, value);
  }
}

void RunLines::readOption(const Range &where, std::string name, std::string value) {
  if (!findAllowed(name)) {
    spmd::RunOptions scratch;
    CLI::App app;
    addRunOptions(app, scratch);
    const std::string remedy = std::string("; a run line holds ") + kAllowedNames;
    if (!name.starts_with("-"))
      diagnostics.error(where, "'" + name + "' is no option" + remedy);
    else if (app.get_option_no_throw(name))
      diagnostics.error(where, name + " is for the command line only" + remedy);
    else
      diagnostics.error(where, "unknown option '" + name + "'" + optionHint(app, name) + remedy);
    return;
  }
  Option option{std::move(name), std::move(value), where};
  if (std::string problem = parseAlone(option.argument()); !problem.empty()) {
    diagnostics.error(where, std::move(problem));
    return;
  }
  checkNumberOfUses(option);
  if (option.name == "--input")
    option.value = resolvePath(option.value);
  options.push_back(std::move(option));
}

void RunLines::checkNumberOfUses(const Option &option) {
  auto isSame = [&](const Option &other) {
    return other.name == option.name &&
           (!findAllowed(option.name)->isRepeatable ||
            (option.name == "--input" && inputName(other.value) == inputName(option.value)));
  };
  auto earlier = std::ranges::find_if(options, isSame);
  if (earlier == options.end())
    return;
  std::string what = option.name == "--input" ? "--input " + inputName(option.value) : option.name;
  diagnostics.error(option.where, what + " is given twice").note(earlier->where, "it is given here, too");
}

std::string RunLines::resolvePath(const std::string &input) const {
  size_t begin = input.find('=') + 1;
  constexpr std::string_view kBatches = "batches:";
  if (std::string_view(input).substr(begin).starts_with(kBatches))
    begin += kBatches.size();
  std::string value = input.substr(begin);
  bool isFile = value.ends_with(".npy") || value.ends_with(".npz") || value.ends_with(".safetensors");
  return isFile ? input.substr(0, begin) + (std::filesystem::path(folder) / value).string() : input;
}

bool RunLines::isReplaced(const Option &option, const CLI::App &command, const spmd::RunOptions &given) const {
  if (option.name == "--input")
    return std::ranges::any_of(
        given.inputs, [&](const std::string &input) { return overlap(inputName(input), inputName(option.value)); });
  auto isGiven = [&](const char *name) { return command.count(name) > 0; };
  // A call that is timed is no loop: `run` refuses both at once.
  if (option.name == "--steps" || option.name == "--carry")
    return isGiven(option.name.c_str()) || isGiven("--repeat");
  if (option.name == "--print") // Shards are another form of the same results.
    return isGiven("--print") || isGiven("--print-shards");
  return isGiven(option.name.c_str());
}

std::string RunLines::addTo(const CLI::App &command, spmd::RunOptions &given) const {
  std::vector<std::string> arguments;
  std::string text;
  uint32_t firstLine = 0, lastLine = 0;
  for (const Option &option : options) {
    if (isReplaced(option, command, given))
      continue;
    arguments.push_back(option.argument());
    text += " " + option.name + (option.value.empty() ? "" : " " + option.value);
    lastLine = option.where.start().line;
    firstLine = firstLine ? firstLine : lastLine;
  }
  if (arguments.empty())
    return "";
  std::vector<std::string> inputs = std::move(given.inputs);
  CLI::App app;
  addRunOptions(app, given);
  std::ranges::reverse(arguments); // CLI11 takes the arguments of a vector from its end.
  app.parse(std::move(arguments));
  given.inputs.insert(given.inputs.end(), inputs.begin(), inputs.end());
  return source.getName() + ":" + std::to_string(firstLine) +
         (firstLine == lastLine ? ": the run line adds" : ": the run lines add") + text;
}

} // namespace spmdc
