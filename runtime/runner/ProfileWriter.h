//===- ProfileWriter.h - the files of --profile -----------------*- C++ -*-===//
#pragma once

#include "runtime/runner/PreparedRun.h"
#include "runtime/runner/ProfileRecord.h"

#include <memory>
#include <string_view>

namespace spmd {

/// Owns the record of this process's events, and writes it at the end of the run: the lines to the launcher, or the
/// document to a file of its own. The launcher writes the document from the lines of its processes.
class ProfileWriter {
public:
  ProfileWriter(const PreparedRun &run, RunLog &log) : run(run), log(log) {}

  /// Begins the record, if the user asked for a profile.
  void begin();
  /// Returns the record; null: this process records none.
  ProfileRecord *getRecord() const { return record.get(); }

  /// Writes the record. An error is a warning.
  void finish();
  /// Writes the document. Returns false, after a message, if it cannot be written.
  bool writeDocument(std::string_view lines);
  /// Returns whether the user does not get the document.
  bool isLost() const { return isDocumentLost; }

private:
  const PreparedRun &run;
  RunLog &log;
  std::unique_ptr<ProfileRecord> record;
  bool isDocumentLost = false;
};

} // namespace spmd
