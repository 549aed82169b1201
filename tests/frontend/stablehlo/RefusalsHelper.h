//===- RefusalsHelper.h - messages about exported programs ------*- C++ -*-===//
#pragma once

#include "frontend/stablehlo/Import.h"

#include <string>

namespace spmdc {

/// All messages of an import; empty if it succeeds.
std::string importErrors(const std::string &text, const FrontendOptions &options = {});

/// All warnings of an import, which must succeed.
std::string importWarnings(const std::string &text);

/// A program of one function with these lines; %x is f32[8], %y is f32[8, 4], %n is i32[].
std::string program(const std::string &lines, const std::string &before = "");

} // namespace spmdc
