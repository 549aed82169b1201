//===- RollCall.h - compares the processes of a job -------------*- C++ -*-===//
#pragma once

#include "runtime/coordinator/Protocol.h"
#include "runtime/coordinator/Verdict.h"

#include <map>
#include <optional>

namespace spmd::coordinator {

/// Compares everything that must agree, in this order: build, number of processes, backend, the columns, the program's
/// digest. The verdict for the first item that differs says which processes have which value; for a value of several
/// lines it shows the first line that differs. The culprit is from the smallest group; if groups have the same size,
/// the group of process 0 counts as right. `programDetails` has, for each digest, the known items that explain a
/// difference of digests.
std::optional<Verdict> compareHellos(const std::map<int32_t, Hello> &hellos,
                                     const std::map<std::string, std::vector<JoinColumn>> &programDetails = {});

/// Returns one process for each digest of a program if nothing but the digests differs; otherwise nothing.
std::vector<int32_t> findDifferentPrograms(const std::map<int32_t, Hello> &hellos);

} // namespace spmd::coordinator
