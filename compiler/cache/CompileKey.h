//===- CompileKey.h - what a compiled program depends on --------*- C++ -*-===//
#pragma once

#include "compiler/Compiler.h"

#include <optional>
#include <string>

namespace spmdc {

/// A hash, in hexadecimal digits, of all that decides which artifact and which warnings Compiler::compile gives: the
/// text and the name of the program, every option, this host's CPU, the library of a CUDA toolkit, and the compiler
/// itself. Nothing where that is not known, or where more than the artifact is asked for (dumps, remarks, logs), for
/// which the passes have to run.
std::optional<std::string> compileKey(const std::string &fileName, const std::string &text,
                                      const CompileOptions &options);

} // namespace spmdc
