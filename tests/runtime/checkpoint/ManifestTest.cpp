#include "runtime/checkpoint/Manifest.h"
#include "tests/runtime/checkpoint/CheckpointTestSupport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace spmd;
using namespace spmd::testing_checkpoint;
using testing::HasSubstr;

namespace {

Manifest sample() {
  Manifest manifest;
  manifest.step = 120;
  manifest.previous = 100;
  manifest.files = {{"process-00000.safetensors", 1234, 0xdeadbeef}, {"process-00001.safetensors", 99, 1}};
  manifest.arrays = {{"w", DType::F32, {5, 8}, {{0, {0, 0}, {3, 8}}, {1, {3, 0}, {2, 4}}, {0, {3, 4}, {2, 4}}}},
                     {"n", DType::I32, {}, {{1, {}, {}}}},
                     {"empty", DType::BF16, {0, 3}, {}}};
  return manifest;
}

/// Returns the changed manifest as JSON, with a matching checksum.
std::string changed(const std::function<void(nlohmann::ordered_json &)> &change) {
  auto json = nlohmann::ordered_json::parse(encodeManifest(sample()));
  change(json);
  json.erase("checksum");
  json["checksum"] = checksum(json.dump());
  return json.dump();
}

std::string messageFor(const std::string &text) {
  return messageOf([&] { decodeManifest(text, "m.json"); });
}

TEST(Manifest, comes_back_as_it_was_written) {
  EXPECT_EQ(decodeManifest(encodeManifest(sample()), "m.json"), sample());
  EXPECT_EQ(encodeManifest(sample()), encodeManifest(decodeManifest(encodeManifest(sample()), "m.json")));
  Manifest first = sample(); // Like checkpoints that continue no other one.
  first.previous.reset();
  EXPECT_EQ(decodeManifest(encodeManifest(first), "m.json"), first);
}

// The check value of CRC-32 of zlib, PNG and Ethernet.
TEST(Manifest, checksums_are_those_of_zlib) { EXPECT_EQ(checksum("123456789"), 0xcbf43926u); }

TEST(Manifest, shards_are_named_as_python_slices) {
  Manifest manifest = sample();
  EXPECT_EQ(shardKey(manifest.arrays[0], manifest.arrays[0].pieces[1]), "w[3:5, 0:4]");
  EXPECT_EQ(shardKey(manifest.arrays[1], manifest.arrays[1].pieces[0]), "n");
}

// Any flipped bit makes the manifest invalid, or does not change its meaning (white space).
TEST(Manifest, any_flipped_bit_is_found) {
  std::string text = encodeManifest(sample());
  for (size_t i = 0; i < text.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = text;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      try {
        EXPECT_EQ(decodeManifest(damaged, "m.json"), sample()) << "byte " << i << " bit " << bit;
      } catch (const Error &error) {
        EXPECT_THAT(error.what(), HasSubstr("'m.json' is not a valid manifest of a checkpoint: "));
      }
    }
  for (size_t length = 0; length + 2 < text.size(); ++length)
    EXPECT_NE(messageFor(text.substr(0, length)), "no error") << length;
}

TEST(Manifest, says_what_is_wrong) {
  EXPECT_THAT(messageFor("[]"), HasSubstr("it is not a JSON object"));
  EXPECT_THAT(messageFor(changed([](auto &json) { json["format"] = "spmd checkpoint 9"; })),
              HasSubstr("its format is 'spmd checkpoint 9' and this version reads 'spmd checkpoint 1'"));
  EXPECT_THAT(messageFor(changed([](auto &json) { json.erase("step"); })), HasSubstr("'step' is missing"));
  EXPECT_THAT(messageFor(changed([](auto &json) { json["step"] = -1; })), HasSubstr("'step' is not a number in range"));
  EXPECT_THAT(messageFor(changed([](auto &json) { json["previous"] = "x"; })),
              HasSubstr("'previous' is not a number in range"));
  EXPECT_THAT(messageFor(changed([](auto &json) { json["files"][0]["name"] = "../x"; })),
              HasSubstr("'../x' is not the name of a file in the folder"));
  EXPECT_THAT(messageFor(changed([](auto &json) { json["files"].erase(1); })),
              HasSubstr("a shard of array 'w' is in 'process-00001.safetensors', which is not listed"));
  EXPECT_THAT(messageFor(changed([](auto &json) { json["arrays"][1]["name"] = "w"; })),
              HasSubstr("it has array 'w' twice"));
  EXPECT_THAT(messageFor(changed([](auto &json) { json["arrays"][0]["dtype"] = "f7"; })),
              HasSubstr("array 'w' has an unknown dtype"));
  EXPECT_THAT(messageFor(changed([](auto &json) { json["arrays"][0]["pieces"].erase(2); })),
              HasSubstr("the shards of array 'w' have 32 elements together and the array 40"));
  EXPECT_THAT(messageFor(changed([](auto &json) { json["arrays"][0]["pieces"][2]["start"] = {3, 0}; })),
              HasSubstr("two shards of array 'w' overlap"));
  EXPECT_THAT(messageFor(changed([](auto &json) { json["arrays"][0]["pieces"][2]["start"] = {4, 4}; })),
              HasSubstr("a shard of array 'w' is outside of it"));
  EXPECT_THAT(messageFor(changed([](auto &json) { json["arrays"][0]["pieces"][2]["start"] = {3}; })),
              HasSubstr("a shard of array 'w' has another rank"));
  EXPECT_THAT(messageFor(changed([](auto &json) { json["arrays"][0]["shape"] = {uint64_t(1) << 61, 1 << 20}; })),
              HasSubstr("array 'w' is too large"));
}

} // namespace
