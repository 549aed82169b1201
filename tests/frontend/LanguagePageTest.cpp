//===- LanguagePageTest.cpp - docs/language.md names every function -------===//

#include "frontend/Prelude.h"
#include "frontend/builtins/Builtins.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

using namespace spmdc;

namespace {

std::string pageText() {
  std::ifstream file(SPMDC_SOURCE_DIR "/docs/language.md");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void expectNamed(const std::string &page, const std::string &name) {
  EXPECT_NE(page.find("`" + name + "("), std::string::npos) << "docs/language.md does not name " << name;
}

} // namespace

TEST(LanguagePage, NamesEveryBuiltin) {
  std::string page = pageText();
  std::vector<std::string_view> names = builtinNames();
  EXPECT_GT(names.size(), 100u);
  for (std::string_view name : names)
    expectNamed(page, std::string(name));
}

TEST(LanguagePage, NamesThePrelude) {
  std::string page = pageText(), prelude(preludeText());
  std::regex function("(^|\n)fn ([a-z0-9_]+)\\(");
  int count = 0;
  for (auto match = std::sregex_iterator(prelude.begin(), prelude.end(), function); match != std::sregex_iterator();
       ++match, ++count)
    expectNamed(page, (*match)[2]);
  EXPECT_GT(count, 10);
}
