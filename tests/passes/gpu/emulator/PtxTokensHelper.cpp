//===- PtxTokensHelper.cpp - the tokens of PTX text -----------------------===//

#include "tests/passes/gpu/emulator/PtxTokensHelper.h"

#include "llvm/ADT/StringExtras.h"

namespace spmdc {

static bool isOfWord(char c) { return llvm::isAlnum(c) || c == '_' || c == '$' || c == '%' || c == '.'; }

/// The length of the word at the begin; `::` belongs to it (`shared::cta`), a single colon ends a label.
static size_t measureWord(llvm::StringRef text) {
  size_t end = 0;
  while (end < text.size())
    if (isOfWord(text[end]))
      ++end;
    else if (text.substr(end).starts_with("::"))
      end += 2;
    else
      break;
  return end;
}

std::vector<PtxToken> splitPtx(llvm::StringRef text) {
  std::vector<PtxToken> tokens;
  int line = 1;
  auto add = [&](PtxToken::Kind kind, size_t length) {
    tokens.push_back({kind, text.take_front(length), line});
    text = text.drop_front(length);
  };
  while (!text.empty()) {
    char c = text.front();
    if (text.starts_with("//")) {
      text = text.drop_front(std::min(text.find('\n'), text.size()));
    } else if (text.starts_with("/*")) {
      size_t end = std::min(text.find("*/"), text.size());
      line += static_cast<int>(text.take_front(end).count('\n'));
      text = text.drop_front(std::min(end + 2, text.size()));
    } else if (llvm::isSpace(c)) {
      line += c == '\n';
      text = text.drop_front();
    } else if (llvm::isDigit(c)) {
      add(PtxToken::Kind::Number, measureWord(text));
    } else if (isOfWord(c)) {
      add(PtxToken::Kind::Word, measureWord(text));
    } else if (c == '"') {
      add(PtxToken::Kind::String, std::min(text.find('"', 1), text.size() - 1) + 1);
    } else {
      add(PtxToken::Kind::Mark, 1);
    }
  }
  tokens.push_back({PtxToken::Kind::End, "", line});
  return tokens;
}

} // namespace spmdc
