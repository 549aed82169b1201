//===- WorkerMain.cpp - one process of a job that runs random programs ----===//
//
// program-worker launch SOCKET 2@0,2@1: starts a job of two processes with two devices each, which are told that they
// are on two hosts, and which join through the coordinator as any program does. Each then serves requests on the
// socket: it loads the artifact, runs it on the requested devices, and answers with its own devices' shards of the
// results. It uses the public interface and has no compiler; one job runs many programs one after the other, as a
// user's process may.
//
//===----------------------------------------------------------------------===//

#include "runtime/api/ArrayImpl.h"
#include "runtime/api/include/spmd/spmd.h"
#include "runtime/artifact/ArtifactFile.h"
#include "runtime/coordinator/Launcher.h"
#include "tests/programs/processes/Wire.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include <sys/un.h>

using namespace spmd;
using namespace spmd::testing_processes;

namespace {

struct Place {
  int devices = 0;
  std::string host;
};

std::vector<Place> parsePlaces(const std::string &text) {
  std::vector<Place> places;
  std::istringstream stream(text);
  for (std::string item; std::getline(stream, item, ',');)
    places.push_back({std::stoi(item), item.substr(item.find('@'))});
  return places;
}

int connectTo(const std::string &name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1); // An abstract address: no file.
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (fd < 0 || connect(fd, reinterpret_cast<sockaddr *>(&address), size) != 0)
    throw Error("cannot reach the tests");
  return fd;
}

/// Returns a parameter; this process copies the parts that its devices hold.
Array makeArgument(const ValueDescription &parameter, std::string_view bytes) {
  size_t elementBytes = static_cast<size_t>(byteSize(parameter.dtype));
  return make_array_from_callback(
      parameter.shape, parameter.dtype, parameter.sharding, [&](const Index &index, void *target) {
        auto *out = static_cast<char *>(target);
        std::vector<int64_t> at;
        for (const Slice &slice : index) {
          if (slice.start == slice.stop)
            return;
          at.push_back(slice.start);
        }
        for (;;) {
          int64_t offset = 0;
          for (size_t d = 0; d < at.size(); ++d)
            offset = offset * parameter.shape[d] + at[d];
          std::memcpy(out, bytes.data() + static_cast<size_t>(offset) * elementBytes, elementBytes);
          out += elementBytes;
          size_t d = at.size();
          while (d-- > 0 && ++at[d] == index[d].stop)
            at[d] = index[d].start;
          if (d == static_cast<size_t>(-1))
            return;
        }
      });
}

/// Returns the ranges and the elements of each local device, for each result.
Message answer(const std::vector<Array> &results) {
  Message message;
  message.put("");
  message.put(static_cast<int64_t>(results.size()));
  for (const Array &result : results) {
    const ArrayImpl &impl = *result.block_until_ready().get_impl();
    PartsRef parts = impl.getParts();
    message.put(static_cast<int64_t>(parts->size()));
    for (const LocalPart &part : *parts) {
      int64_t count = 1;
      std::vector<int64_t> ranges;
      for (const ShardRange &range : part.ranges) {
        ranges.insert(ranges.end(), {range.start, range.size});
        count *= range.size;
      }
      std::string bytes(static_cast<size_t>(count * byteSize(impl.dtype)), '\0');
      if (count > 0)
        impl.copyPart(part, bytes.data());
      message.put(ranges);
      message.put(bytes);
    }
  }
  return message;
}

Message runRequest(Message request) {
  auto artifact = std::make_shared<const Artifact>(decodeArtifact(request.text(), "the program"));
  std::vector<int64_t> ids = request.numbers(), sizes;
  std::vector<std::string> names;
  for (const MeshAxis &axis : artifact->plan.mesh.axes) {
    sizes.push_back(axis.size);
    names.push_back(axis.name);
  }
  std::vector<DeviceInfo> all = devices(), chosen;
  for (int64_t id : ids)
    chosen.push_back(all[static_cast<size_t>(id)]);
  Function function = load(artifact, Mesh(sizes, names, chosen));
  std::vector<Array> arguments;
  for (const ValueDescription &parameter : function.parameters())
    arguments.push_back(makeArgument(parameter, request.text()));
  // Twice: state that a run leaves behind must not affect the next one.
  function.call(arguments);
  return answer(function.call(arguments));
}

int serve(const std::string &socketName, const std::vector<Place> &places) {
  const char *process = std::getenv("SPMD_PROCESS_ID");
  int id = process ? std::atoi(process) : 0;
  int fd = connectTo(socketName);
  try {
    const Place &place = places.at(static_cast<size_t>(id));
    setenv("SPMD_HOST_ID", place.host.c_str(), 1);
    InitializeOptions options;
    options.devices_per_process = place.devices;
    options.collective_timeout = std::chrono::seconds(30);
    initialize(options);
    Message hello;
    hello.put("");
    hello.put(static_cast<int64_t>(id));
    sendMessage(fd, hello);
    for (Message request; receiveMessage(fd, request, -1);)
      if (!sendMessage(fd, runRequest(request)))
        break;
    shutdown();
    return 0;
  } catch (const std::exception &error) {
    Message failure;
    failure.put(error.what());
    sendMessage(fd, failure);
    std::_Exit(1);
  }
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 4)
    return 2;
  std::string command = argv[1];
  std::vector<Place> places = parsePlaces(argv[3]);
  if (command == "serve")
    return serve(argv[2], places);
  LaunchOptions options;
  options.command = {std::filesystem::read_symlink("/proc/self/exe").string(), "serve", argv[2], argv[3]};
  options.numProcesses = static_cast<int32_t>(places.size());
  try {
    return launchLocal(options).exitStatus();
  } catch (const Error &error) {
    std::fprintf(stderr, "program-worker: %s\n", error.what());
    return 1;
  }
}
