//===- CorpusTest.cpp - texts from the fuzzer, and larger ones ------------===//
//
// Replays tests/frontend/corpus in the normal run, and texts that are too large to keep as files.
//
//===----------------------------------------------------------------------===//

#include "tests/frontend/fuzz/AnyText.h"

#include "frontend/Frontend.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

using namespace spmdc;
using namespace spmdc::testing;

namespace {

std::string contentOf(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Corpus, holds) {
  std::set<std::filesystem::path> files; // In the same order everywhere.
  for (const auto &entry : std::filesystem::directory_iterator(SPMDC_SOURCE_DIR "/tests/frontend/corpus"))
    files.insert(entry.path());
  ASSERT_GE(files.size(), 100u);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  for (const std::filesystem::path &path : files)
    EXPECT_EQ(checkAnyText(contentOf(path), context), "") << path.filename();
}

/// The first error of a text, after its properties are checked.
std::string firstError(const std::string &text) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  EXPECT_EQ(checkAnyText(text, context), "");
  Diagnostics diagnostics;
  importProgram(text, "t.spmd", {}, context, diagnostics);
  if (!diagnostics.hasErrors())
    return "";
  const Diagnostic error = diagnostics.getErrors().front();
  LineColumn at = error.where.start();
  return std::to_string(at.line) + ":" + std::to_string(at.column) + ": " + error.message;
}

std::string times(size_t count, const std::string &text) {
  std::string result;
  for (size_t i = 0; i < count; ++i)
    result += text;
  return result;
}

// Every nesting construct, 10,000 levels deep.
TEST(Corpus, deepNesting) {
  constexpr size_t levels = 10000;
  auto in = [](const std::string &expression) { return "fn main(x: f32[4]) { return " + expression + "; }"; };
  const std::string tooDeep = "nesting is deeper than 1000 levels";
  for (const std::string &text :
       {in(times(levels, "(") + "x" + times(levels, ")")), in(times(levels, "[") + "x" + times(levels, "]")),
        in(times(levels, "-") + "x"), in(times(levels, "relu(") + "x" + times(levels, ")")),
        in("x" + times(levels, "[0]")), in("x" + times(levels, ".T")), in(times(levels, "x ** ") + "x"),
        in(times(levels, "if true { ") + "x" + times(levels, " } else { x }")),
        in(times(levels, "S { a: ") + "x" + times(levels, " }")), in("P(" + times(levels, "(") + "a"),
        "fn main(x: " + times(levels, "(") + "f32" + times(levels, ")") + ") { return x; }",
        "fn main(x: " + times(levels, "[") + "f32" + times(levels, "; 1]") + ") { return x; }",
        "fn main(x: f32) { let " + times(levels, "(") + "y" + times(levels, ")") + " = x; return x; }",
        "fn main(x: f32[" + times(levels, "(") + "1" + times(levels, ")") + "]) { return x; }"})
    EXPECT_NE(firstError(text), "") << text.substr(0, 60);
  EXPECT_EQ(firstError(in(times(levels, "(") + "x" + times(levels, ")"))), "1:1028: " + tooDeep);
}

// Each function is within the limit; inlined together, they exceed it.
TEST(Corpus, deepCalls) {
  std::string text = "fn f0(x) { return x; }\n";
  for (int i = 1; i <= 25; ++i)
    text += "fn f" + std::to_string(i) + "(x) { return " + times(900, "-") + "f" + std::to_string(i - 1) + "(x); }\n";
  std::string error = firstError(text + "fn main(x: f32) { return f25(x); }");
  EXPECT_NE(error.find("calls and expressions nest deeper than 20000 levels"), error.npos) << error;
}

TEST(Corpus, hugeFiles) {
  EXPECT_EQ(firstError(std::string(64 << 20, ' ') + " "), "1:1: the file is larger than 64 MiB");
}

// A long text without deep nesting is a valid program.
TEST(Corpus, longLines) {
  constexpr size_t tenMegabytes = 10 << 20;
  EXPECT_EQ(firstError("fn main(x: f32) { return x" + times(tenMegabytes / 4, " + 1") + "; }"),
            "1:26: with all calls inlined the program has more than 200000 operations");
  EXPECT_EQ(firstError("// " + std::string(tenMegabytes, 'a') + "\nfn main(x: f32) { return x; }"), "");
  EXPECT_EQ(firstError("fn main(x: f32) { return " + std::string(tenMegabytes, 'a') + "; }").substr(0, 18),
            "1:26: unknown name");
  EXPECT_EQ(firstError("const N = 1" + times(tenMegabytes / 4, " + 0") + "; fn main(x: f32[N]) { return x; }"), "");
}

TEST(Corpus, bytesThatAreNoText) {
  EXPECT_EQ(firstError("fn main(x: f32) { return x; }\n\xff"), "2:1: invalid UTF-8");
  EXPECT_EQ(firstError(std::string("fn main(x: f32) {\0 return x; }", 30)), "1:18: NUL byte in the text");
  EXPECT_NE(firstError(std::string(1 << 16, '\0')), "");
  EXPECT_NE(firstError(std::string(1 << 16, '\x80')), "");
}

} // namespace
