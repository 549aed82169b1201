//===- Parser.h - from tokens to the tree -----------------------*- C++ -*-===//
#pragma once

#include "frontend/syntax/Ast.h"
#include "frontend/syntax/Diagnostics.h"

#include <memory>
#include <string_view>
#include <vector>

namespace spmdc {

/// Brackets, blocks, unary operators and postfix operators may nest this deep.
constexpr unsigned maxNesting = 1000;

/// Parses the full grammar. After an error it continues with the next statement or declaration, so that one run reports
/// all errors; the tree then holds the parts without errors.
std::unique_ptr<Ast> parse(const Source &source, Diagnostics &diagnostics);

/// The names of the dtypes, `key` included.
const std::vector<std::string_view> &dtypeNames();
bool isDTypeName(std::string_view name);

} // namespace spmdc
