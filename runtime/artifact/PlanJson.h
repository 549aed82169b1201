//===- PlanJson.h - the plan as JSON ----------------------------*- C++ -*-===//
//
// The textual half of an artifact: the plan, the source lines and the compiler's version, in one fixed order of keys.
// The reader takes text from outside: it accepts exactly the keys that the writer writes, checks every number's range
// and every nesting's depth, and says in its error which key is wrong. It does not check what the plan means: see
// PlanVerifier.h.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/Plan.h"

#include <string>
#include <string_view>

namespace spmd {

/// If and while steps may be nested this deep. The language itself stops at 1,000 levels.
inline constexpr int kMaxStepNesting = 1024;

/// Plan, source lines and compiler version of `artifact` (not its constants and code). Text that is not UTF-8 (a file
/// name in another encoding) is written with U+FFFD in the place of its wrong bytes.
std::string writePlanJson(const Artifact &artifact);

/// What a process executes and nothing else: the plan without source locations, so that two processes that compiled
/// the same program from different folders agree.
std::string writePlanJsonWithoutLocations(const Plan &plan);

/// Fills plan, sourceLines and compilerVersion of `artifact`; throws spmd::Error.
void readPlanJson(std::string_view text, Artifact &artifact);

} // namespace spmd
