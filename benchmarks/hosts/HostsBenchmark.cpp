//===- HostsBenchmark.cpp - compares all_reduce with Gloo -----------------===//
//
// Every process has one device and is one rank of Gloo; both sum the same floats, in turns, and the median over blocks
// of calls is printed. Three hosts of two processes each, as network namespaces:
//
//     tools/dev build hosts-benchmark      (with libgloo-dev installed)
//     python3 tests/tools/Inputs/hosts.py -- build/release/bin/hosts-benchmark --folder /tmp/some-new-folder
//
//===----------------------------------------------------------------------===//

#include "runtime/api/Job.h"
#include "runtime/support/Error.h"

#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <future>
#include <map>

using namespace spmd;

namespace {

using Clock = std::chrono::steady_clock;

double microsecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Ours {
  DeviceRef device;
  DeviceBufferRef operand, result;
  std::unique_ptr<CollectiveCall> call;

  void run(int count) {
    std::promise<void> done;
    device->enqueue([&] {
      for (int i = 0; i < count; ++i) {
        call->start(operand->data(), result->data());
        call->done();
      }
      done.set_value();
    });
    done.get_future().wait();
  }
};

void runGloo(const std::shared_ptr<gloo::Context> &context, gloo::AllreduceOptions::Algorithm algorithm,
             std::vector<float> &input, std::vector<float> &output, int count, uint32_t &tag) {
  for (int i = 0; i < count; ++i) {
    gloo::AllreduceOptions options(context);
    options.setAlgorithm(algorithm);
    options.setInput(input.data(), input.size());
    options.setOutput(output.data(), output.size());
    options.setReduceFunction([](void *c, const void *a, const void *b, size_t n) { gloo::sum<float>(c, a, b, n); });
    options.setTag(tag++);
    gloo::allreduce(options);
  }
}

int measure(std::map<std::string, std::string> &given) {
  InitializeOptions options;
  options.coordinator_address = given["--coordinator-address"];
  options.num_processes = std::stoi(given["--num-processes"]);
  options.process_id = std::stoi(given["--process-id"]);
  options.token_file = given["--token-file"];
  std::shared_ptr<Job> job = Job::join(resolveJoinOptions(options, Environment::read(), 1));
  int rank = job->getProcess(), size = job->getProcessCount();
  std::filesystem::create_directories(given["--folder"]);

  gloo::transport::tcp::attr attr;
  attr.hostname = job->getClient().coordinatorConnection().own;
  gloo::rendezvous::FileStore store(given["--folder"]);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
  std::shared_ptr<gloo::transport::Device> network = gloo::transport::tcp::CreateDevice(attr);
  context->connectFullMesh(store, network);

  std::vector<int64_t> all;
  for (int64_t device = 0; device < static_cast<int64_t>(job->getDevices().size()); ++device)
    all.push_back(device);
  auto communicator = job->getCollectives().communicator(all, job->getTimeout());
  MeshShape mesh{{{"a", size}}};
  uint32_t tag = 0;
  if (rank == 0)
    std::printf(
        "| bytes | ours, us | Gloo ring, us | Gloo bcube, us | best Gloo / ours |\n| --- | --- | --- | --- | --- |\n");
  for (int64_t bytes : {4, 64, 1024, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20}) {
    int64_t count = bytes / 4;
    int calls = bytes <= (64 << 10) ? 40 : bytes <= (1 << 20) ? 15 : 5;
    Ours ours;
    ours.device = job->getLocalDevices()[0];
    ours.operand = ours.device->allocate(bytes);
    ours.result = ours.device->allocate(bytes);
    std::fill_n(static_cast<float *>(ours.operand->data()), count, 1.0f);
    std::promise<void> prepared;
    ours.device->enqueue([&] {
      CollectiveDesc desc;
      desc.axes = {{"a"}};
      desc.operandShape = desc.resultShape = {count};
      ours.call = communicator->getEndpoint(rank).prepare(mesh, desc, {});
      prepared.set_value();
    });
    prepared.get_future().wait();
    std::vector<float> input(static_cast<size_t>(count), 1.0f), output(static_cast<size_t>(count));
    std::map<int, std::vector<double>> times;
    for (int block = 0; block < 4; ++block) {
      auto timed = [&](int which, auto &&body) {
        job->getClient().barrier("block", job->getTimeout());
        body(2);
        auto begin = Clock::now();
        body(calls);
        if (block > 0) // The first warms up.
          times[which].push_back(microsecondsSince(begin) / calls);
      };
      timed(0, [&](int n) { ours.run(n); });
      timed(1, [&](int n) { runGloo(context, gloo::AllreduceOptions::Algorithm::RING, input, output, n, tag); });
      timed(2, [&](int n) { runGloo(context, gloo::AllreduceOptions::Algorithm::BCUBE, input, output, n, tag); });
    }
    if (static_cast<float *>(ours.result->data())[count - 1] != float(size) ||
        output[static_cast<size_t>(count) - 1] != float(size))
      throw Error("a sum is wrong");
    double mine = median(times[0]), ring = median(times[1]), bcube = median(times[2]);
    if (rank == 0)
      std::printf("| %lld | %.0f | %.0f | %.0f | %.2f |\n", static_cast<long long>(bytes), mine, ring, bcube,
                  std::min(ring, bcube) / mine);
    std::promise<void> destroyed;
    ours.device->enqueue([&] {
      ours.call.reset();
      destroyed.set_value();
    });
    destroyed.get_future().wait();
  }
  std::fflush(stdout);
  job->getClient().barrier("end", job->getTimeout());
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  std::map<std::string, std::string> given;
  for (int i = 1; i + 1 < argc; i += 2)
    given[argv[i]] = argv[i + 1];
  try {
    return measure(given);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "hosts-benchmark: error: %s\n", error.what());
    return 1;
  }
}
