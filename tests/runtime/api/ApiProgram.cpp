//===- ApiProgram.cpp - a program that uses the public interface ----------===//
//
// MultiProcessTest starts this program as several processes (SelfLauncher.h).
//
//===----------------------------------------------------------------------===//

#include "runtime/api/include/spmd/spmd.h"
#include "tests/runtime/api/SelfLauncher.h"

#include <dlpack/dlpack.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <sstream>

#include <thread>
#include <unistd.h>

using spmd::testing_api::say;

namespace {

/// The example of JAX's tutorial, except that this program computes the sum itself.
void toy() {
  spmd::Mesh mesh = spmd::make_mesh({4, 2}, {"i", "j"});
  std::vector<float> data(32);
  std::iota(data.begin(), data.end(), 0.0f);
  spmd::Array array = spmd::device_put(spmd::view(data, {4, 8}), spmd::NamedSharding(mesh, spmd::P("i", "j")));
  for (const spmd::Shard &shard : array.addressable_shards())
    say("device " + shard.device.str() + " has local data " + shard.data.str());
  say(std::string("addressable ") + (array.is_fully_addressable() ? "yes" : "no"));
  try {
    array.to_host<float>();
    say("fetched");
  } catch (const spmd::Error &error) {
    say(error.what());
  }
  say(array.str());
  float sum = 0;
  for (float value : spmd::process_allgather(array).to_host<float>())
    sum += std::sin(value);
  char text[64];
  std::snprintf(text, sizeof text, "got result: %.6f", sum);
  say(text);
}

/// Shardings and reshards over processes, with sizes that no axis divides.
void reshard() {
  spmd::Mesh mesh = spmd::make_mesh({4, 2}, {"i", "j"});
  std::vector<float> data(35);
  std::iota(data.begin(), data.end(), 0.0f);
  std::vector<spmd::P> specs = {spmd::P("i", "j"), spmd::P("j"), spmd::P(nullptr, spmd::axes("j", "i")), spmd::P()};
  for (const spmd::P &from : specs)
    for (const spmd::P &to : specs) {
      spmd::Array array = spmd::device_put(spmd::view(data, {7, 5}), spmd::NamedSharding(mesh, from));
      array = spmd::device_put(array, spmd::NamedSharding(mesh, to));
      if (spmd::process_allgather(array).to_host<float>() != data)
        say("wrong: " + from.str() + " to " + to.str());
    }
  spmd::sync_processes("done");
  say("resharded");
}

/// Each process passes a different value, which is an error.
void mismatch() {
  spmd::Mesh mesh = spmd::make_mesh({spmd::device_count()}, {"a"});
  std::vector<float> data(8, static_cast<float>(spmd::process_index() == 1));
  try {
    spmd::device_put(spmd::view(data), spmd::NamedSharding(mesh, spmd::P("a")));
    say("put");
  } catch (const spmd::Error &error) {
    say(error.what());
  }
}

/// Each process passes its rows; the last one passes `extra` more.
void rows(int extra) {
  spmd::Mesh mesh = spmd::make_mesh({spmd::device_count()}, {"batch"});
  bool isLast = spmd::process_index() == spmd::process_count() - 1;
  int64_t count = 4 + (isLast ? extra : 0);
  std::vector<int32_t> data(static_cast<size_t>(count * 3), spmd::process_index());
  try {
    spmd::Array array = spmd::make_array_from_process_local_data(spmd::NamedSharding(mesh, spmd::P("batch")),
                                                                 spmd::view(data, {count, 3}));
    std::vector<int32_t> all = spmd::process_allgather(array).to_host<int32_t>();
    std::string text = "rows " + std::to_string(array.shape()[0]) + ":";
    for (size_t i = 0; i < all.size(); i += 3)
      text += " " + std::to_string(all[i]);
    say(text);
  } catch (const spmd::Error &error) {
    say(error.what());
  }
}

/// The tutorial's third way to create an array: from arrays of single devices.
void singles() {
  spmd::Mesh mesh = spmd::make_mesh({spmd::process_count(), spmd::local_device_count()}, {"i", "j"});
  std::vector<spmd::Array> locals;
  for (const spmd::DeviceInfo &device : spmd::local_devices()) {
    std::vector<int32_t> value = {static_cast<int32_t>(device.id)};
    locals.push_back(spmd::device_put(spmd::view(value, {1, 1}), device));
  }
  spmd::Array array = spmd::make_array_from_single_device_arrays({spmd::process_count(), spmd::local_device_count()},
                                                                 spmd::NamedSharding(mesh, spmd::P("i", "j")), locals);
  say(spmd::process_allgather(array).str());
}

/// Exports a value on a device of process 0 to another library.
void dlpack() {
  std::vector<float> data = {1, 2};
  spmd::Mesh one({}, {}, {spmd::devices()[0]});
  spmd::Array array = spmd::device_put(spmd::view(data), spmd::NamedSharding(one, spmd::P()));
  try {
    DLManagedTensor *tensor = spmd::to_dlpack(array);
    say("takes " + std::to_string(static_cast<const float *>(tensor->dl_tensor.data)[1]));
    tensor->deleter(tensor);
  } catch (const spmd::Error &error) {
    say(error.what());
  }
}

/// Imports a part of another library's tensor, which begins behind its first element.
void slice() {
  std::vector<float> data(8);
  spmd::Array array = spmd::device_put(spmd::view(data), spmd::local_devices()[0]);
  DLManagedTensor *tensor = spmd::to_dlpack(array);
  int64_t size = 4;
  DLManagedTensor part = {};
  part.dl_tensor = tensor->dl_tensor;
  part.dl_tensor.shape = &size;
  part.dl_tensor.strides = nullptr;
  for (uint64_t offset : {16, 4}) {
    part.dl_tensor.byte_offset = offset;
    try {
      say("takes " + spmd::from_dlpack(&part).str());
    } catch (const spmd::Error &error) {
      say(error.what());
    }
  }
  tensor->deleter(tensor);
}

/// Process 1 exits without goodbye while the job runs.
void deserter() {
  spmd::sync_processes("all here");
  if (spmd::process_index() == 1)
    std::_Exit(7);
  spmd::Mesh mesh = spmd::make_mesh({spmd::device_count()}, {"a"});
  std::vector<float> data(8);
  spmd::Array array = spmd::device_put(spmd::view(data), spmd::NamedSharding(mesh, spmd::P("a")));
  spmd::process_allgather(array).block_until_ready();
  say("not reached");
}

/// Process 1 waits some time between two calls.
void sleeper() {
  spmd::sync_processes("all here");
  if (spmd::process_index() == 1)
    std::this_thread::sleep_for(std::chrono::seconds(4));
  spmd::sync_processes("all awake");
  say("awake");
}

/// Prints what the system shows of this process's threads except the first, while a job uses everything that a host
/// has.
void threads() {
  spmd::Mesh mesh = spmd::make_mesh({spmd::device_count()}, {"a"});
  std::vector<float> data(64);
  spmd::Array array = spmd::device_put(spmd::view(data), spmd::NamedSharding(mesh, spmd::P("a")));
  spmd::process_allgather(array).block_until_ready();
  std::string folder = std::filesystem::temp_directory_path() / ("spmd-threads-" + std::to_string(::getppid()));
  spmd::save_checkpoint(folder, 1, {{"x", array}}).wait();
  for (const auto &thread : std::filesystem::directory_iterator("/proc/self/task")) {
    if (thread.path().filename() == std::to_string(::getpid()))
      continue;
    std::string name, line;
    std::getline(std::ifstream(thread.path() / "comm"), name);
    uint64_t blocked = 0;
    std::ifstream status(thread.path() / "status");
    while (std::getline(status, line))
      if (line.rfind("SigBlk:", 0) == 0)
        blocked = std::stoull(line.substr(7), nullptr, 16);
    bool takesNone = true;
    for (int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGALRM, SIGCHLD})
      takesNone &= (blocked >> (number - 1) & 1) != 0;
    say("thread " + name + (takesNone ? " takes no signals" : " takes signals"));
  }
  spmd::sync_processes("listed");
  if (spmd::process_index() == 0)
    std::filesystem::remove_all(folder);
}

/// Calls that several processes take part in.
struct Calls {
  spmd::Mesh mesh = spmd::make_mesh({spmd::device_count()}, {"a"});
  spmd::NamedSharding sharding{mesh, spmd::P("a")};
  std::string folder = std::filesystem::temp_directory_path() / ("spmd-calls-" + std::to_string(::getppid()));
  std::vector<float> data = {1, 2, 3, 4, 5, 6};

  spmd::Array onesAt(const spmd::NamedSharding &at) const {
    return spmd::make_array_from_callback<float>({6}, at, [](const spmd::Index &index) {
      return std::vector<float>(static_cast<size_t>(index[0].stop - index[0].start), 1);
    });
  }

  void make(const std::string &call) const {
    if (call == "put")
      spmd::device_put(spmd::view(data), sharding);
    else if (call == "local")
      spmd::make_array_from_process_local_data(sharding, spmd::view(data));
    else if (call == "save")
      spmd::save_checkpoint(folder, 1, {{"x", onesAt(sharding)}}).wait();
    else if (call == "restore")
      spmd::restore_checkpoint(folder, {{"x", sharding}});
    else if (call == "run")
      spmd::process_allgather(onesAt(sharding)).block_until_ready();
    else if (call == "submesh") // Of the first process and the last one.
      spmd::process_allgather(onesAt(spmd::NamedSharding(
          spmd::Mesh({2}, {"b"}, {spmd::devices().front(), spmd::devices().back()}), spmd::P("b"))));
    else
      spmd::sync_processes("here");
  }
};

/// `left-put`: process 1 leaves without the call that the others make.
void leaveWithout(const std::string &call) {
  Calls calls;
  if (spmd::process_index() != (call == "submesh" ? 0 : 1))
    calls.make(call);
  spmd::shutdown();
}

/// `order-put-local`: process 0 makes the two calls in this order, the others in the other one.
void callInOrder(const std::string &first, const std::string &second) {
  Calls calls;
  calls.make("run");
  calls.make(spmd::process_index() == 0 ? first : second);
  calls.make(spmd::process_index() == 0 ? second : first);
}

/// A program that calls no initialize().
void forgetful() { say("alone among " + std::to_string(spmd::process_count())); }

/// Returns the words of `order-put-local`.
std::vector<std::string> wordsOf(const std::string &scenario) {
  std::vector<std::string> words;
  std::istringstream text(scenario);
  for (std::string word; std::getline(text, word, '-');)
    words.push_back(word);
  return words;
}

int member(const std::string &scenario) {
  const std::map<std::string, void (*)()> scenarios = {{"toy", toy},
                                                       {"reshard", reshard},
                                                       {"mismatch", mismatch},
                                                       {"rows", [] { rows(0); }},
                                                       {"uneven-rows", [] { rows(1); }},
                                                       {"singles", singles},
                                                       {"dlpack", dlpack},
                                                       {"slice", slice},
                                                       {"deserter", deserter},
                                                       {"sleeper", sleeper},
                                                       {"threads", threads}};
  try {
    if (scenario == "forgetful") {
      forgetful();
      return 0;
    }
    if (std::vector<std::string> words = wordsOf(scenario); words.size() > 1 && !scenarios.count(scenario)) {
      if (words.back() == "hosts") // Two, which have every second process.
        ::setenv("SPMD_HOST_ID", std::stoi(std::getenv("SPMD_PROCESS_ID")) % 2 == 0 ? "even" : "odd", 1);
      // Longer than any wait that must end at once.
      spmd::initialize({.collective_timeout = std::chrono::seconds(300)});
      words[0] == "left" ? leaveWithout(words[1]) : callInOrder(words[1], words.at(2));
      spmd::shutdown();
      return 0;
    }
    spmd::initialize();
    scenarios.at(scenario)();
    spmd::shutdown();
    return 0;
  } catch (const spmd::Error &error) {
    std::string line = std::string("error: ") + error.what() + "\n";
    std::fputs(line.c_str(), stdout);
    std::fflush(stdout);
    return 1;
  }
}

} // namespace

int main(int argc, char **argv) { return spmd::testing_api::launchSelf(argc, argv, member); }
