//===- CompileKey.h - the cache key of a compile ----------------*- C++ -*-===//
#pragma once

#include "compiler/Compiler.h"

#include <optional>
#include <string>

namespace spmdc {

/// A hash, in hexadecimal digits, of all inputs that determine the artifact and the warnings of Compiler::compile: the
/// program's text and name, every option, this host's CPU, libdevice of the CUDA toolkit, and the compiler's build.
/// Returns nullopt if one of them is unknown, or if the options ask for outputs of the passes (dumps, remarks, logs).
std::optional<std::string> compileKey(const std::string &fileName, const std::string &text,
                                      const CompileOptions &options);

} // namespace spmdc
