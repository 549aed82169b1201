//===- Names.cpp - JAX's paths as names -----------------------------------===//

#include "frontend/stablehlo/Names.h"

#include "frontend/syntax/Source.h"

#include "llvm/ADT/StringExtras.h"

namespace spmdc::stablehlo {

std::string nameOfPath(llvm::StringRef path) {
  std::string name;
  bool isNew = false; // A part of the path begins.
  for (size_t at = 0, size = 0; at < path.size(); at += size) {
    char letter = path[at];
    size = std::max<size_t>(utf8Length(path.substr(at)), 1);
    if (letter == '[' || letter == '.' || letter == ']' || letter == '\'' || letter == '"') {
      isNew = true;
      continue;
    }
    if (isNew && !name.empty())
      name += '.';
    isNew = false;
    bool isControl = size == 2 && letter == '\xC2' && static_cast<unsigned char>(path[at + 1]) < 0xA0;
    if (size > 1 && !isControl)
      name += path.substr(at, size);
    else
      name += llvm::isAlnum(letter) || letter == '_' ? letter : '_';
  }
  return name;
}

} // namespace spmdc::stablehlo
