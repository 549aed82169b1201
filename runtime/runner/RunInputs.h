//===- RunInputs.h - the arguments of `run` ---------------------*- C++ -*-===//
//
// `--input NAME=SPEC`: a file (.npy, .npz, .safetensors) of which each process reads the bytes that its devices hold,
// or one of `zeros`, `ones`, `iota` and `normal:SEED`, or `batches:FILE.npy`: at each step other rows of the file. A
// name may be a parameter's or a struct's: then the rest of the parameter's name is the key in the archive.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/api/ArrayImpl.h"

#include <functional>
#include <string>
#include <vector>

namespace spmd {

/// Checks names and forms without reading anything; throws usage errors that list all parameters without an input.
void checkInputs(const Plan &plan, const std::vector<std::string> &specs);

/// The parameters that are fed in batches (`batches:FILE`), and their files.
std::vector<std::pair<size_t, std::string>> findBatchInputs(const Plan &plan, const std::vector<std::string> &specs);

/// What feeds each parameter, a line each: `w: ones`, `x: a file`, `y: batches of a file`. Equal on all processes of a
/// job; which files they read may differ.
std::string inputsText(const Plan &plan, const std::vector<std::string> &specs);

/// `w=FILE` of each parameter that is read from a file whole; empty for the others.
std::vector<std::string> inputFiles(const Plan &plan, const std::vector<std::string> &specs);

/// One array per parameter; none for those that are fed in batches. Throws with the parameter and the file in the
/// message, also where an archive has a checksum that the bytes do not have. `warn`: takes a line about each archive
/// that has arrays which the program does not take. Every process calls it.
std::vector<Array> makeInputs(const std::shared_ptr<Job> &job, const Plan &plan, const Mesh &mesh,
                              const std::vector<std::string> &specs,
                              const std::function<void(const std::string &)> &warn);

} // namespace spmd
