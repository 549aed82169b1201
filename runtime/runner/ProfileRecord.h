//===- ProfileRecord.h - a trace of every step (--profile) ------*- C++ -*-===//
//
// Chrome's trace format, as Perfetto and chrome://tracing show it: a process for each process, a lane for each device,
// a slice for each launch and each of its steps with its source line, and arrows from the first device of a
// collective to the others. Times are those of process 0's clock.
//
// Every process writes lines, one event each. Processes that `run` started append them to a file in memory of the
// launcher, which writes the document at the end, even if processes were killed. Lines are written during the run, so
// that a process that is asked to end has little left to do.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/api/Job.h"
#include "runtime/exec/ProfileLog.h"
#include "runtime/runner/ClockOffset.h"
#include "runtime/support/BackgroundThread.h"

#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace spmd {

/// The metadata that the events of a process need.
struct ProfileScene {
  int32_t process = 0;
  std::string host;
  int64_t pid = 0;
  ClockOffset clock;
  MeshShape mesh;
  std::vector<int64_t> devices;      ///< The global device at each position of the mesh.
  std::vector<int64_t> localDevices; ///< The devices of this process.
  std::vector<StepInfo> steps;
};

/// The events that a process records. Thread-safe: a signal may end the run during a call.
class ProfileRecord {
public:
  struct Lines {
    std::string text; ///< One event a line, those that were not appended yet; empty before there is a program.
    size_t dropped = 0;
  };

  ProfileLog log;

  /// Lines are appended to the file `part` as they come; if it is empty, they are kept.
  explicit ProfileRecord(std::string part) : part(std::move(part)) {}
  ~ProfileRecord() { stop(); }

  /// To be called when the job is joined, on all its processes, which measure the difference of their clocks.
  void describe(const Job &job, const MeshShape &mesh);
  void describe(const Executor &executor, const Mesh &mesh);
  /// Returns all lines so far, and stops recording.
  Lines take();

private:
  void run();
  void stop();
  void write();

  const std::string part;
  std::mutex mutex;
  std::condition_variable ended;
  bool isEnding = false;
  ProfileScene scene;
  Lines lines;
  bool isDescribed = false;
  std::string problem; ///< Why lines could not be appended.
  BackgroundThread thread;
};

/// Returns the lines that describe the process and its devices.
std::string profileHeader(const ProfileScene &scene);
/// Returns the lines that describe its clock, and how many events were dropped.
std::string profileFooter(const ProfileScene &scene, size_t dropped);
/// Returns the lines of the events, one each.
std::string profileLines(const ProfileScene &scene, const std::vector<ProfileLog::Run> &runs);

/// Appends to a file that other processes append to as well.
void appendProfile(const std::string &path, const std::string &lines);

/// Returns the document. Leaves out incomplete lines, which a process that was killed while it wrote leaves before the
/// empty line that begins the next text.
std::string profileDocument(std::string_view lines);

} // namespace spmd
