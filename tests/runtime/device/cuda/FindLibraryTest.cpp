//===- FindLibraryTest.cpp - NVIDIA's libraries, by name ------------------===//

#include "runtime/device/cuda/FindLibrary.h"

#include <gmock/gmock.h>

#include <dlfcn.h>
#include <filesystem>
#include <link.h>

using namespace spmd::cuda;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

/// Returns the file of a library that is always there.
std::string findMathLibrary() {
  void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
  link_map *map = nullptr;
  EXPECT_EQ(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
  return map->l_name;
}

TEST(FindLibrary, SearchesTheFoldersOfAToolkit) {
  std::filesystem::path toolkit = std::filesystem::path(testing::TempDir()) / "find-library";
  std::filesystem::remove_all(toolkit);
  std::filesystem::create_directories(toolkit / "extras/CUPTI/lib64");
  std::filesystem::create_symlink(findMathLibrary(), toolkit / "extras/CUPTI/lib64/libspmdtest.so.12");
  const std::vector<std::string> names = {"libspmdtest.so.13", "libspmdtest.so.12"};
  const std::vector<std::string> subfolders = {"lib64", "extras/CUPTI/lib64"};
  bool isFound = false;
  auto accept = [&](void *library) -> std::string {
    isFound = dlsym(library, "cos") != nullptr;
    return "";
  };
  EXPECT_EQ(findLibrary(names, toolkit, subfolders, accept), "");
  EXPECT_TRUE(isFound);

  auto refuse = [](void *) -> std::string { return "lacks a function"; };
  std::string why = findLibrary(names, toolkit, subfolders, refuse);
  EXPECT_THAT(why, StartsWith("libspmdtest.so.13: cannot open shared object file"));
  EXPECT_THAT(why, HasSubstr("extras/CUPTI/lib64/libspmdtest.so.12 lacks a function"));
  EXPECT_THAT(findLibrary(names, "", {"lib64"}, accept), HasSubstr("/usr/local/cuda/lib64/libspmdtest.so.12: cannot"));
  std::filesystem::remove_all(toolkit);
}

} // namespace
