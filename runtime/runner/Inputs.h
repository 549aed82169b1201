//===- Inputs.h - the arguments of `run` ------------------------*- C++ -*-===//
//
// `--input NAME=SPEC`: a file (.npy, .npz, .safetensors) of which each process reads the bytes that its devices hold,
// or one of `zeros`, `ones`, `iota` and `normal:SEED`, or `batches:FILE.npy`: the next rows of the file at each step. A
// name may be that of a parameter or of a struct; for a struct, the rest of the parameter's name is the key in the
// archive.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/api/ArrayImpl.h"

#include <functional>
#include <string>
#include <vector>

namespace spmd {

/// Checks the form of one `NAME=SPEC`; throws a usage error.
void checkInputForm(const std::string &spec);

/// Checks names and forms without reading anything; throws usage errors that list all parameters without an input.
void checkInputs(const Plan &plan, const std::vector<std::string> &specs);

/// Returns the parameters that are fed in batches (`batches:FILE`), and their files.
std::vector<std::pair<size_t, std::string>> findBatchInputs(const Plan &plan, const std::vector<std::string> &specs);

/// Returns the kind of input of each parameter, one a line: `w: ones`, `x: a file`, `y: batches of a file`. Must be
/// equal on all processes of a job; the names of the files may differ.
std::string inputsText(const Plan &plan, const std::vector<std::string> &specs);

/// Returns `w=FILE` for each parameter that is read from a file at once; "" for the others.
std::vector<std::string> inputFiles(const Plan &plan, const std::vector<std::string> &specs);

/// Returns one array for each parameter; an empty one for those that are fed in batches. Errors name the parameter and
/// the file; a wrong checksum of an archive is one. `warn` receives a line about each archive that has arrays which the
/// program does not read. Every process calls it.
std::vector<Array> makeInputs(const std::shared_ptr<Job> &job, const Plan &plan, const Mesh &mesh,
                              const std::vector<std::string> &specs,
                              const std::function<void(const std::string &)> &warn);

} // namespace spmd
