//===- RestoreCheckpoint.cpp - reading the arrays of a checkpoint ---------===//

#include "runtime/api/Checkpoint.h"
#include "runtime/api/Disagreement.h"
#include "runtime/api/Runtime.h"
#include "runtime/artifact/PlanPrinter.h"
#include "runtime/artifact/Sha256.h"
#include "runtime/checkpoint/ShardFile.h"
#include "runtime/coordinator/Describe.h"
#include "runtime/io/BoxCopy.h"
#include "runtime/support/NameList.h"

#include <algorithm>
#include <map>

namespace spmd {
namespace {

/// Reads one checkpoint; opens a file when the first shard of it is needed.
class Reader {
public:
  Reader(const std::string &directory, int64_t step)
      : folder(checkpointPath(directory, step)), manifest(readManifest(directory, step)), files(manifest.files.size()) {
  }

  /// Returns a hash that distinguishes this checkpoint from all others: the manifest has the checksums of the files'
  /// headers, and the headers have those of the data.
  std::string getIdentity() const { return toHex(sha256({encodeManifest(manifest)})); }

  /// Returns a wanted array. If it is missing or has another type, that is an error of the caller and not damage: to
  /// try an older checkpoint would hide it.
  const CheckpointArray &find(const WantedArray &wanted) const {
    std::string known;
    for (const CheckpointArray &array : manifest.arrays) {
      if (array.name == wanted.name)
        return check(array, wanted);
      known += (known.empty() ? "" : ", ") + array.name;
    }
    throw Error("the checkpoint '" + folder + "' has no array '" + wanted.name + "'; it has " +
                    (known.empty() ? "none" : known),
                Error::Kind::Usage);
  }

  /// Throws an error that names the arrays of the checkpoint that are not wanted, if there are any.
  void refuseUnwanted(const std::vector<WantedArray> &wanted) const {
    std::vector<std::string> names;
    for (const CheckpointArray &array : manifest.arrays)
      if (std::none_of(wanted.begin(), wanted.end(), [&](const WantedArray &one) { return one.name == array.name; }))
        names.push_back(array.name);
    // Enough to recognize them: a struct may have thousands of leaves.
    constexpr size_t shownNames = 10;
    if (!names.empty())
      throw Error("the checkpoint '" + folder + "' also has " + quotedNames(names, shownNames) +
                      ", which --carry does not name: beside the restored arrays " +
                      (names.size() == 1 ? "it would begin anew; name it" : "they would begin anew; name them") +
                      ", too, or give --resume-partial if you want that",
                  Error::Kind::Usage);
  }

  /// Reads the elements of `ranges` to the beginning of a row-major array of shape `padded`.
  void read(const CheckpointArray &array, const std::vector<ShardRange> &ranges, const std::vector<int64_t> &padded,
            void *target) {
    for (const CheckpointShard &piece : array.pieces) {
      size_t rank = ranges.size();
      std::vector<int64_t> inPiece(rank), inTarget(rank), size(rank);
      bool isEmpty = false;
      for (size_t d = 0; d < rank; ++d) {
        int64_t begin = std::max(ranges[d].start, piece.start[d]);
        int64_t end = std::min(ranges[d].start + ranges[d].size, piece.start[d] + piece.size[d]);
        isEmpty |= begin >= end;
        inPiece[d] = begin - piece.start[d];
        inTarget[d] = begin - ranges[d].start;
        size[d] = end - begin;
      }
      if (isEmpty)
        continue;
      std::unique_ptr<ShardFile> &file = files[piece.file];
      if (!file)
        file = std::make_unique<ShardFile>(folder, manifest.files[piece.file]);
      file->read(array, piece, inPiece, size, target, padded, inTarget);
    }
  }

private:
  const CheckpointArray &check(const CheckpointArray &array, const WantedArray &wanted) const {
    bool isSame =
        wanted.dtype.value_or(array.dtype) == array.dtype && wanted.shape.value_or(array.shape) == array.shape;
    if (!isSame)
      throw Error("the checkpoint '" + folder + "' has '" + array.name + "' as " + typeText(array.dtype, array.shape) +
                      " where the program has " +
                      typeText(wanted.dtype.value_or(array.dtype), wanted.shape.value_or(array.shape)) +
                      "; it was written by another program",
                  Error::Kind::Usage);
    return array;
  }

  std::string folder;
  Manifest manifest;
  std::vector<std::unique_ptr<ShardFile>> files;
};

std::vector<Array> readArrays(const std::shared_ptr<Job> &job, Reader &reader, const std::vector<WantedArray> &wanted) {
  std::vector<Array> arrays;
  for (const WantedArray &one : wanted) {
    const CheckpointArray &array = reader.find(one);
    arrays.push_back(fillArray(
        job, array.dtype, array.shape, one.sharding,
        [&](const std::vector<ShardRange> &ranges, const std::vector<int64_t> &padded, void *target) {
          reader.read(array, ranges, padded, target);
        },
        one.name));
  }
  return arrays;
}

} // namespace

std::vector<int64_t> agreeOnSteps(Job &job, const std::string &directory) {
  std::string list, problem;
  if (job.getProcess() == 0) {
    try {
      for (int64_t step : findCheckpoints(directory))
        list = std::to_string(step) + " " + list;
    } catch (const Error &error) {
      problem = error.what();
    }
  }
  std::string agreed = job.exchangeAll({"checkpoint-steps", "the search for checkpoints in '" + directory + "'"},
                                       problem.empty() ? list : "!" + problem)[0];
  if (agreed.starts_with("!"))
    throw SharedError(agreed.substr(1), 0);
  std::vector<int64_t> steps;
  for (size_t begin = 0; begin < agreed.size();) {
    size_t end = agreed.find(' ', begin);
    steps.push_back(std::stoll(agreed.substr(begin, end - begin)));
    begin = end + 1;
  }
  return steps;
}

namespace {

/// Throws if processes read different checkpoints, each of which may be intact: folders of one name that their hosts do
/// not share. `identities` has those of the processes that could read one.
void checkSameCheckpoint(const std::map<int32_t, std::string> &identities, const std::string &directory, int64_t step) {
  using coordinator::describeProcesses;
  if (auto found = findDisagreement(identities))
    throw SharedError(describeProcesses(found->others) + (found->others.size() == 1 ? " sees" : " see") +
                          " a different checkpoint of step " + std::to_string(step) + " in '" + directory + "' than " +
                          describeProcesses(found->most) + "; give all processes one folder, which their hosts share",
                      found->others.front());
}

/// Makes one attempt. Returns a message if a process cannot read its part; throws other errors, on all processes.
std::string tryStep(const std::shared_ptr<Job> &job, const std::string &directory, int64_t step,
                    const std::vector<WantedArray> &wanted, Unwanted unwanted, std::vector<Array> &arrays) {
  std::string identity, own;
  arrays.clear();
  try {
    Reader reader(directory, step);
    identity = reader.getIdentity();
    if (unwanted == Unwanted::Refused)
      reader.refuseUnwanted(wanted);
    arrays = readArrays(job, reader, wanted);
  } catch (const Error &error) {
    own = (error.getKind() == Error::Kind::Usage ? "u" : "d") + std::string(error.what());
  }
  std::map<int32_t, std::string> identities;
  std::vector<std::string> problems;
  const Exchange restored{"checkpoint-restored",
                          "the restore of step " + std::to_string(step) + " of '" + directory + "'"};
  for (const std::string &answer : job->exchangeAll(restored, identity + " " + own)) {
    size_t end = answer.find(' ');
    if (end > 0)
      identities[static_cast<int32_t>(problems.size())] = answer.substr(0, end);
    problems.push_back(answer.substr(end + 1));
  }
  checkSameCheckpoint(identities, directory, step);
  for (const std::string &problem : problems) {
    if (problem.empty())
      continue;
    if (problem[0] == 'u')
      throw SharedError(problem.substr(1), SharedError::nobody);
    return problem.substr(1);
  }
  return "";
}

} // namespace

RestoredCheckpoint restoreCheckpoint(const std::shared_ptr<Job> &job, const std::string &directory,
                                     const std::vector<WantedArray> &wanted, std::optional<int64_t> step,
                                     Unwanted unwanted, int64_t limit) {
  RestoredCheckpoint result;
  std::vector<int64_t> steps = agreeOnSteps(*job, directory);
  if (step) {
    if (std::find(steps.begin(), steps.end(), *step) == steps.end()) {
      std::string list;
      for (auto known = steps.rbegin(); known != steps.rend(); ++known)
        list += (list.empty() ? "" : ", ") + std::to_string(*known);
      throw SharedError("'" + directory + "' has no checkpoint of step " + std::to_string(*step) +
                            (list.empty() ? "; it has none" : "; it has " + list),
                        SharedError::nobody);
    }
    steps = {*step};
  }
  for (int64_t candidate : steps) {
    if (!step && candidate >= limit)
      continue;
    std::string problem = tryStep(job, directory, candidate, wanted, unwanted, result.arrays);
    if (problem.empty()) {
      result.step = candidate;
      job->getRestoredSteps()[folderKey(directory)] = candidate;
      return result;
    }
    if (step)
      throw SharedError("the checkpoint of step " + std::to_string(candidate) + " cannot be restored: " + problem,
                        SharedError::nobody);
    result.warnings.push_back("the checkpoint of step " + std::to_string(candidate) +
                              " cannot be restored: " + problem);
  }
  result.step = -1;
  result.arrays.clear();
  return result;
}

RestoredCheckpoint restore_checkpoint(const std::string &directory,
                                      const std::vector<std::pair<std::string, NamedSharding>> &wanted,
                                      std::optional<int64_t> step, std::source_location where) {
  std::shared_ptr<Job> job = currentJob(where);
  std::vector<WantedArray> list;
  for (const auto &[name, sharding] : wanted)
    list.push_back({name, sharding, std::nullopt, std::nullopt});
  try {
    RestoredCheckpoint restored = restoreCheckpoint(job, directory, list, step);
    if (restored.step >= 0)
      return restored;
    std::string problems;
    for (const std::string &warning : restored.warnings)
      problems += "; " + warning;
    throw Error("'" + directory + "' has no checkpoint that can be restored" + problems);
  } catch (...) {
    job->markFailed();
    throw;
  }
}

std::vector<int64_t> checkpoint_steps(const std::string &directory) { return findCheckpoints(directory); }

std::vector<SavedArray> checkpoint_contents(const std::string &directory, int64_t step) {
  std::vector<SavedArray> arrays;
  for (const CheckpointArray &array : readManifest(directory, step).arrays)
    arrays.push_back({array.name, array.dtype, array.shape});
  return arrays;
}

} // namespace spmd
