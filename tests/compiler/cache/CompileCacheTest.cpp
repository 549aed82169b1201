#include "compiler/cache/CompileCache.h"

#include "compiler/Compiler.h"
#include "runtime/artifact/ArtifactFile.h"
#include "tests/support/TemporaryFolder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sys/stat.h>

using namespace spmdc;
using spmd::test::TemporaryFolder;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

constexpr const char *kText = "mesh m(a=2)\nfn main(x: f32[4@a]) { return sin(x); }\n";
// With a warning: an array is gathered.
constexpr const char *kWarned = "mesh m(a=8)\n"
                                "fn main(x: f32[2048@a, 512], y: f32[2048, 2048@a]) { return y.T @ x; }\n";

class CompileCacheTest : public testing::Test {
protected:
  std::shared_ptr<CompileCache> open(bool isNamed = true) const {
    return std::make_shared<CompileCache>(CacheFolder(path, int64_t(1) << 30), isNamed);
  }

  /// The artifact's bytes and the warnings; whether the cache had them in `isFound`.
  std::pair<std::string, std::string> compile(const char *text, bool &isFound, CompileOptions options = {}) const {
    options.cache = open();
    Compiler compiler("p.spmd", text, options);
    std::optional<spmd::Artifact> artifact = compiler.compile();
    isFound = !compiler.cache()->foundFile().empty();
    EXPECT_EQ(isFound, compiler.times().empty()) << "No pass runs for what is there.";
    return {artifact ? encodeArtifact(*artifact) : "", compiler.warnings()};
  }

  std::string entry() const {
    std::string found;
    for (const fs::directory_entry &file : fs::directory_iterator(path))
      found = file.path();
    return found;
  }

  TemporaryFolder temporary;
  std::string path = temporary / "c";
};

TEST_F(CompileCacheTest, gives_the_bytes_and_the_warnings_of_a_compile) {
  for (const char *text : {kText, kWarned}) {
    bool isFound = true;
    auto cold = compile(text, isFound);
    EXPECT_FALSE(isFound);
    EXPECT_EQ(cold.second.empty(), text == kText);
    auto warm = compile(text, isFound);
    EXPECT_TRUE(isFound);
    EXPECT_EQ(cold, warm);
  }
}

TEST_F(CompileCacheTest, keeps_no_errors) {
  bool isFound = true;
  CompileOptions small;
  small.budget = {{"memory", 1, ""}};
  compile("fn main(x: f32[4]) { return y; }", isFound);
  EXPECT_FALSE(isFound);
  compile(kText, isFound, small);
  EXPECT_FALSE(isFound);
  EXPECT_FALSE(fs::exists(path));
}

// A damaged entry, of any kind: the program is compiled, and the entry is valid again.
TEST_F(CompileCacheTest, writes_damaged_entries_anew) {
  bool isFound = false;
  auto right = compile(kWarned, isFound);
  std::string file = entry();
  auto size = fs::file_size(file);
  std::ifstream in(file, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(in), {});
  std::vector<std::string> damaged = {"",
                                      "x",
                                      bytes.substr(0, 39),
                                      bytes.substr(0, size / 2),
                                      bytes.substr(0, size - 1),
                                      bytes + "x",
                                      std::string(size, '\0')};
  for (size_t at : {size_t(0), size_t(31), size_t(32), size_t(39), size_t(41), size - 1}) {
    damaged.push_back(bytes);
    damaged.back()[at] ^= 1;
  }
  for (const std::string &content : damaged) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << content;
    EXPECT_EQ(compile(kWarned, isFound), right);
    EXPECT_FALSE(isFound);
    EXPECT_EQ(compile(kWarned, isFound), right);
    EXPECT_TRUE(isFound);
  }
}

// One program's entry under the name of another one, as after a copying mistake.
TEST_F(CompileCacheTest, takes_no_entry_of_another_key) {
  bool isFound = false;
  auto right = compile(kText, isFound);
  std::string file = entry(), other = temporary / "other";
  fs::rename(file, other);
  compile(kWarned, isFound);
  fs::rename(entry(), file);
  EXPECT_EQ(compile(kText, isFound), right);
  EXPECT_FALSE(isFound);
}

TEST_F(CompileCacheTest, a_folder_that_cannot_be_used_is_said_where_it_was_named) {
  fs::create_directories(path);
  ASSERT_EQ(chmod(path.c_str(), 0777), 0);
  for (bool isNamed : {true, false}) {
    CompileOptions options;
    options.cache = open(isNamed);
    Compiler compiler("p.spmd", kText, options);
    EXPECT_TRUE(compiler.compile());
    EXPECT_EQ(compiler.warnings(), "");
    if (isNamed)
      EXPECT_THAT(compiler.cache()->problem(), HasSubstr("can be written by other users"));
    else
      EXPECT_EQ(compiler.cache()->problem(), "");
  }
}

TEST_F(CompileCacheTest, the_option_comes_before_the_environment) {
  auto environment = [](std::map<std::string, std::string> variables) {
    return spmd::Environment::parse([=](const char *name) {
      auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    });
  };
  auto off = environment({{"SPMD_NO_CACHE", "1"}, {"SPMD_CACHE_DIR", path}});
  EXPECT_EQ(CompileCache::open(std::nullopt, off), nullptr);
  EXPECT_NE(CompileCache::open(path, off), nullptr);
  EXPECT_NE(CompileCache::open(std::nullopt, environment({{"HOME", path}})), nullptr);
}

} // namespace
