//===- FindLibrary.h - NVIDIA's libraries, by name --------------*- C++ -*-===//
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace spmd::cuda {

/// Opens libraries by name, then in the folders of a CUDA toolkit, until `accept` takes one, for which it returns an
/// empty text, else why it does not. The accepted library stays loaded until the process ends. Returns an empty text,
/// or one sentence that lists each place and its problem. `toolkit` is the folder of a toolkit that is searched before
/// /usr/local/cuda, or empty; `subfolders` are those of a toolkit, such as `lib64`.
std::string findLibrary(const std::vector<std::string> &names, const std::string &toolkit,
                        const std::vector<std::string> &subfolders,
                        const std::function<std::string(void *library)> &accept);

} // namespace spmd::cuda
