//===- Outputs.cpp - the results of `run` ---------------------------------===//

#include "runtime/runner/Outputs.h"

#include "runtime/artifact/PlanPrinter.h"
#include "runtime/artifact/ResultNames.h"
#include "runtime/io/BoxCopy.h"
#include "runtime/io/Npy.h"
#include "runtime/io/Npz.h"
#include "runtime/io/NumpyPrinter.h"
#include "runtime/io/Safetensors.h"
#include "runtime/support/File.h"
#include "runtime/support/OutOfMemory.h"
#include "runtime/support/Spelling.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <new>

#include <unistd.h>

namespace spmd {
namespace {

Error usage(const std::string &message) { return Error(message, Error::Kind::Usage); }

/// One `--output`: the results that are written to a file, and their keys.
struct OutputFile {
  std::string path;
  std::vector<std::pair<size_t, std::string>> results; ///< (result, key).
};

bool endsWith(const std::string &text, const char *ending) { return text.ends_with(ending); }

OutputFile parseOutput(const Plan &plan, const std::string &text) {
  size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    std::string message = "--output " + text + " is not of the form NAME=FILE";
    if (equals == std::string::npos && !plan.results.empty()) {
      const std::string &first = plan.results[0].name;
      message += "; the first result would be " + first.substr(0, first.find('.')) + "=" + text;
    }
    throw usage(message);
  }
  std::string name = text.substr(0, equals);
  OutputFile output{text.substr(equals + 1), {}};
  bool isNpy = endsWith(output.path, ".npy");
  if (!isNpy && !endsWith(output.path, ".npz") && !endsWith(output.path, ".safetensors"))
    throw usage("--output " + text + ": the file's name ends in neither .npy nor .npz nor .safetensors");
  bool isStruct = false;
  for (NamedLeaf &leaf : findLeaves(plan.results, name)) {
    output.results.push_back({leaf.index, std::move(leaf.key)});
    isStruct |= leaf.isField;
  }
  std::string known;
  std::vector<std::string> names;
  for (const ValueInfo &result : plan.results) {
    known += (known.empty() ? "" : ", ") + result.name;
    names.push_back(result.name);
  }
  if (output.results.empty())
    throw usage("--output " + name + ": the program has no result of that name; it has " +
                (known.empty() ? "none" : known) + didYouMean(name, names));
  if (isNpy && isStruct)
    throw usage("--output " + text + ": '" + name + "' is a struct; write it to a .npz or .safetensors file");
  return output;
}

/// A full value on the host of process 0; empty on the other processes.
struct WholeValue {
  bool isHere = false;
  std::vector<char> bytes;
};

WholeValue gatherHere(const Array &array) {
  WholeValue value;
  size_t size = static_cast<size_t>(array.size() * byteSize(array.dtype()));
  const ArrayImpl &impl = *array.get_impl();
  if (array.is_fully_replicated()) { // All processes have it.
    PartsRef parts = impl.getParts();
    value.isHere = impl.job->getProcess() == 0 && !parts->empty();
    if (value.isHere) {
      impl.wait();
      value.bytes.resize(size);
      impl.copyPart(parts->front(), value.bytes.data());
    }
    return value;
  }
  gatherToFirst(array, [&](const HostView &view) {
    value.isHere = true;
    const char *data = static_cast<const char *>(view.data);
    value.bytes.assign(data, data + size);
  });
  return value;
}

WholeValue gather(const Array &array) {
  try {
    return gatherHere(array);
  } catch (const std::bad_alloc &) {
    releaseMemoryReserve();
    throw Error("memory for the full value of " + array.get_impl()->describe() + ", " +
                std::to_string(array.size() * byteSize(array.dtype())) + " bytes on process 0: " + noMemoryText());
  }
}

void writeFile(const OutputFile &output, const Plan &plan, const std::vector<WholeValue> &values) {
  if (endsWith(output.path, ".npy")) {
    size_t i = output.results[0].first;
    writeNpy(output.path, plan.results[i].dtype, plan.results[i].shape, values[i].bytes.data(), plan.results[i].format);
    return;
  }
  std::vector<NamedArray> arrays;
  for (const auto &[i, key] : output.results)
    arrays.push_back(
        {key, plan.results[i].dtype, plan.results[i].shape, values[i].bytes.data(), plan.results[i].format});
  if (endsWith(output.path, ".npz"))
    writeNpz(output.path, arrays);
  else
    writeSafetensors(output.path, arrays);
}

} // namespace

void writeText(std::ostream &out, const std::string &text) {
  errno = 0;
  if (out << text << std::flush)
    return;
  int reason = errno;
  throw Error("cannot write to standard output: " +
              (reason == EBADF ? "it is closed; leave it open, or give --output" : writeProblem(reason)));
}

void checkOutputs(const Plan &plan, const std::vector<std::string> &specs) {
  for (const std::string &spec : specs)
    parseOutput(plan, spec);
}

void checkOutputFolders(const Plan &plan, const std::vector<std::string> &specs) {
  for (const std::string &spec : specs) {
    std::string path = parseOutput(plan, spec).path;
    if (std::string obstacle = writeObstacle(path); !obstacle.empty())
      throw Error("cannot write '" + path + "': " + obstacle);
  }
}

std::vector<size_t> wantedResults(const Plan &plan, const std::vector<std::string> &specs, bool all) {
  std::vector<bool> isWanted(plan.results.size(), all);
  for (const std::string &spec : specs)
    for (const auto &[i, key] : parseOutput(plan, spec).results)
      isWanted[i] = true;
  std::vector<size_t> wanted;
  for (size_t i = 0; i < isWanted.size(); ++i)
    if (isWanted[i])
      wanted.push_back(i);
  return wanted;
}

void writeResults(const std::shared_ptr<Job> &job, const Plan &plan, const std::vector<Array> &results,
                  const std::vector<std::string> &specs, bool print, std::ostream &out) {
  std::vector<OutputFile> outputs;
  for (const std::string &spec : specs)
    outputs.push_back(parseOutput(plan, spec));
  std::vector<WholeValue> values(results.size());
  for (size_t i : wantedResults(plan, specs, print))
    values[i] = gather(results[i]);
  for (const OutputFile &output : outputs)
    if (values[output.results[0].first].isHere)
      writeFile(output, plan, values);
  if (!print)
    return;
  for (size_t i = 0; i < results.size(); ++i)
    if (values[i].isHere)
      writeText(out, plan.results[i].name + ": " + typeText(plan.results[i]) + " @ " + plan.results[i].sharding.str() +
                         "\n" +
                         numpyText(plan.results[i].dtype, plan.results[i].shape, values[i].bytes.data(),
                                   plan.results[i].format) +
                         "\n");
}

void printShards(const std::shared_ptr<Job> &job, const Plan &plan, const std::vector<Array> &results,
                 std::ostream &out) {
  // A process prints after the previous one, so that the order is the same in every run.
  std::string key = "api/print-shards/" + std::to_string(job->nextSequence("print-shards")) + "/";
  int32_t process = job->getProcess();
  std::string text;
  for (size_t i = 0; i < results.size(); ++i) {
    const ArrayImpl &impl = *results[i].get_impl();
    impl.wait();
    for (PartsRef parts = impl.getParts(); const LocalPart &part : *parts) {
      std::vector<int64_t> owned = sizesOf(part.ranges);
      std::vector<char> values(static_cast<size_t>(elementCount(owned) * byteSize(impl.dtype)));
      impl.copyPart(part, values.data());
      text += "process " + std::to_string(process) + " device " + std::to_string(part.device->getId()) + " " +
              impl.name + "[" + indexText(part.ranges) + "]\n" +
              numpyText(impl.dtype, owned, values.data(), plan.results[i].format) + "\n";
    }
  }
  if (process > 0)
    job->getClient().wait(key + std::to_string(process - 1),
                          {process - 1, job->getTimeout(), "the print of shards in order"});
  writeText(out, text);
  job->getClient().set(key + std::to_string(process), "");
}

} // namespace spmd
