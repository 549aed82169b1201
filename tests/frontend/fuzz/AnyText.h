//===- AnyText.h - properties of every text ---------------------*- C++ -*-===//
//
// The front end takes any bytes: it terminates, and returns either a module or errors. The fuzzer and
// the replay of its corpus share this check.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/MLIRContext.h"

#include <string>
#include <string_view>

namespace spmdc::testing {

/// Lexes, parses, prints the tree of, checks and emits the text. Returns an empty string, or the violated property:
///   - there is a module, or there are errors, not both and not neither;
///   - no error is about the compiler itself;
///   - each error and note is inside of its source, and has a message;
///   - all errors as one text are valid UTF-8 without control characters except newline and tab.
std::string checkAnyText(std::string_view text, mlir::MLIRContext &context);

} // namespace spmdc::testing
