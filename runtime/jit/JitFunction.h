//===- JitFunction.h - a program's text as a function -----------*- C++ -*-===//
#pragma once

#include "runtime/api/FunctionImpl.h"

#include <source_location>
#include <string>
#include <vector>

namespace spmd {

/// Creates a function of a program that is compiled at its first call. `places`: the C++ places of the lines of a
/// traced program; messages show them instead of places in the text. `argumentNames`: see ProgramOptions.
std::shared_ptr<FunctionImpl> makeJitFunction(std::shared_ptr<Job> job, std::string source, JitOptions options,
                                              std::source_location where, std::vector<std::source_location> places = {},
                                              std::vector<std::string> argumentNames = {});

/// The same, but compiled now, and without a compiler for later queries: for programs that are only called.
std::shared_ptr<FunctionImpl> compileProgram(std::shared_ptr<Job> job, std::string source, JitOptions options,
                                             std::source_location where, std::vector<std::source_location> places);

} // namespace spmd
