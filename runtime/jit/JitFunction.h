//===- JitFunction.h - a program's text as a function -----------*- C++ -*-===//
#pragma once

#include "runtime/api/FunctionImpl.h"

#include <source_location>
#include <string>
#include <vector>

namespace spmd {

/// A program that is compiled at its first call. `places`: where the lines of a traced program come from; they stand in
/// messages in place of those of the text. `argumentNames`: see ProgramOptions.
std::shared_ptr<FunctionImpl> makeJitFunction(std::shared_ptr<Job> job, std::string source, JitOptions options,
                                              std::source_location where, std::vector<std::source_location> places = {},
                                              std::vector<std::string> argumentNames = {});

/// The same, compiled now, and without the compiler's memory of it: for what is called and never looked at.
std::shared_ptr<FunctionImpl> compileProgram(std::shared_ptr<Job> job, std::string source, JitOptions options,
                                             std::source_location where, std::vector<std::source_location> places);

} // namespace spmd
