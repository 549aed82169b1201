#include "runtime/io/Npz.h"
#include "runtime/io/Safetensors.h"

#include "runtime/support/File.h"
#include "tests/runtime/io/IoTestSupport.h"
#include "tests/support/ElementTypes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

using namespace spmd;
using namespace spmd::testing_io;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

void expectShard(const ArraySource &source, DType dtype) {
  std::vector<char> bytes(static_cast<size_t>(2 * 3 * byteSize(dtype)), '\x55');
  source.read(dtype, {{1, 2}, {2, 3}}, {2, 3}, bytes.data());
  for (int64_t r = 0; r < 2; ++r)
    for (int64_t c = 0; c < 3; ++c)
      ASSERT_EQ(elementAt(dtype, bytes.data(), r * 3 + c), expectedElement(dtype, r + 1, c + 2)) << source.getName();
}

TEST(Npz, reads_stored_and_compressed_members) {
  auto stored = openNpz(dataFile("stored.npz"));
  EXPECT_THAT(stored->getNames(), ElementsAre("first.w", "first.b", "fortran"));
  expectShard(stored->open("first.w"), DType::F32);
  expectShard(stored->open("first.b"), DType::BF16);
  expectShard(stored->open("fortran"), DType::I32);
  auto packed = openNpz(dataFile("packed.npz"));
  expectShard(packed->open("b"), DType::I8);
  expectShard(packed->open("w"), DType::F32);
}

TEST(Npz, a_missing_key_lists_what_there_is) {
  auto stored = openNpz(dataFile("stored.npz"));
  EXPECT_THAT(messageOf([&] { stored->open("w"); }),
              HasSubstr("stored.npz' has no array named 'w'; it has 'first.w', 'first.b', 'fortran'"));
}

TEST(Npz, other_files_are_refused) {
  EXPECT_THAT(messageOf([] { openNpz(dataFile("f32.npy")); }), HasSubstr("f32.npy': Not a zip archive"));
  EXPECT_EQ(messageOf([] { openNpz("no/such.npz"); }), "cannot read 'no/such.npz': No such file or directory");
}

TEST(Npz, damaged_archives_never_crash) {
  TemporaryFolder folder;
  for (const char *name : {"stored.npz", "packed.npz"}) {
    MappedFile file(dataFile(name));
    for (size_t i = 0; i < file.bytes().size(); ++i) {
      std::string damaged(file.bytes());
      damaged[i] = static_cast<char>(damaged[i] ^ 0xff);
      std::ofstream(folder / "d.npz", std::ios::binary) << damaged;
      messageOf([&] {
        auto archive = openNpz(folder / "d.npz");
        for (const std::string &key : archive->getNames()) {
          ArraySource source = archive->open(key);
          ValueInfo info{"x", DType::F32, {3, 5}, {}, {3, 5}};
          source.check(info);
          std::vector<float> data(15);
          source.read(DType::F32, {{0, 3}, {0, 5}}, {3, 5}, data.data());
        }
      });
    }
  }
}

/// Returns all elements of an array in the file's layout, read as `devices` parts along the last dimension, and
/// compares their checksum if there is one.
std::string checkedBytes(const ArraySource &source, int64_t devices) {
  const ArrayLayout &layout = source.getLayout();
  ValueInfo info{"x", layout.dtype.value_or(DType::F32), layout.shape, {}, layout.shape};
  source.check(info);
  std::string all;
  uint32_t contributions = 0;
  for (int64_t d = 0; d < devices; ++d) {
    std::vector<ShardRange> ranges;
    std::vector<int64_t> sizes;
    for (int64_t size : layout.shape)
      ranges.push_back({0, size});
    if (!ranges.empty()) {
      int64_t &size = ranges.back().size, each = (size + devices - 1) / devices;
      ranges.back().start = std::min(d * each, size);
      size = std::min(each, size - ranges.back().start);
    }
    int64_t count = 1;
    for (const ShardRange &range : ranges) {
      sizes.push_back(range.size);
      count *= range.size;
    }
    std::string part(static_cast<size_t>(count * byteSize(info.dtype)), '\0');
    Crc32Parts parts(source.getChecksum() ? source.getChecksum()->size : 0);
    bool adds = source.getChecksum().has_value();
    if (adds && d == devices - 1)
      source.addRest(parts);
    source.read(info.dtype, ranges, sizes, part.data(), adds ? &parts : nullptr);
    contributions ^= parts.getContribution();
    all += part;
  }
  if (source.getChecksum())
    source.compareChecksum(Crc32Parts::finish(contributions, source.getChecksum()->size));
  return all;
}

// Whichever byte is damaged and in whatever parts an array is read: either an error, or the saved numbers.
TEST(Npz, a_flipped_byte_never_gives_other_numbers) {
  TemporaryFolder folder;
  for (const char *name : {"stored.npz", "packed.npz"}) {
    MappedFile file(dataFile(name));
    auto whole = openNpz(dataFile(name));
    std::map<std::string, std::string> expected;
    for (const std::string &key : whole->getNames())
      for (int64_t devices : {1, 2, 3}) {
        std::string values = checkedBytes(whole->open(key), devices);
        expected[key + std::to_string(devices)] = values;
      }
    int damaged = 0;
    for (size_t i = 0; i < file.bytes().size(); ++i) {
      std::string bytes(file.bytes());
      bytes[i] = static_cast<char>(bytes[i] ^ (1 << i % 8));
      std::ofstream(folder / "d.npz", std::ios::binary) << bytes;
      for (int64_t devices : {1, 2, 3})
        damaged += messageOf([&] {
                     auto archive = openNpz(folder / "d.npz");
                     for (const std::string &key : archive->getNames()) {
                       std::string values = checkedBytes(archive->open(key), devices);
                       auto known = expected.find(key + std::to_string(devices));
                       if (known != expected.end())
                         EXPECT_EQ(values, known->second) << name << " byte " << i << " " << key;
                     }
                   }) != "no error";
    }
    EXPECT_GT(damaged, 600) << name; // The bytes of the arrays are most of the file.
  }
}

TEST(Npz, a_damaged_member_is_named_with_both_checksums) {
  TemporaryFolder folder;
  std::vector<float> w = {1, 2, 3, 4, 5, 6};
  std::string path = folder / "p.npz";
  writeNpz(path, {{"w", DType::F32, {2, 3}, w.data()}});
  std::string bytes(MappedFile(path).bytes());
  bytes[bytes.find(std::string(reinterpret_cast<const char *>(&w[3]), 4))] ^= 1;
  std::ofstream(path, std::ios::binary) << bytes;
  auto archive = openNpz(path);
  ArraySource source = archive->open("w");
  std::string message = messageOf([&] { source.verify(); });
  EXPECT_THAT(message, testing::MatchesRegex("'.*p.npz\\[w\\]' is damaged: its bytes have the CRC-32 0x[0-9a-f]+ and "
                                             "the archive says 0x[0-9a-f]+; save or copy it again"));
  EXPECT_EQ(messageOf([&] { checkedBytes(source, 2); }), message);
}

class Roundtrip : public testing::TestWithParam<bool> {};

TEST_P(Roundtrip, what_is_written_is_read) {
  bool isNpz = GetParam();
  TemporaryFolder folder;
  std::string path = folder / (isNpz ? "a.npz" : "a.safetensors");
  std::vector<float> w = {1, 2, 3, 4, 5, 6};
  std::vector<uint8_t> flags = {1, 0};
  std::vector<uint32_t> key = {7, 8};
  std::vector<NamedArray> arrays = {{"p.w", DType::F32, {2, 3}, w.data()},
                                    {"flags", DType::Bool, {2}, flags.data()},
                                    {"key", DType::Key, {}, key.data()},
                                    {"empty", DType::I64, {0, 4}, nullptr}};
  auto write = [&] { isNpz ? writeNpz(path, arrays) : writeSafetensors(path, arrays); };
  write();
  std::string first(MappedFile(path).bytes());
  write();
  EXPECT_EQ(MappedFile(path).bytes(), first) << "the same arrays give the same bytes";
  EXPECT_EQ(folder.fileCount(), 1u);

  auto archive = isNpz ? openNpz(path) : openSafetensors(path);
  EXPECT_THAT(archive->getNames(), ElementsAre("p.w", "flags", "key", "empty"));
  std::vector<float> part(2);
  ArraySource source = archive->open("p.w");
  source.check(ValueInfo{"w", DType::F32, {2, 3}, {}, {2, 3}});
  source.read(DType::F32, {{0, 2}, {1, 1}}, {2, 1}, part.data());
  EXPECT_THAT(part, ElementsAre(2, 5));
  std::vector<uint32_t> keyAgain(2);
  ArraySource keySource = archive->open("key");
  keySource.check(ValueInfo{"k", DType::Key, {}, {}, {}});
  keySource.read(DType::Key, {}, {}, keyAgain.data());
  EXPECT_EQ(keyAgain, key);
}
INSTANTIATE_TEST_SUITE_P(Archives, Roundtrip, testing::Bool());

TEST(Safetensors, damaged_headers_are_refused) {
  TemporaryFolder folder;
  std::string path = folder / "a.safetensors";
  auto open = [&](const std::string &header, const std::string &data, uint64_t length) {
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &length, 8);
    std::ofstream(path, std::ios::binary) << bytes << header << data;
    return messageOf([&] {
      auto archive = openSafetensors(path);
      for (const std::string &key : archive->getNames())
        archive->open(key);
    });
  };
  std::string good = R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"__metadata__":{"a":"b"}})";
  EXPECT_EQ(open(good, "12345678", good.size()), "no error");
  EXPECT_THAT(open(good, "1234567", good.size()),
              HasSubstr("array 'w' is outside of the file, at bytes 0 to 8 of 7; save or copy it again"));
  EXPECT_THAT(open(good, "123456789", good.size()), HasSubstr("its arrays have 8 bytes together and the file holds 9"));
  EXPECT_THAT(open(good, "12345678", uint64_t(1) << 60), HasSubstr("its header claims"));
  EXPECT_THAT(open(good, "12345678", good.size() - 1), HasSubstr("not a JSON object"));
  std::string wrongShape = R"({"w":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})";
  EXPECT_THAT(open(wrongShape, "12345678", wrongShape.size()),
              HasSubstr("array 'w' has 8 bytes, which is not what its type and shape need"));
  std::string huge = R"({"w":{"dtype":"F32","shape":[4611686018427387903, 16],"data_offsets":[0,8]}})";
  EXPECT_THAT(open(huge, "12345678", huge.size()),
              HasSubstr("array 'w' has 8 bytes, which is not what its type and shape need"));
  std::string malformed = R"({"w":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})";
  EXPECT_THAT(open(malformed, "12345678", malformed.size()), HasSubstr("its entry 'w' is malformed"));
  std::string list = R"({"w":[1]})";
  EXPECT_THAT(open(list, "12345678", list.size()), HasSubstr("its entry 'w' is malformed"));
  auto two = [&](const std::string &first, const std::string &second) {
    std::string header = R"({"w":{"dtype":"U8","shape":[4],"data_offsets":)" + first +
                         R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + second + "}}";
    return open(header, "12345678", header.size());
  };
  EXPECT_EQ(two("[0,4]", "[4,8]"), "no error");
  EXPECT_EQ(two("[4,8]", "[0,4]"), "no error");
  EXPECT_THAT(two("[0,4]", "[2,6]"), HasSubstr("array 'b' begins at byte 2, inside of another"));
  EXPECT_THAT(two("[0,4]", "[0,4]"), HasSubstr("array 'b' begins at byte 0, inside of another"));
  EXPECT_THAT(two("[5,9]", "[0,4]"), HasSubstr("array 'w' is outside of the file, at bytes 5 to 9 of 8"));
  EXPECT_THAT(two("[1,5]", "[5,9]"), HasSubstr("is outside of the file"));
  EXPECT_THAT(two("[4,8]", "[4,8]"), HasSubstr("begins at byte 4, after a gap"));
}

// Files of the safetensors package: every type of the language, one that it does not have, unaligned elements.
TEST(Safetensors, files_of_the_package_are_read) {
  auto archive = openSafetensors(dataFile("types.safetensors"));
  for (DType dtype : test::elementTypes())
    expectShard(archive->open(std::string(dtypeName(dtype))), dtype);
  EXPECT_THAT(messageOf([&] { archive->open("c64").check(ValueInfo{"x", DType::I32, {3, 5}, {}, {3, 5}}); }),
              HasSubstr("types.safetensors[c64]' holds elements of type `C64`, which the language does not have"));
  auto odd = openSafetensors(dataFile("odd.safetensors"));
  EXPECT_THAT(odd->getNames(), ElementsAre("a.bytes", "b.w"));
  expectShard(odd->open("b.w"), DType::F32);
}

// The names of the safetensors package; the other narrow formats have none, and are bytes.
TEST(Safetensors, names_narrow_floats) {
  TemporaryFolder folder;
  std::vector<uint8_t> codes = {0x38, 0xc0, 0x7f};
  writeSafetensors(folder / "n.safetensors", {{"a", DType::U8, {3}, codes.data(), ElementFormat::F8E4M3FN},
                                              {"b", DType::U8, {3}, codes.data(), ElementFormat::F8E5M2},
                                              {"c", DType::I8, {3}, codes.data(), ElementFormat::I4}});
  auto archive = openSafetensors(folder / "n.safetensors");
  EXPECT_THAT(std::string(archive->getHeader()), HasSubstr("F8_E4M3"));
  EXPECT_THAT(std::string(archive->getHeader()), HasSubstr("F8_E5M2"));
  ValueInfo plain;
  plain.name = "x";
  plain.dtype = DType::U8;
  plain.shape = {3};
  ValueInfo narrow = plain;
  narrow.format = ElementFormat::F8E4M3FN;
  ArraySource source = archive->open("a");
  source.check(narrow);
  std::vector<uint8_t> read(3);
  source.read(DType::U8, {{0, 3}}, {3}, read.data());
  EXPECT_EQ(read, codes);
  EXPECT_THAT(messageOf([&] { archive->open("b").check(narrow); }),
              HasSubstr("holds f8E5M2[3] and parameter 'x' is f8E4M3FN[3]; save it with numpy as "
                        "array.astype(ml_dtypes.float8_e4m3fn)"));
  EXPECT_THAT(messageOf([&] { archive->open("a").check(plain); }),
              HasSubstr("holds f8E4M3FN[3] and parameter 'x' is u8[3]"));
  narrow.format = ElementFormat::I4;
  narrow.dtype = DType::I8;
  EXPECT_NO_THROW(archive->open("c").check(narrow));
}

// data/written.safetensors was written by hand and read with the package (make_data.py).
TEST(Safetensors, what_is_written_is_what_the_package_reads) {
  TemporaryFolder folder;
  std::vector<uint8_t> flags = {1, 0, 1};
  std::vector<float> w = {1, 2, 3, 4, 5, 6};
  std::vector<uint16_t> h = {0x3f80, 0xc000};
  std::vector<int64_t> n = {-7};
  writeSafetensors(folder / "w.safetensors", {{"flags", DType::Bool, {3}, flags.data()},
                                              {"p.w", DType::F32, {2, 3}, w.data()},
                                              {"h", DType::BF16, {2}, h.data()},
                                              {"n", DType::I64, {}, n.data()}});
  MappedFile file(folder / "w.safetensors"), checked(dataFile("written.safetensors"));
  EXPECT_EQ(file.bytes(), checked.bytes());
}

} // namespace
