//===- OtherSources.cpp - texts that a program's locations name -----------===//

#include "compiler/OtherSources.h"

#include <filesystem>
#include <fstream>
#include <iterator>

namespace spmdc {

const Source *OtherSources::find(const std::string &file) {
  auto [known, isNew] = sources.try_emplace(file);
  std::error_code error;
  if (!isNew || !std::filesystem::is_regular_file(file, error) ||
      std::filesystem::file_size(file, error) > Source::maxBytes || error)
    return known->second.get();
  std::ifstream in(file, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(in), {});
  if (in)
    known->second = std::make_unique<Source>(file, std::move(text));
  return known->second.get();
}

std::string_view OtherSources::lineOf(const std::string &location) {
  size_t column = location.rfind(':');
  size_t line = column == std::string::npos || column == 0 ? std::string::npos : location.rfind(':', column - 1);
  const Source *source = line == std::string::npos ? nullptr : find(location.substr(0, line));
  return source ? source->lineOf(location) : std::string_view();
}

} // namespace spmdc
