//===- OperationDocs.h - documentation of the language's operations -*- C++ -*-===//
//
// docs/language.md lists every function. The server contains the page, and editors show its text on a function.
// Parameters come from the table of builtins, or from the prelude, whose comments are shown, too.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace spmdc {

/// The text of docs/language.md.
std::string_view languagePage();

/// The text of a page on a function: the signature in a row of a table of functions, with its remark, or the first
/// paragraph that contains the function. Empty if there is none.
std::string pageEntry(std::string_view page, std::string_view function);

/// The signature of a prelude function or an operation, `fn softmax(x, axis = -1)`; empty for other names.
std::string operationSignature(std::string_view function);

/// Signature, text of the page, and comment of the prelude, as Markdown; empty for other names.
std::string operationDoc(std::string_view function);

/// The names of all operations, prelude functions and transforms.
std::vector<std::string> operationNames();

/// The comment directly above the declaration at `offset`, without slashes. Empty if the declaration does not begin its
/// line.
std::string commentAbove(std::string_view text, size_t offset);

} // namespace spmdc
