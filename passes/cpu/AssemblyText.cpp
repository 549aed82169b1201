//===- AssemblyText.cpp - assembly of several modules in one file ---------===//

#include "passes/cpu/AssemblyText.h"

#include "llvm/ADT/StringExtras.h"

namespace spmdc {
namespace {

bool isPartOfName(char c) { return llvm::isAlnum(c) || c == '_' || c == '.' || c == '@'; }

/// Returns the end of the string or comment that begins at `at`, or `at` if none does.
size_t skipVerbatim(llvm::StringRef text, size_t at) {
  if (text[at] == '#')
    return std::min(text.find('\n', at), text.size());
  if (text[at] != '"')
    return at;
  for (++at; at < text.size() && text[at] != '"'; ++at)
    at += text[at] == '\\';
  return std::min(at + 1, text.size());
}

} // namespace

std::string renameLocalLabels(llvm::StringRef assembly, llvm::StringRef prefix) {
  std::string renamed;
  renamed.reserve(assembly.size() + assembly.size() / 16);
  for (size_t at = 0; at < assembly.size();) {
    if (size_t end = skipVerbatim(assembly, at); end > at) {
      renamed += assembly.slice(at, end);
      at = end;
    } else if (assembly.substr(at).starts_with(".L") && (at == 0 || !isPartOfName(assembly[at - 1]))) {
      renamed += prefix;
      at += 2;
    } else {
      renamed += assembly[at++];
    }
  }
  return renamed;
}

} // namespace spmdc
