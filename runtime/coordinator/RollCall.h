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
/// groups are equal in size. `programDetails`: by digest, what explains digests that differ, as far as it is known.
std::optional<Verdict> compareHellos(const std::map<int32_t, Hello> &hellos,
                                     const std::map<std::string, std::vector<JoinColumn>> &programDetails = {});

/// One process for each digest of a program, where nothing else differs and they do; else none.
std::vector<int32_t> findDifferentPrograms(const std::map<int32_t, Hello> &hellos);

} // namespace spmd::coordinator
