//===- CpuMemoryTest.cpp - allocation in shared segments ------------------===//

#include "runtime/device/cpu/CpuMemory.h"
#include "runtime/support/Error.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <random>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace spmd;

namespace {

/// Returns the resident bytes of a segment, as the kernel counts them: of a memfd's file, or of the process's pages.
int64_t residentBytes(const Segment &segment) {
  struct stat info{};
  if (fstat(segment.fd(), &info) == 0)
    return info.st_blocks * 512;
  constexpr int64_t page = 4096;
  std::vector<unsigned char> pages(segment.bytes() / page);
  EXPECT_EQ(mincore(segment.data(), segment.bytes(), pages.data()), 0);
  return page * std::count_if(pages.begin(), pages.end(), [](unsigned char state) { return (state & 1) != 0; });
}

// Random sizes, allocated and freed in random order: blocks never overlap, and each keeps its content.
TEST(CpuMemory, BlocksAreDisjointUnderRandomUse) {
  CpuMemory memory(0);
  std::mt19937 random(7);
  struct Live {
    unsigned char *data;
    int64_t bytes;
    unsigned char mark;
  };
  std::vector<Live> live;
  int64_t expectedInUse = 0;
  for (int step = 0; step < 4000; ++step) {
    if (live.empty() || random() % 5 < 3) {
      int64_t bytes = random() % 7 == 0 ? random() % 300'000 : random() % 700;
      auto *data = static_cast<unsigned char *>(memory.allocate(bytes));
      ASSERT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
      auto mark = static_cast<unsigned char>(step);
      std::memset(data, mark, bytes);
      live.push_back({data, bytes, mark});
    } else {
      size_t which = random() % live.size();
      Live block = live[which];
      for (int64_t i = 0; i < block.bytes; ++i)
        ASSERT_EQ(block.data[i], block.mark);
      memory.free(block.data);
      live[which] = live.back();
      live.pop_back();
    }
  }
  for (Live &block : live)
    expectedInUse += block.bytes;
  EXPECT_GE(memory.bytesInUse(), expectedInUse);
  for (Live &block : live)
    memory.free(block.data);
  EXPECT_EQ(memory.bytesInUse(), 0);
  EXPECT_EQ(memory.segmentCount(), 1);
}

// Freed neighbours become one block again, in whichever order they are freed.
TEST(CpuMemory, FreedNeighboursAreMerged) {
  CpuMemory memory(0);
  int64_t third = int64_t(300) << 20;
  void *a = memory.allocate(third), *b = memory.allocate(third), *c = memory.allocate(third);
  memory.free(a);
  memory.free(c);
  memory.free(b);
  void *all = memory.allocate(3 * third);
  EXPECT_EQ(all, a);
  EXPECT_EQ(memory.segmentCount(), 1);
  memory.free(all);
}

class SharedOrPrivate : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(CpuMemory, SharedOrPrivate, ::testing::Bool());

// A freed block is reused with its pages; free memory beyond the limit is returned to the kernel.
TEST_P(SharedOrPrivate, KeepsPagesWarmWithinAMeasure) {
  CpuMemory memory(0, GetParam());
  int64_t bytes = 64 << 20;
  void *block = memory.allocate(bytes);
  std::memset(block, 1, bytes);
  auto segment = memory.getSegment(0);
  memory.free(block);
  EXPECT_GE(residentBytes(*segment), bytes);
  EXPECT_EQ(memory.allocate(bytes), block);
  std::vector<void *> blocks{block};
  for (int i = 0; i < 7; ++i) {
    blocks.push_back(memory.allocate(bytes));
    std::memset(blocks.back(), 1, bytes);
  }
  for (void *each : blocks)
    memory.free(each);
  // After each free, at most 256 MiB plus as much as is still in use keep their pages: here that is 384 MiB of 512.
  EXPECT_LE(residentBytes(*segment), int64_t(384) << 20);
}

TEST(CpuMemory, LocatesOnlyItsOwnMemory) {
  CpuMemory memory(3);
  auto *data = static_cast<char *>(memory.allocate(1000));
  auto place = memory.locate(data + 100, 900);
  ASSERT_TRUE(place);
  EXPECT_EQ(memory.getSegment(place->segment)->data() + place->offset, data + 100);
  int local = 0;
  EXPECT_FALSE(memory.locate(&local, 4));
  EXPECT_EQ(memory.getSegment(1), nullptr);
}

TEST(CpuMemory, RefusesMoreThanTheHostHas) {
  CpuMemory memory(5);
  try {
    memory.allocate(int64_t(1) << 45);
    FAIL() << "no error";
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find("device cpu:5: 35184372088832 bytes were requested"), std::string::npos)
        << error.what();
  }
}

TEST(Segment, OfThisProcessAloneHasNoDescriptor) {
  for (int64_t bytes : {int64_t(4096), (int64_t(2) << 20) - 4096, int64_t(2) << 20, (int64_t(5) << 20) + 4096}) {
    auto segment = Segment::createPrivate(bytes);
    EXPECT_EQ(segment->fd(), -1);
    EXPECT_EQ(segment->bytes(), bytes);
    std::memset(segment->data(), 1, bytes);
    EXPECT_TRUE(segment->releasePages(0, bytes));
    EXPECT_EQ(std::count(segment->data(), segment->data() + bytes, 0), bytes);
    if (bytes >= int64_t(2) << 20)
      EXPECT_EQ(reinterpret_cast<uintptr_t>(segment->data()) % (2 << 20), 0u);
  }
  EXPECT_THROW(Segment::createPrivate(int64_t(1) << 60), Error);
}

// A second mapping of the passed descriptor shows the same memory, and no process can shrink it under a reader.
TEST(Segment, IsSharedAndSealed) {
  auto segment = Segment::create("test", 1 << 20);
  auto other = Segment::open(dup(segment->fd()), false);
  segment->data()[12345] = 'x';
  EXPECT_EQ(other->data()[12345], 'x');
  EXPECT_NE(other->data(), segment->data());
  EXPECT_NE(ftruncate(segment->fd(), 4096), 0);
  int plain = memfd_create("unsealed", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(plain, 4096), 0);
  EXPECT_THROW(Segment::open(plain, false), Error);
}

} // namespace
