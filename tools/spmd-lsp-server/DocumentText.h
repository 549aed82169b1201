//===- DocumentText.h - a text as editors address it ------------*- C++ -*-===//
//
// The protocol counts lines and UTF-16 code units from 0; the compiler counts bytes. Lines end with `\n`, `\r\n` or
// `\r`.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/sema/SymbolTable.h"

#include "mlir/Tools/lsp-server-support/Protocol.h"

#include <string>
#include <vector>

namespace spmdc {

class DocumentText {
public:
  explicit DocumentText(std::string text);

  const std::string &str() const { return text; }

  /// The byte offset of a position. A position beyond the end of its line gives that end, one beyond the last line
  /// gives the end of the text, and one in the middle of a character gives its beginning.
  uint32_t offsetAt(mlir::lsp::Position position) const;
  mlir::lsp::Position positionAt(uint32_t offset) const;
  mlir::lsp::Range rangeOf(TextSpan span) const { return {positionAt(span.begin), positionAt(span.end)}; }

  /// The text after a change: of its range, or of the complete text if it has no range.
  std::string changed(const mlir::lsp::TextDocumentContentChangeEvent &change) const;

private:
  std::string text;
  std::vector<uint32_t> lineStarts;
};

} // namespace spmdc
