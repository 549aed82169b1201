//===- PtxTokensHelper.h - the tokens of PTX text ---------------*- C++ -*-===//
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace spmdc {

struct PtxToken {
  /// Word: a name, an opcode, a directive. Number: digits as they are written. Mark: one character.
  enum class Kind { Word, Number, String, Mark, End } kind = Kind::End;
  llvm::StringRef text;
  int line = 0;
  bool is(llvm::StringRef other) const { return text == other && kind != Kind::String; }
};

/// Splits text into tokens, the last of which is End; comments and white space are left out.
std::vector<PtxToken> splitPtx(llvm::StringRef text);

} // namespace spmdc
