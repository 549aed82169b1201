//===- RollCall.h - were all processes started with the same? ---*- C++ -*-===//
#pragma once

#include "runtime/coordinator/Protocol.h"
#include "runtime/coordinator/Verdict.h"

#include <map>
#include <optional>

namespace spmd::coordinator {

/// Compares everything that must agree, in this order: build, number of processes, backend, the columns, the program's
/// digest. The verdict for the first item that differs says which processes have which value; of a value of several
/// lines the first line that differs. The culprit is from the smallest group, process 0's being taken for right where
/// groups are equal in size.
std::optional<Verdict> compareHellos(const std::map<int32_t, Hello> &hellos);

} // namespace spmd::coordinator
