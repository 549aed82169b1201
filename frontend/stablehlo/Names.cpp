//===- Names.cpp - JAX's paths as names -----------------------------------===//

#include "frontend/stablehlo/Names.h"

#include "llvm/ADT/StringExtras.h"

namespace spmdc::stablehlo {

std::string nameOfPath(llvm::StringRef path) {
  std::string name;
  bool isNew = false; // A part of the path begins.
  for (char letter : path) {
    if (letter == '[' || letter == '.' || letter == ']' || letter == '\'' || letter == '"') {
      isNew = true;
      continue;
    }
    if (isNew && !name.empty())
      name += '.';
    isNew = false;
    name += llvm::isAlnum(letter) || letter == '_' ? letter : '_';
  }
  return name;
}

} // namespace spmdc::stablehlo
