//===- OperationDocs.h - what the operations of the language do -*- C++ -*-===//
//
// docs/language.md names every function; it lies inside of the binary, and what it says about a function is what an
// editor shows. Parameters are those of the table of operations, or of the prelude, whose comments are shown too.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace spmdc {

/// The text of docs/language.md.
std::string_view languagePage();

/// What a page says of a function: the signature in a row of its table of functions and the remark that goes with it,
/// or the paragraph that names it. Empty where it says nothing.
std::string pageEntry(std::string_view page, std::string_view function);

/// `fn softmax(x, axis = -1)`, for a function of the prelude or an operation; empty for other names.
std::string operationSignature(std::string_view function);

/// Signature, page and comment as Markdown; empty for other names.
std::string operationDoc(std::string_view function);

/// The names of all operations, functions of the prelude, and what makes functions of functions.
std::vector<std::string> operationNames();

/// The comment right above a declaration that begins at `offset`, which begins its line, without slashes.
std::string commentAbove(std::string_view text, size_t offset);

} // namespace spmdc
