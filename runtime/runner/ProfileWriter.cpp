//===- ProfileWriter.cpp - the files of --profile -------------------------===//

#include "runtime/runner/ProfileWriter.h"

#include "runtime/runner/RunReport.h"
#include "runtime/support/File.h"

namespace spmd {

void ProfileWriter::begin() {
  if (!run.options.profileFile.empty() || !run.options.profilePart.empty())
    record = std::make_unique<ProfileRecord>(run.options.profilePart);
}

void ProfileWriter::finish() {
  try {
    auto [lines, dropped] = record ? record->take() : ProfileRecord::Lines();
    if (lines.empty())
      return;
    if (dropped > 0)
      log.write(RunLog::Level::Warning, "--profile: the trace has only the first events; " + std::to_string(dropped) +
                                            " more were dropped; give fewer steps");
    if (!run.options.profilePart.empty())
      return appendProfile(run.options.profilePart, lines);
    writeDocument(lines);
  } catch (const Error &error) {
    log.write(RunLog::Level::Warning, std::string("--profile: ") + error.what());
  }
}

bool ProfileWriter::writeDocument(std::string_view lines) {
  try {
    writeFileAtomically(pathOfProcess(run.options.profileFile, run.getGivenProcess()), profileDocument(lines),
                        Readers::Owner);
    return true;
  } catch (const Error &error) {
    log.write(RunLog::Level::Error, std::string("--profile: ") + error.what());
    isDocumentLost = true;
    return false;
  }
}

} // namespace spmd
