//===- Snapshot.h - what is known of one version of a document --*- C++ -*-===//
//
// Never changes once it is made: as the analysis goes on, snapshots that know more take the place of those that know
// less.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/ProgramIndex.h"
#include "tools/spmd-lsp-server/DocumentText.h"

#include <memory>

namespace spmdc {

/// How far the analysis of a version has come.
enum class Knowledge {
  Nothing,
  Names,     ///< What names are declared and used.
  Types,     ///< What the front end made of expressions.
  Shardings, ///< How propagation lets them lie. Nothing more is to come.
};

struct Snapshot {
  uint64_t number = 0; ///< Of the text among all texts that the Analyst has got.
  int64_t version = 0; ///< As the editor counts.
  std::shared_ptr<const DocumentText> text;
  Knowledge knowledge = Knowledge::Nothing;
  std::shared_ptr<const SymbolTable> symbols = std::make_shared<SymbolTable>();
  std::shared_ptr<const ProgramIndex> index = std::make_shared<ProgramIndex>();
};

} // namespace spmdc
