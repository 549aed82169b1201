//===- RunProfile.h - a trace of every step (--profile) ---------*- C++ -*-===//
//
// Chrome's trace format, as Perfetto and chrome://tracing show it: a process for each process, a lane for each device,
// a slice for each launch and each of its steps with its source line, and arrows from the first device of a
// collective to the others. Times are those of process 0's clock.
//
// Every process writes lines, one event each. Processes that were started here append them to one piece of memory of
// the launcher, which makes the document, whatever has become of them. They are written while the run goes on: whoever
// is asked to end has little left to do.
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

/// What the events of a process need to be read.
struct ProfileScene {
  int32_t process = 0;
  std::string host;
  int64_t pid = 0;
  ClockOffset clock;
  MeshShape mesh;
  std::vector<int64_t> devices;      ///< The global device at each position of the mesh.
  std::vector<int64_t> localDevices; ///< This process's.
  std::vector<StepInfo> steps;
};

/// What a process records. Thread-safe: a run may be ended while it goes on.
class ProfileRecord {
public:
  struct Lines {
    std::string text; ///< One event each, those that were not appended; empty before there was a program.
    size_t dropped = 0;
  };

  ProfileLog log;

  /// `part`: to which lines are appended as they come; where it is empty, they are kept.
  explicit ProfileRecord(std::string part) : part(std::move(part)) {}
  ~ProfileRecord() { stop(); }

  /// Once the job is joined; on all its processes, which measure the difference of their clocks.
  void describe(const Job &job, const MeshShape &mesh);
  void describe(const Executor &executor, const Mesh &mesh);
  /// All so far. From then on nothing is written any more.
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

/// Who the process is, and its devices.
std::string profileHeader(const ProfileScene &scene);
/// What is known of its clock, and how many events are missing.
std::string profileFooter(const ProfileScene &scene, size_t dropped);
/// One event a line.
std::string profileLines(const ProfileScene &scene, const std::vector<ProfileLog::Run> &runs);

/// Appends to a file that others append to as well.
void appendProfile(const std::string &path, const std::string &lines);

/// The document. Lines that are not whole, of a process that was killed while it wrote, are left out: the last of what
/// it has appended, before the empty line with which the next one begins.
std::string profileDocument(std::string_view lines);

} // namespace spmd
