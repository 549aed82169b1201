//===- PlanJson.h - the plan as JSON ----------------------------*- C++ -*-===//
//
// The textual part of an artifact: the plan, the source lines and the compiler's version, in a fixed order of keys. The
// reader's input is untrusted: the reader accepts exactly the keys that the writer writes, checks the range of every
// number and the depth of nesting, and names the wrong key in its error. PlanVerifier.h checks the meaning of the plan.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/Plan.h"

#include <string>
#include <string_view>

namespace spmd {

/// The greatest nesting depth of if and while steps. The language allows 1,000 levels.
inline constexpr int kMaxStepNesting = 1024;

/// Returns plan, source lines and compiler version of `artifact` (not its constants and code) as JSON. Bytes that are
/// not UTF-8 (a file name in another encoding) become U+FFFD.
std::string writePlanJson(const Artifact &artifact);

/// Returns the plan without source locations. Two processes that compiled the same program in different folders get the
/// same text.
std::string writePlanJsonWithoutLocations(const Plan &plan);

/// Fills plan, sourceLines and compilerVersion of `artifact`; throws spmd::Error.
void readPlanJson(std::string_view text, Artifact &artifact);

} // namespace spmd
