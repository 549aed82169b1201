//===- ExchangesTest.cpp - exchanges against brute force ------------------===//
//
// Elements are hashes of their global indices, so that an element from elsewhere is noticed.
//
//===----------------------------------------------------------------------===//

#include "CaseHelper.h"
#include "JobHelper.h"
#include "runtime/collective/CollectiveIdentity.h"
#include "runtime/collective/Movement.h"

#include <array>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <numeric>

using namespace spmd;
using namespace spmd::test;

namespace {

/// Returns the shard of a device of the array whose element at index (i, j, ...) is a hash of the index; `padding`
/// fills the rest.
Value ownedPart(const MeshShape &mesh, const std::vector<int64_t> &global, const Sharding &sharding, int64_t position,
                uint32_t padding, const std::vector<DimMove> &moves = {}) {
  std::vector<int64_t> blocks = global;
  for (size_t d = 0; d < moves.size(); ++d)
    blocks[d] /= moves[d].block;
  std::vector<int64_t> shape = localShape(mesh, blocks, sharding);
  std::vector<ShardRange> ranges = ownedRanges(mesh, blocks, sharding, position);
  for (size_t d = 0; d < moves.size(); ++d) {
    shape[d] *= moves[d].block;
    ranges[d] = {ranges[d].start * moves[d].block, ranges[d].size * moves[d].block};
  }
  Value value = zerosLike(DType::U32, shape);
  std::vector<int64_t> index(global.size());
  for (int64_t i = 0; i < elementCount(value.shape); ++i) {
    int64_t rest = i;
    uint32_t element = 17;
    bool isOwned = true;
    for (size_t d = global.size(); d-- > 0;) {
      index[d] = rest % value.shape[d];
      rest /= value.shape[d];
      isOwned &= index[d] < ranges[d].size;
    }
    for (size_t d = 0; d < global.size(); ++d)
      element = element * 31 + static_cast<uint32_t>(index[d] + ranges[d].start);
    if (!isOwned)
      element = padding;
    std::memcpy(value.bytes.data() + 4 * i, &element, 4);
  }
  return value;
}

/// Returns the results of all cases on this device, concatenated. The padding of an operand must not matter.
std::vector<char> callAll(DeviceContext &context, const MeshShape &mesh, const std::vector<CollectiveDesc> &cases) {
  std::vector<char> all;
  for (const CollectiveDesc &desc : cases) {
    Value operand = ownedPart(mesh, desc.globalShape, desc.source, context.position, 0xabababab, desc.moves);
    auto bytes = context.call(mesh, desc, operand.bytes);
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

// From every sharding to every other: the target shard of the same array, with zeros as padding.
TEST(Exchanges, BetweenAnyShardings) {
  MeshShape mesh{{{"a", 4}, {"b", 2}}};
  std::vector<Sharding> shardings{{{{}, {}}, {}},
                                  {{{{"a"}}, {}}, {}},
                                  {{{}, {{"a"}}}, {}},
                                  {{{{"b"}}, {{"a"}}}, {}},
                                  {{{{"a"}, {"b"}}, {}}, {}},
                                  {{{{"b"}, {"a"}}, {}}, {}},
                                  {{{{"a", 1, 2}}, {{"a", 2, 2}}}, {}},
                                  {{{}, {{"a", 2, 2}, {"b"}}}, {}}};
  std::vector<std::pair<CollectiveDesc, std::vector<int64_t>>> cases;
  for (const std::vector<int64_t> &global : {std::vector<int64_t>{10, 7}, {3, 1}, {129, 67}})
    for (const Sharding &source : shardings)
      for (const Sharding &target : shardings) {
        CollectiveDesc desc;
        desc.kind = CollectiveKind::Exchange;
        desc.dtype = DType::U32;
        desc.globalShape = global;
        desc.source = source;
        desc.target = target;
        desc.operandShape = localShape(mesh, global, source);
        desc.resultShape = localShape(mesh, global, target);
        cases.push_back({desc, global});
      }
  for (const std::vector<int> &hosts : {std::vector<int>{}, {0, 0, 1, 1}, {0, 1, 0, 1}, {0, 1, 2, 2}}) {
    Layout layout{4, 2};
    layout.hosts = hosts;
    auto outcomes = runJob(layout, [&](DeviceContext &context) {
      std::vector<char> all;
      for (auto &[desc, global] : cases) {
        Value operand = ownedPart(mesh, global, desc.source, context.position, 0xabababab);
        auto bytes = context.call(mesh, desc, operand.bytes);
        all.insert(all.end(), bytes.begin(), bytes.end());
      }
      return all;
    });
    for (int64_t position = 0; position < 8; ++position) {
      ASSERT_EQ(outcomes[position].error, "");
      size_t offset = 0;
      for (auto &[desc, global] : cases) {
        Value expected = ownedPart(mesh, global, desc.target, position, 0);
        std::vector<char> actual(outcomes[position].bytes.begin() + offset,
                                 outcomes[position].bytes.begin() + offset + expected.bytes.size());
        offset += expected.bytes.size();
        ASSERT_EQ(compareBytes(DType::U32, actual, expected.bytes), "")
            << describeCollective(desc) << " of " << ::testing::PrintToString(global) << " at " << position
            << " on hosts " << ::testing::PrintToString(hosts);
      }
    }
  }
}

/// Executes exchanges on 8 devices, distributed over hosts in several ways. `sourceOf` returns the row-major index of
/// the source element at a position of the target for the device at a mesh position; negative for a zero.
void checkExchanges(const MeshShape &mesh, const std::vector<CollectiveDesc> &cases,
                    const std::function<int64_t(const CollectiveDesc &desc, int64_t position,
                                                std::array<int64_t, 2> place)> &sourceOf) {
  const Sharding everywhere{{{}, {}}, {}};
  for (const std::vector<int> &hosts : {std::vector<int>{}, {0, 0, 1, 1}, {0, 1, 1, 0}}) {
    Layout layout{4, 2};
    layout.hosts = hosts;
    auto outcomes = runJob(layout, [&](DeviceContext &context) { return callAll(context, mesh, cases); });
    for (int64_t position = 0; position < 8; ++position) {
      ASSERT_EQ(outcomes[position].error, "");
      const char *actual = outcomes[position].bytes.data();
      for (const CollectiveDesc &desc : cases) {
        std::vector<ShardRange> ranges = ownedRanges(mesh, desc.targetShape, desc.target, position);
        Value whole = ownedPart(mesh, desc.globalShape, everywhere, 0, 0); // The full source.
        for (int64_t i = 0; i < desc.resultShape[0]; ++i)
          for (int64_t j = 0; j < desc.resultShape[1]; ++j, actual += 4) {
            bool isInside = i < ranges[0].size && j < ranges[1].size;
            int64_t from = isInside ? sourceOf(desc, position, {i + ranges[0].start, j + ranges[1].start}) : -1;
            uint32_t element = 0, expected = 0;
            std::memcpy(&element, actual, 4);
            if (from >= 0)
              std::memcpy(&expected, whole.bytes.data() + 4 * from, 4);
            ASSERT_EQ(element, expected) << describeCollective(desc) << " at " << position << ": " << i << ", " << j;
          }
      }
    }
  }
}

// Arrays whose elements come from one another: element i of the target is the source's element shift + i * stride, or
// zero.
TEST(Exchanges, MovingBetweenAnyShardings) {
  MeshShape mesh{{{"a", 4}, {"b", 2}}};
  std::vector<Sharding> shardings{{{{}, {}}, {}},
                                  {{{{"a"}}, {}}, {}},
                                  {{{{"b"}}, {{"a"}}}, {}},
                                  {{{{"a"}, {"b"}}, {}}, {}},
                                  {{{}, {{"a", 2, 2}, {"b"}}}, {}}};
  std::mt19937_64 random(11);
  std::vector<CollectiveDesc> cases;
  for (const Sharding &source : shardings)
    for (const Sharding &target : shardings)
      for (int i = 0; i < 12; ++i) {
        CollectiveDesc desc;
        desc.kind = CollectiveKind::Exchange;
        desc.dtype = DType::U32;
        desc.source = source;
        desc.target = target;
        for (int d = 0; d < 2; ++d) {
          desc.globalShape.push_back(1 + static_cast<int64_t>(random() % 20));
          desc.targetShape.push_back(1 + static_cast<int64_t>(random() % 20));
          DimMove &move = desc.moves.emplace_back();
          move.shift = static_cast<int64_t>(random() % 25) - 12;
          move.stride = std::array{1, 1, 2, 3, -1, -2}[random() % 6];
          if (move.stride < 0)
            move.shift += 15;
          move.end = random() % 3 ? desc.targetShape.back() : static_cast<int64_t>(random() % desc.targetShape.back());
          move.begin = random() % 3 ? 0 : static_cast<int64_t>(random() % (move.end + 1));
          if (random() % 3 == 0) { // Each device's shard is a window.
            int64_t windows = 1;
            for (const AxisRef &axis : target.dims[d])
              windows *= axis.sizeIn(mesh);
            move.length = 1 + static_cast<int64_t>(random() % 6);
            move.step = static_cast<int64_t>(random() % 4);
            move.base = static_cast<int64_t>(random() % 20);
            move.stride = std::abs(move.stride);
            desc.targetShape.back() = windows * move.length;
            move.begin = static_cast<int64_t>(random() % 2);
            move.end = desc.targetShape.back() - static_cast<int64_t>(random() % 2);
            move.end = std::max(move.begin, move.end);
          }
          if (random() % 3 == 0) {
            move.block = 1 + static_cast<int64_t>(random() % 4);
            desc.globalShape.back() = move.block * (1 + desc.globalShape.back() / move.block);
          }
          if (random() % 4 == 0 && move.block == 1) {
            move.wraps = true;
            move.stride = 1;
          } else if (random() % 3 == 0) { // Its elements are dilated.
            move.dilation = 2 + static_cast<int64_t>(random() % 3);
            if (std::gcd(move.stride, move.dilation) != 1)
              move.stride = 1;
          }
        }
        desc.operandShape = localSourceShape(mesh, {desc.globalShape, source}, desc.moves);
        desc.resultShape = localShape(mesh, desc.targetShape, target);
        cases.push_back(desc);
      }
  checkExchanges(mesh, cases, [&](const CollectiveDesc &desc, int64_t position, std::array<int64_t, 2> place) {
    for (int d = 0; d < 2; ++d) {
      const DimMove &move = desc.moves[d];
      bool isThere = place[d] >= move.begin && place[d] < move.end;
      if (move.length == 0) {
        place[d] = move.shift + place[d] * move.stride;
      } else {
        std::vector<int64_t> coordinates = mesh.coordinates(position);
        ShardRange piece = ownedRange(mesh, move.base, desc.target.dims[d], coordinates);
        ShardRange first = ownedRange(mesh, move.base, desc.target.dims[d], {0, 0});
        int64_t inWindow = place[d] % move.length, missing = first.size - piece.size;
        isThere = isThere && piece.size > 0 && inWindow < move.length - missing * move.step / move.stride;
        place[d] = move.shift + piece.start * move.step + inWindow * move.stride;
      }
      if (move.wraps)
        place[d] = (place[d] % desc.globalShape[d] + desc.globalShape[d]) % desc.globalShape[d];
      isThere = isThere && place[d] % move.dilation == 0;
      place[d] /= move.dilation;
      if (!isThere || place[d] < 0 || place[d] >= desc.globalShape[d])
        return int64_t(-1);
    }
    return place[0] * desc.globalShape[1] + place[1];
  });
}

// Reshaped arrays: the same elements in the same order, with zeros as padding.
TEST(Exchanges, ReshapingBetweenAnyShardings) {
  MeshShape mesh{{{"a", 4}, {"b", 2}}};
  std::vector<Sharding> shardings{
      {{{}, {}}, {}},           {{{{"a"}}, {}}, {}},        {{{}, {{"a"}}}, {}},
      {{{{"b"}}, {{"a"}}}, {}}, {{{{"a"}, {"b"}}, {}}, {}}, {{{}, {{"a", 2, 2}, {"b"}}}, {}}};
  std::vector<CollectiveDesc> cases;
  for (auto [before, behind] : std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>>{
           {{3, 8}, {24, 1}}, {{5, 7}, {7, 5}}, {{1, 60}, {12, 5}}, {{33, 26}, {13, 66}}})
    for (const Sharding &source : shardings)
      for (const Sharding &target : shardings) {
        CollectiveDesc desc;
        desc.kind = CollectiveKind::Exchange;
        desc.dtype = DType::U32;
        desc.globalShape = before;
        desc.targetShape = behind;
        desc.source = source;
        desc.target = target;
        desc.operandShape = localShape(mesh, before, source);
        desc.resultShape = localShape(mesh, behind, target);
        cases.push_back(desc);
      }
  checkExchanges(mesh, cases, [](const CollectiveDesc &desc, int64_t, std::array<int64_t, 2> place) {
    int64_t from = place[0] * desc.targetShape[1] + place[1];
    return from < desc.globalShape[0] * desc.globalShape[1] ? from : -1;
  });
}

// Only the device that requests a value receives it (printing).
TEST(Exchanges, OneReceiver) {
  MeshShape mesh{{{"a", 4}}};
  CollectiveDesc desc;
  desc.kind = CollectiveKind::Exchange;
  desc.dtype = DType::U32;
  desc.globalShape = {10};
  desc.source = {{{{"a"}}}, {}};
  desc.target = {{{}}, {}};
  desc.operandShape = {3};
  desc.resultShape = {10};
  for (const std::vector<int> &hosts : {std::vector<int>{}, {0, 1}}) {
    Layout layout{2, 2};
    layout.hosts = hosts;
    auto outcomes = runJob(layout, [&](DeviceContext &context) {
      return context.call(mesh, desc, ownedPart(mesh, {10}, desc.source, context.position, 0).bytes,
                          {.onlyReceiver = 1});
    });
    EXPECT_EQ(compareBytes(DType::U32, outcomes[1].bytes, ownedPart(mesh, {10}, desc.target, 1, 0).bytes), "");
    for (int other : {0, 2, 3})
      EXPECT_EQ(outcomes[other].bytes, std::vector<char>(40, '\xcd'));
  }
}

} // namespace
