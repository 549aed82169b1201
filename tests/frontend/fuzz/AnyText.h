//===- AnyText.h - what must hold of any text -------------------*- C++ -*-===//
//
// The front end takes whatever bytes it is given: it ends, and says either a module or what is wrong. The fuzzer and
// the replay of its corpus share this check.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/MLIRContext.h"

#include <string>
#include <string_view>

namespace spmdc::testing {

/// Lexes, parses, prints the tree of, checks and emits the text. Nothing where all holds, else what does not:
///   - there is a module, or there are errors, not both and not neither;
///   - no error is about the compiler itself;
///   - each error and note stands inside of its source, and has a message;
///   - all errors as one text are valid UTF-8 without control characters but the end of the line and the tab.
std::string checkAnyText(std::string_view text, mlir::MLIRContext &context);

} // namespace spmdc::testing
