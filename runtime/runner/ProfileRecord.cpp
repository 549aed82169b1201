//===- ProfileRecord.cpp - a trace of every step (--profile) --------------===//

#include "runtime/runner/ProfileRecord.h"

#include "runtime/runner/VerdictJson.h"
#include "runtime/support/Error.h"
#include "runtime/support/Process.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>

#include <fcntl.h>
#include <unistd.h>

namespace spmd {
namespace {

class LineWriter {
public:
  explicit LineWriter(const ProfileScene &scene) : scene(scene) {
    for (const StepInfo &step : scene.steps)
      steps.push_back({quoted(step.name), quoted(step.location.str()), quoted(step.location.file), axesText(step)});
    for (size_t position = 0; position < scene.devices.size(); ++position)
      positionOf[scene.devices[position]] = static_cast<int64_t>(position);
  }

  void describeProcess() {
    std::string who =
        "process " + std::to_string(scene.process) + " (" + scene.host + ", pid " + std::to_string(scene.pid) + ")";
    lines += "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":" + std::to_string(scene.process) +
             ",\"args\":{\"name\":" + quoted(who) + "}}\n";
    lines += "{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":" + std::to_string(scene.process) +
             ",\"args\":{\"sort_index\":" + std::to_string(scene.process) + "}}\n";
    for (int64_t device : scene.localDevices)
      lines += "{\"name\":\"thread_name\",\"ph\":\"M\"," + lane(device) +
               ",\"args\":{\"name\":\"cpu:" + std::to_string(device) + "\"}}\n";
  }

  void describeLog(size_t dropped) {
    lines += "{\"name\":\"spmd_profile\",\"ph\":\"M\",\"pid\":" + std::to_string(scene.process) +
             ",\"args\":{\"clock_offset_ns\":" + std::to_string(scene.clock.nanoseconds) +
             ",\"clock_uncertainty_ns\":" + std::to_string(scene.clock.uncertainty) +
             ",\"dropped_events\":" + std::to_string(dropped) + "}}\n";
  }

  void add(const ProfileLog::Run &run) {
    if (run.events.empty())
      return;
    int64_t device = run.events.front().device, begin = run.events.front().beginNs, end = begin;
    for (const ProfileEvent &event : run.events)
      end = std::max(end, event.endNs);
    std::string launch = std::to_string(run.launch);
    slice("\"launch " + launch + "\"", "launch", device, begin, end, "\"launch\":" + launch);
    std::map<int32_t, int64_t> occurrences;
    for (const ProfileEvent &event : run.events) {
      const StepInfo &info = scene.steps[static_cast<size_t>(event.step)];
      const Texts &texts = steps[static_cast<size_t>(event.step)];
      bool isCollective = info.collective != StepInfo::Collective::None;
      std::string args = "\"launch\":" + launch + ",\"step\":" + std::to_string(event.step);
      if (info.location.line > 0)
        args += ",\"source\":" + texts.location;
      if (isCollective)
        args += ",\"axes\":" + texts.axes;
      slice(texts.name, isCollective ? "collective" : "step", device, event.beginNs, event.endNs, args);
      if (isCollective)
        link(run.launch, event, info, occurrences[event.step]++);
    }
  }

  std::string lines;

private:
  struct Texts {
    std::string name, location, file, axes;
  };

  /// Returns the axes of the groups of a collective.
  std::vector<AxisRef> axesOf(const StepInfo &info) const {
    if (!info.axes.empty())
      return info.axes;
    std::vector<AxisRef> all;
    for (const MeshAxis &axis : scene.mesh.axes)
      all.push_back({axis.name, 1, 0});
    return all;
  }

  std::string axesText(const StepInfo &info) const {
    auto list = nlohmann::ordered_json::array();
    for (const AxisRef &axis : axesOf(info))
      list.push_back(axis.str());
    return jsonText(list);
  }

  static std::string quoted(const std::string &text) { return jsonText(nlohmann::ordered_json(text)); }

  std::string lane(int64_t device) const {
    return "\"pid\":" + std::to_string(scene.process) + ",\"tid\":" + std::to_string(device);
  }

  /// Returns microseconds with all digits.
  std::string micros(int64_t nanoseconds) const {
    char text[40];
    std::snprintf(text, sizeof text, "%lld.%03lld", static_cast<long long>(nanoseconds / 1000),
                  static_cast<long long>(nanoseconds % 1000));
    return text;
  }
  std::string time(int64_t nanoseconds) const {
    return "\"ts\":" + micros(std::max<int64_t>(nanoseconds + scene.clock.nanoseconds, 0));
  }

  void slice(const std::string &name, const char *category, int64_t device, int64_t begin, int64_t end,
             const std::string &args) {
    lines += "{\"name\":" + name + ",\"cat\":\"" + category + "\",\"ph\":\"X\"," + lane(device) + "," + time(begin) +
             ",\"dur\":" + micros(std::max<int64_t>(end - begin, 0)) + ",\"args\":{" + args + "}}\n";
  }

  /// Writes the ends of arrows: an arrow goes from the start on the first device of the group to the end on each other
  /// device, which is never earlier. Each process writes the ends on its own devices.
  void link(uint64_t launch, const ProfileEvent &event, const StepInfo &info, int64_t occurrence) {
    int64_t position = positionOf.at(event.device);
    std::vector<int64_t> group = groupOf(scene.mesh, axesOf(info), position);
    bool isStart = info.collective == StepInfo::Collective::Start;
    if (isStart != (position == group.front()))
      return;
    for (int64_t other : group) {
      if (other == group.front() || (!isStart && other != position))
        continue;
      std::string id = std::to_string(launch) + "." + std::to_string(info.pairedStep) + "." +
                       std::to_string(occurrence) + "." + std::to_string(group.front()) + "." + std::to_string(other);
      lines += std::string("{\"name\":\"collective\",\"cat\":\"collective\",\"ph\":\"") + (isStart ? "s" : "f") +
               "\",\"id\":\"" + id + "\"," + lane(event.device) + "," +
               time(isStart ? event.beginNs : std::max(event.beginNs, event.endNs - 1)) +
               (isStart ? "" : ",\"bp\":\"e\"") + "}\n";
    }
  }

  const ProfileScene &scene;
  std::vector<Texts> steps;
  std::map<int64_t, int64_t> positionOf;
};

} // namespace

void ProfileRecord::describe(const Job &job, const MeshShape &mesh) {
  auto now = [] { return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count(); };
  const Topology &topology = job.getClient().topology();
  std::vector<int32_t> others; // The processes on other hosts; processes of a host share its clock.
  for (const ProcessInfo &info : topology.processes)
    if (job.hostOf(info.index) != job.hostOf(0))
      others.push_back(info.index);
  ClockOffset clock = measureClockOffset(job.getClient(), job.getProcess(), others, now, job.getTimeout());
  std::lock_guard lock(mutex);
  scene.process = job.getProcess();
  scene.host = topology.processes[static_cast<size_t>(scene.process)].host;
  scene.pid = ::getpid();
  scene.clock = clock;
  scene.mesh = mesh;
}

void ProfileRecord::describe(const Executor &executor, const Mesh &mesh) {
  std::lock_guard lock(mutex);
  scene.devices = mesh.device_ids();
  for (const DeviceRef &device : executor.getLocalDevices())
    scene.localDevices.push_back(device->getId());
  scene.steps = executor.getStepInfo();
  thread = BackgroundThread("spmd-profile", [this] { run(); });
}

void ProfileRecord::run() {
  constexpr std::chrono::milliseconds kInterval{100};
  std::unique_lock lock(mutex);
  while (!ended.wait_for(lock, kInterval, [&] { return isEnding; }))
    write();
}

void ProfileRecord::stop() {
  {
    std::lock_guard lock(mutex);
    isEnding = true;
  }
  ended.notify_all();
  thread.join();
}

/// Writes the events since the last call.
void ProfileRecord::write() {
  auto [runs, dropped] = log.take();
  lines.dropped = dropped;
  if (runs.empty())
    return;
  if (!std::exchange(isDescribed, true))
    lines.text += profileHeader(scene);
  lines.text += profileLines(scene, runs);
  if (part.empty() || !problem.empty())
    return;
  try {
    appendProfile(part, lines.text);
  } catch (const Error &error) {
    problem = error.what();
  }
  lines.text.clear();
}

ProfileRecord::Lines ProfileRecord::take() {
  stop();
  std::lock_guard lock(mutex);
  if (scene.devices.empty())
    return {};
  write();
  if (!problem.empty())
    throw Error(problem);
  lines.text += (isDescribed ? "" : profileHeader(scene)) + profileFooter(scene, lines.dropped);
  return std::move(lines);
}

std::string profileHeader(const ProfileScene &scene) {
  LineWriter writer(scene);
  writer.describeProcess();
  return std::move(writer.lines);
}

std::string profileFooter(const ProfileScene &scene, size_t dropped) {
  LineWriter writer(scene);
  writer.describeLog(dropped);
  return std::move(writer.lines);
}

std::string profileLines(const ProfileScene &scene, const std::vector<ProfileLog::Run> &runs) {
  LineWriter writer(scene);
  for (const ProfileLog::Run &run : runs)
    writer.add(run);
  return std::move(writer.lines);
}

void appendProfile(const std::string &path, const std::string &lines) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  std::string text = "\n\n" + lines; // Ends an incomplete line of a killed process.
  std::string_view rest = text;
  while (fd && !rest.empty()) {
    ssize_t written = ::write(fd.get(), rest.data(), rest.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      break;
    rest.remove_prefix(static_cast<size_t>(written));
  }
  if (!rest.empty())
    throw Error(std::string("the profile cannot be passed to the launcher: ") + std::strerror(errno));
}

std::string profileDocument(std::string_view lines) {
  std::string document = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  bool isFirst = true;
  while (!lines.empty()) {
    std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
    bool isLast = lines.empty() || lines.front() == '\n';
    if (line.empty() || (isLast && !nlohmann::json::accept(line)))
      continue;
    document += isFirst ? "" : ",\n";
    document += line;
    isFirst = false;
  }
  return document + "\n]}\n";
}

} // namespace spmd
