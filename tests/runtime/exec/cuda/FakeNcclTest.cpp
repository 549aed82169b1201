//===- FakeNcclTest.cpp - tests of the fake NCCL and its users ------------===//

#include "runtime/support/Error.h"
#include "tests/runtime/exec/cuda/GpuJobHelper.h"

#include <gmock/gmock.h>

#include <condition_variable>

using namespace spmd;
using namespace spmd::cuda;
using testing::HasSubstr;

namespace {

constexpr std::chrono::seconds kTimeout(20);

/// A store of two processes, which are threads here.
class MemoryStore final : public Store {
public:
  void set(const std::string &key, const std::string &value) override {
    std::lock_guard lock(mutex);
    values[key] = value;
    changed.notify_all();
  }
  std::string wait(const std::string &key, const Awaited &awaited) override {
    std::unique_lock lock(mutex);
    if (!changed.wait_for(lock, awaited.timeout, [&] { return values.contains(key); }))
      throw Error("no process has set " + key);
    return values[key];
  }
  void removePrefix(const std::string &) override {}

private:
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, std::string> values;
};

NcclId makeId(const Nccl &nccl) {
  NcclId id{};
  nccl.GetUniqueId(&id);
  return id;
}

class FakeNcclTest : public testing::Test {
protected:
  /// Runs a function for each of two GPUs, on a thread of its own with its GPU current.
  template <typename Function> void onBoth(const Function &function) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 2; ++rank)
      threads.emplace_back([&, rank] {
        gpus[rank].makeCurrent();
        function(rank);
      });
    for (std::thread &thread : threads)
      thread.join();
  }

  /// Sends `sent` bytes from rank 0 and receives `received` at rank 1; returns rank 1's data.
  std::string transfer(NcclGroup &group, size_t sent, size_t received) {
    std::string got(received, '?');
    onBoth([&](int rank) {
      NcclComm comm = group.join(rank, kTimeout);
      Stream stream = nullptr;
      driver.StreamCreate(&stream, kStreamNonBlocking);
      DevicePointer array = gpus[rank].allocate(16, stream);
      driver.MemsetD8Async(array, rank == 0 ? 'x' : '-', 16, stream);
      nccl.GroupStart();
      auto *data = reinterpret_cast<void *>(array);
      EXPECT_EQ(rank == 0 ? nccl.Send(data, sent, kNcclBytes, 1, comm, stream)
                          : nccl.Recv(data, received, kNcclBytes, 0, comm, stream),
                kNcclSuccess);
      EXPECT_EQ(nccl.GroupEnd(), kNcclInProgress);
      group.waitUntilQueued(comm);
      if (rank == 1)
        driver.MemcpyDtoHAsync(got.data(), array, received, stream);
      EXPECT_EQ(driver.StreamSynchronize(stream), kSuccess);
      gpus[rank].free(array, stream);
      driver.StreamSynchronize(stream);
      driver.StreamDestroy(stream);
    });
    return got;
  }

  FakeDriver fake{{.gpus = 2}};
  FakeNccl fakeNccl{fake};
  const Driver &driver = *fake.getDriver();
  const Nccl &nccl = *fakeNccl.getNccl();
  std::array<Gpu, 2> gpus{Gpu{fake.getDriver(), 0}, Gpu{fake.getDriver(), 1}};
};

TEST_F(FakeNcclTest, SendsArrive) {
  NcclGroup group(fakeNccl.getNccl(), nullptr, makeId(nccl), 2);
  for (int round = 0; round < 5; ++round)
    EXPECT_EQ(transfer(group, 7, 7), "xxxxxxx");
}

// Both send more than a socket holds before they receive.
TEST_F(FakeNcclTest, LargeExchange) {
  constexpr size_t kBytes = 5 << 20;
  NcclGroup group(fakeNccl.getNccl(), nullptr, makeId(nccl), 2);
  onBoth([&](int rank) {
    NcclComm comm = group.join(rank, kTimeout);
    Stream stream = nullptr;
    driver.StreamCreate(&stream, kStreamNonBlocking);
    DevicePointer mine = gpus[rank].allocate(kBytes, stream), theirs = gpus[rank].allocate(kBytes, stream);
    driver.MemsetD8Async(mine, static_cast<unsigned char>('a' + rank), kBytes, stream);
    nccl.GroupStart();
    EXPECT_EQ(nccl.Send(reinterpret_cast<void *>(mine), kBytes, kNcclBytes, 1 - rank, comm, stream), kNcclSuccess);
    EXPECT_EQ(nccl.Recv(reinterpret_cast<void *>(theirs), kBytes, kNcclBytes, 1 - rank, comm, stream), kNcclSuccess);
    EXPECT_EQ(nccl.GroupEnd(), kNcclInProgress);
    group.waitUntilQueued(comm);
    std::string got(kBytes, '?');
    driver.MemcpyDtoHAsync(got.data(), theirs, kBytes, stream);
    EXPECT_EQ(driver.StreamSynchronize(stream), kSuccess);
    EXPECT_EQ(got, std::string(kBytes, static_cast<char>('a' + 1 - rank)));
    for (DevicePointer array : {mine, theirs})
      gpus[rank].free(array, stream);
    driver.StreamSynchronize(stream);
    driver.StreamDestroy(stream);
  });
  EXPECT_EQ(fakeNccl.countBytes(), int64_t{2 * kBytes});
}

// Two communicators of one name and rank cannot exist.
TEST_F(FakeNcclTest, RanksAreUnique) {
  NcclId id = makeId(nccl);
  NcclConfig config;
  NcclComm first = nullptr, second = nullptr;
  gpus[0].makeCurrent();
  EXPECT_EQ(nccl.CommInitRankConfig(&first, 2, id, 0, &config), kNcclInProgress);
  EXPECT_EQ(nccl.CommInitRankConfig(&second, 2, id, 0, &config), kNcclInvalidUsage);
  EXPECT_EQ(nccl.CommAbort(first), kNcclSuccess);
}

// A rank that cannot join ends the waiting of the others, and of those that come later.
TEST_F(FakeNcclTest, ARankThatCannotJoin) {
  static NcclEntries original;
  NcclEntries entries = original = nccl;
  entries.CommInitRankConfig = [](NcclComm *comm, int size, NcclId id, int rank, NcclConfig *config) {
    return rank == 1 ? kNcclInternalError : original.CommInitRankConfig(comm, size, id, rank, config);
  };
  NcclGroup group(Nccl::of(entries), nullptr, makeId(nccl), 2);
  auto began = std::chrono::steady_clock::now();
  for (int round = 0; round < 2; ++round)
    onBoth([&](int rank) {
      try {
        group.join(rank, kTimeout);
        ADD_FAILURE() << rank;
      } catch (const Error &error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("connecting GPUs by NCCL: ")) << rank;
      }
    });
  EXPECT_LT(std::chrono::steady_clock::now() - began, kTimeout / 2);
}

// Calls that NCCL's manual forbids.
TEST_F(FakeNcclTest, MistakesAreErrors) {
  NcclGroup group(fakeNccl.getNccl(), nullptr, makeId(nccl), 2);
  NcclComm comms[2] = {};
  onBoth([&](int rank) { comms[rank] = group.join(rank, kTimeout); });
  gpus[0].makeCurrent();
  Stream stream = nullptr;
  driver.StreamCreate(&stream, kStreamNonBlocking);
  DevicePointer array = gpus[0].allocate(16, stream);
  auto *data = reinterpret_cast<void *>(array);
  char host = 0;
  nccl.GroupStart();
  EXPECT_EQ(nccl.Send(data, 16, 7, 1, comms[0], stream), kNcclInvalidArgument);
  EXPECT_EQ(nccl.Send(data, 16, kNcclBytes, 0, comms[0], stream), kNcclInvalidArgument);
  EXPECT_EQ(nccl.Send(data, 17, kNcclBytes, 1, comms[0], stream), kNcclInvalidArgument);
  EXPECT_EQ(nccl.Send(&host, 1, kNcclBytes, 1, comms[0], stream), kNcclInvalidArgument);
  EXPECT_EQ(nccl.Send(data, 16, kNcclBytes, 1, comms[0], stream), kNcclSuccess);
  EXPECT_EQ(nccl.GroupEnd(), kNcclInProgress);
  // Rank 1 has not called yet: the group is not in its stream, and the communicator accepts no other.
  NcclResult state = kNcclSuccess;
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(nccl.CommGetAsyncError(comms[0], &state), kNcclSuccess);
  EXPECT_EQ(state, kNcclInProgress);
  nccl.GroupStart();
  EXPECT_EQ(nccl.Send(data, 16, kNcclBytes, 1, comms[0], stream), kNcclInvalidArgument);
  nccl.GroupEnd();
  EXPECT_EQ(nccl.CommAbort(comms[0]), kNcclSuccess);
  EXPECT_EQ(nccl.CommAbort(comms[0]), kNcclInvalidArgument);
  EXPECT_EQ(driver.StreamSynchronize(stream), kSuccess);
  gpus[0].free(array, stream);
  driver.StreamDestroy(stream);
}

// A call after a transfer that failed is answered with the cause, as the next wait would be.
TEST_F(FakeNcclTest, CallsAfterFailedTransfers) {
  fakeNccl.failTransfer(0, 1);
  NcclGroup group(fakeNccl.getNccl(), nullptr, makeId(nccl), 2);
  NcclComm comms[2] = {};
  onBoth([&](int rank) { comms[rank] = group.join(rank, kTimeout); });
  onBoth([&](int rank) {
    gpus[rank].makeCurrent();
    Stream stream = nullptr;
    driver.StreamCreate(&stream, kStreamNonBlocking);
    DevicePointer array = gpus[rank].allocate(16, stream);
    auto *data = reinterpret_cast<void *>(array);
    auto call = [&] {
      return rank == 0 ? nccl.Send(data, 16, kNcclBytes, 1, comms[0], stream)
                       : nccl.Recv(data, 16, kNcclBytes, 0, comms[1], stream);
    };
    nccl.GroupStart();
    EXPECT_EQ(call(), kNcclSuccess);
    EXPECT_EQ(nccl.GroupEnd(), kNcclInProgress);
    group.waitUntilQueued(comms[rank]);
    if (rank == 0) {
      EXPECT_EQ(driver.StreamSynchronize(stream), kSuccess);
      nccl.GroupStart();
      EXPECT_EQ(call(), kNcclRemoteError);
      nccl.GroupEnd();
    }
    EXPECT_EQ(nccl.CommAbort(comms[rank]), kNcclSuccess);
    EXPECT_EQ(driver.StreamSynchronize(stream), kSuccess);
    gpus[rank].free(array, stream);
    driver.StreamDestroy(stream);
  });
}

TEST_F(FakeNcclTest, RankNeverJoins) {
  NcclGroup group(fakeNccl.getNccl(), nullptr, makeId(nccl), 2);
  gpus[0].makeCurrent();
  try {
    group.join(0, std::chrono::milliseconds(50));
    ADD_FAILURE() << "it has joined alone";
  } catch (const Error &error) {
    EXPECT_THAT(error.what(), HasSubstr("NCCL has not connected 2 GPUs in 50 ms"));
  }
}

// Two processes: the first one creates the id, the other one finds it in the store.
TEST_F(FakeNcclTest, TransportsOfTwoProcesses) {
  MemoryStore store;
  std::string got(3, '?');
  onBoth([&](int process) {
    GpuTransport transport({fakeNccl.getNccl(), process, {0, 1}, &store, nullptr});
    auto group = transport.group({0, 1}, kTimeout);
    EXPECT_EQ(transport.group({0, 1}, kTimeout), group);
    NcclComm comm = group->join(process, kTimeout);
    EXPECT_EQ(group->join(process, kTimeout), comm);
    Stream stream = nullptr;
    driver.StreamCreate(&stream, kStreamNonBlocking);
    DevicePointer array = gpus[process].allocate(3, stream);
    driver.MemsetD8Async(array, 'a' + process, 3, stream);
    nccl.GroupStart();
    auto *data = reinterpret_cast<void *>(array);
    nccl.check(process == 0 ? nccl.Send(data, 3, kNcclBytes, 1, comm, stream)
                            : nccl.Recv(data, 3, kNcclBytes, 0, comm, stream),
               "a call");
    nccl.check(nccl.GroupEnd(), "ncclGroupEnd");
    group->waitUntilQueued(comm);
    if (process == 1)
      driver.MemcpyDtoHAsync(got.data(), array, 3, stream);
    EXPECT_EQ(driver.StreamSynchronize(stream), kSuccess);
    gpus[process].free(array, stream);
    driver.StreamSynchronize(stream);
    driver.StreamDestroy(stream);
  });
  EXPECT_EQ(got, "aaa");
}

TEST(GpuInventory, WhyNcclIsNotUsed) {
  auto places = [](const std::string &text) { return GpuInventory::parse(text); };
  EXPECT_EQ(places("2.18.0 GPU-1 GPU-2").str(), "2.18.0 GPU-1 GPU-2");
  EXPECT_EQ(places("- GPU-1").nccl, "");
  EXPECT_EQ(whyNoNccl({places("2.18.0 GPU-1"), places("2.18.0 GPU-2")}, false), "");
  EXPECT_EQ(whyNoNccl({places("2.18.0 GPU-1"), places("- GPU-2")}, false), "process 1 has no NCCL");
  EXPECT_EQ(whyNoNccl({places("2.18.0 GPU-1"), places("2.19.0 GPU-2")}, false),
            "process 0 has NCCL 2.18.0, process 1 has 2.19.0");
  EXPECT_EQ(whyNoNccl({places("2.18.0 GPU-1 GPU-1")}, false), "several devices work on GPU-1");
  EXPECT_EQ(whyNoNccl({places("2.18.0 GPU-1 GPU-1")}, true), "");
}

} // namespace
