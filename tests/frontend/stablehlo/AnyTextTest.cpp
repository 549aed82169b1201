//===- AnyTextTest.cpp - exported texts with random changes ---------------===//
//
// Any text gives a module or errors: never a crash, a hang, or an assertion. The texts are exported programs in which
// tokens are doubled, or replaced by numbers and by tokens of another program.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/Import.h"

#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>
#include <random>

using namespace spmdc;

namespace {

std::vector<std::string> readPrograms() {
  std::vector<std::filesystem::path> paths;
  for (const auto &entry : std::filesystem::directory_iterator(SPMDC_SOURCE_DIR "/tests/frontend/stablehlo/data"))
    if (entry.path().extension() == ".mlir" && entry.file_size() < 20000)
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const std::filesystem::path &path : paths) {
    std::ifstream file(path);
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return texts;
}

/// Words, numbers, and single other characters.
std::vector<std::string> tokensOf(const std::string &text) {
  std::vector<std::string> tokens;
  auto isWord = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; };
  for (size_t begin = 0, end; begin < text.size(); begin = end) {
    end = begin + 1;
    while (isWord(text[begin]) && end < text.size() && isWord(text[end]))
      ++end;
    tokens.push_back(text.substr(begin, end - begin));
  }
  return tokens;
}

/// A token that is no name of a value, a location, a function or a block. Where a name is used before it is defined in
/// a region that then fails to parse, MLIR 19's parser reads freed memory; no importer can prevent that.
size_t anyPlace(const std::vector<std::string> &tokens, std::mt19937 &random) {
  size_t at = 0;
  do
    at = 1 + random() % (tokens.size() - 1);
  while (std::string("%#@^").find(tokens[at - 1].back()) != std::string::npos ||
         std::string("%#@^:\n").find(tokens[at]) != std::string::npos);
  return at;
}

std::string changed(std::vector<std::string> tokens, const std::vector<std::string> &others, std::mt19937 &random) {
  const char *numbers[] = {"0", "1", "-1", "2", "7", "9223372036854775807", "4294967296", "true"};
  for (unsigned count = 1 + random() % 4; count > 0; --count) {
    size_t at = anyPlace(tokens, random);
    switch (random() % 4) {
    case 0:
      tokens[at] += " " + tokens[at];
      break;
    case 1:
      tokens[at] = others[anyPlace(others, random)];
      break;
    default: // Another number: these reach the checks of attributes, behind the parser.
      for (size_t tries = 0; tries < 50 && !std::isdigit(static_cast<unsigned char>(tokens[at][0])); ++tries)
        at = anyPlace(tokens, random);
      tokens[at] = numbers[random() % std::size(numbers)];
    }
  }
  std::string text;
  for (const std::string &token : tokens)
    text += token;
  return text;
}

/// Whether the text gives a module. Otherwise it gives errors.
bool isImported(const std::string &text) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  bool hasError = false;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    hasError |= diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
    return mlir::success();
  });
  Diagnostics diagnostics;
  auto module = importStablehlo(text, "f.mlir", {}, context, diagnostics);
  EXPECT_NE(module.get() != nullptr, hasError || diagnostics.hasErrors());
  return module.get() != nullptr;
}

/// Operations of all kinds with narrow numbers: the text with another element type.
TEST(AnyText, OfNarrowNumbersGivesAModuleOrErrors) {
  std::vector<std::string> programs = readPrograms();
  const std::pair<std::string, std::string> types[] = {{"f32", "f8E5M2"}, {"f32", "f8E4M3FNUZ"},  {"i32", "i4"},
                                                       {"i32", "ui2"},    {"f8E4M3FN", "f8E5M2"}, {"i4", "f8E4M3FN"}};
  unsigned imported = 0;
  for (const auto &[from, to] : types)
    for (size_t i = 0; i < programs.size(); ++i) {
      std::string text = programs[i];
      for (size_t at = 0; (at = text.find(from + ">", at)) != std::string::npos; at += to.size())
        text.replace(at, from.size(), to);
      if (text == programs[i])
        continue;
      SCOPED_TRACE(from + " as " + to + " in program " + std::to_string(i));
      imported += isImported(text);
    }
  EXPECT_GT(imported, 200u);
}

TEST(AnyText, GivesAModuleOrErrors) {
  const char *seedText = std::getenv("SPMD_SEED");
  unsigned first = seedText ? static_cast<unsigned>(std::stoul(seedText)) : 1;
  const char *countText = std::getenv("SPMD_CASES");
  unsigned count = countText ? static_cast<unsigned>(std::stoul(countText)) : 1500;
  std::vector<std::string> programs = readPrograms();
  std::vector<std::vector<std::string>> tokens;
  for (const std::string &program : programs)
    tokens.push_back(tokensOf(program));
  unsigned imported = 0;
  for (unsigned seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::string text = changed(tokens[random() % tokens.size()], tokens[random() % tokens.size()], random);
    if (seedText)
      std::ofstream(testing::TempDir() + "any-text.mlir") << text; // The last one is the one that crashed.
    imported += isImported(text);
  }
  EXPECT_GT(imported, count / 50); // Changes of names and locations leave a program.
}

} // namespace
