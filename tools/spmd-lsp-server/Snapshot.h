//===- Snapshot.h - analysis results of one version of a document -*- C++ -*-===//
//
// Snapshots are immutable: each step of an analysis replaces the snapshot with one that knows more.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/editor/ProgramIndex.h"
#include "tools/spmd-lsp-server/DocumentText.h"

#include <memory>

namespace spmdc {

/// The progress of the analysis of a version.
enum class Knowledge {
  Nothing,
  Names,     ///< Declarations and uses of names.
  Types,     ///< The types of expressions.
  Shardings, ///< The shardings of expressions after propagation. The last step.
};

/// The results of an analysis so far.
struct Snapshot {
  uint64_t number = 0; ///< The text's number, counted over all texts that the Analyst has received.
  int64_t version = 0; ///< The editor's version number.
  std::shared_ptr<const DocumentText> text;
  Knowledge knowledge = Knowledge::Nothing;
  std::shared_ptr<const SymbolTable> symbols = std::make_shared<SymbolTable>();
  std::shared_ptr<const ProgramIndex> index = std::make_shared<ProgramIndex>();
};

} // namespace spmdc
