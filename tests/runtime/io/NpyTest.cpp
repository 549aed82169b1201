#include "runtime/io/Npy.h"

#include "runtime/support/File.h"
#include "tests/runtime/io/IoTestSupport.h"
#include "tests/support/ElementTypes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

using namespace spmd;
using namespace spmd::testing_io;
using testing::HasSubstr;

namespace {

ValueInfo parameter(DType dtype, std::vector<int64_t> shape) {
  ValueInfo info;
  info.name = "x";
  info.dtype = dtype;
  info.shape = std::move(shape);
  return info;
}

/// Reads the box and compares each element with the value that NumPy stored; the padding must be zero.
void expectBox(ArraySource source, DType dtype, ShardRange rows, ShardRange columns, std::vector<int64_t> padded) {
  std::vector<char> bytes(static_cast<size_t>(padded[0] * padded[1] * byteSize(dtype)), '\x55');
  source.read(dtype, {rows, columns}, padded, bytes.data());
  for (int64_t r = 0; r < padded[0]; ++r)
    for (int64_t c = 0; c < padded[1]; ++c) {
      bool owned = r < rows.size && c < columns.size;
      double expected = owned ? expectedElement(dtype, rows.start + r, columns.start + c) : 0;
      ASSERT_EQ(elementAt(dtype, bytes.data(), r * padded[1] + c), expected)
          << source.getName() << " element " << r << ", " << c;
    }
}

TEST(Npy, reads_every_dtype) {
  for (DType dtype : test::elementTypes()) {
    ArraySource source = openNpy(dataFile(std::string(dtypeName(dtype)) + ".npy"));
    EXPECT_EQ(source.getLayout().dtype, dtype);
    EXPECT_NO_THROW(source.check(parameter(dtype, {3, 5})));
    expectBox(std::move(source), dtype, {0, 3}, {0, 5}, {3, 5});
  }
}

// Each device reads its own shard: rows, columns, blocks, padded and empty ones, for every order of the file.
TEST(Npy, reads_shards_in_every_layout) {
  for (const char *file : {"f32.npy", "fortran.npy", "big_endian.npy", "version2.npy", "version3.npy"})
    for (ShardRange rows : {ShardRange{0, 3}, ShardRange{1, 2}, ShardRange{2, 1}, ShardRange{3, 0}})
      for (ShardRange columns : {ShardRange{0, 5}, ShardRange{2, 2}, ShardRange{4, 1}, ShardRange{5, 0}})
        expectBox(openNpy(dataFile(file)), DType::F32, rows, columns, {3, 6});
  expectBox(openNpy(dataFile("big_endian_i64.npy")), DType::I64, {1, 2}, {0, 5}, {2, 5});
}

TEST(Npy, reads_scalars_vectors_and_empty_arrays) {
  float scalar = 0;
  openNpy(dataFile("scalar.npy")).read(DType::F32, {}, {}, &scalar);
  EXPECT_EQ(scalar, 2.5f);
  std::vector<int32_t> part(4, -1);
  openNpy(dataFile("vector.npy")).read(DType::I32, {{4, 3}}, {4}, part.data());
  EXPECT_THAT(part, testing::ElementsAre(4, 5, 6, 0));
  EXPECT_NO_THROW(openNpy(dataFile("empty.npy")).check(parameter(DType::F32, {0, 5})));
}

TEST(Npy, wrong_dtype_names_both_and_the_remedy) {
  EXPECT_THAT(messageOf([] { openNpy(dataFile("f64.npy")).check(parameter(DType::F32, {3, 5})); }),
              HasSubstr("f64.npy' holds f64[3, 5] and parameter 'x' is f32[3, 5]; save it with numpy as "
                        "array.astype('float32')"));
  EXPECT_THAT(messageOf([] { openNpy(dataFile("i64.npy")).check(parameter(DType::I32, {3, 5})); }),
              HasSubstr("array.astype('int32')"));
  EXPECT_THAT(messageOf([] { openNpy(dataFile("f16.npy")).check(parameter(DType::BF16, {3, 5})); }),
              HasSubstr("array.astype(ml_dtypes.bfloat16)"));
  EXPECT_THAT(messageOf([] { openNpy(dataFile("complex.npy")).check(parameter(DType::F32, {3})); }),
              HasSubstr("complex.npy' holds c64[3] and parameter 'x' is f32[3], which has no imaginary part; save "
                        "array.real or numpy.abs(array)"));
  EXPECT_THAT(messageOf([] { openNpy(dataFile("date.npy")).check(parameter(DType::I32, {3})); }),
              HasSubstr("`<M8[s]`"));
  EXPECT_THAT(messageOf([] { openNpy(dataFile("structured.npy")).check(parameter(DType::I32, {3})); }),
              HasSubstr("`structured`"));
}

TEST(Npy, wrong_shape_names_both) {
  EXPECT_THAT(messageOf([] { openNpy(dataFile("f32.npy")).check(parameter(DType::F32, {5, 3})); }),
              HasSubstr("f32.npy' holds f32[3, 5] and parameter 'x' is f32[5, 3]; give an array of that shape"));
}

TEST(Npy, keys_are_two_words) {
  TemporaryFolder folder;
  std::vector<uint32_t> words = {1, 2, 3, 4, 5, 6};
  writeNpy(folder / "k.npy", DType::Key, {3}, words.data());
  ArraySource source = openNpy(folder / "k.npy");
  EXPECT_EQ(source.getLayout().shape, (std::vector<int64_t>{3, 2}));
  source.check(parameter(DType::Key, {3}));
  std::vector<uint32_t> part(4, 9);
  source.read(DType::Key, {{1, 2}}, {2}, part.data());
  EXPECT_THAT(part, testing::ElementsAre(3, 4, 5, 6));
}

ValueInfo complexParameter(DType part, std::vector<int64_t> shape) {
  ValueInfo info = parameter(part, std::move(shape));
  info.format = ElementFormat::Complex;
  return info;
}

ValueInfo narrowParameter(ElementFormat format, std::vector<int64_t> shape) {
  ValueInfo info = parameter(findNarrow(format)->storage, std::move(shape));
  info.format = format;
  return info;
}

TEST(Npy, narrow_numbers_are_bytes) {
  std::vector<uint8_t> part(2, 9);
  ArraySource floats = openNpy(dataFile("float8_e4m3fn.npy"));
  floats.check(narrowParameter(ElementFormat::F8E4M3FN, {2, 3}));
  floats.read(DType::U8, {{1, 1}, {1, 2}}, {1, 2}, part.data());
  EXPECT_THAT(part, testing::ElementsAre(0xc8, 0x4a)); // -4 and 5.
  openNpy(dataFile("float8_e5m2.npy")).check(narrowParameter(ElementFormat::F8E5M2, {2, 3}));
  ArraySource integers = openNpy(dataFile("int4.npy"));
  integers.check(narrowParameter(ElementFormat::I4, {2, 3}));
  integers.read(DType::I8, {{0, 1}, {1, 2}}, {1, 2}, part.data());
  EXPECT_THAT(part, testing::ElementsAre(0x0e, 3)); // The low bits of -2.
  // Bytes that were saved as such are read, too; no other parameter takes bytes of a narrow type.
  EXPECT_NO_THROW(openNpy(dataFile("u8.npy")).check(narrowParameter(ElementFormat::F8E5M2, {3, 5})));
  EXPECT_NO_THROW(openNpy(dataFile("i8.npy")).check(narrowParameter(ElementFormat::I4, {3, 5})));
  EXPECT_THAT(messageOf([] { openNpy(dataFile("bool.npy")).check(narrowParameter(ElementFormat::U4, {3, 5})); }),
              HasSubstr("holds bool[3, 5] and parameter 'x' is u4[3, 5]; save it with numpy as "
                        "array.astype(ml_dtypes.uint4)"));
  EXPECT_THAT(messageOf([] { openNpy(dataFile("f32.npy")).check(narrowParameter(ElementFormat::F8E4M3FN, {3, 5})); }),
              HasSubstr("holds f32[3, 5] and parameter 'x' is f8E4M3FN[3, 5]; save it with numpy as "
                        "array.astype(ml_dtypes.float8_e4m3fn)"));
  EXPECT_THAT(messageOf([] { openNpy(dataFile("float8_e5m2.npy")).check(parameter(DType::U8, {2, 3})); }),
              HasSubstr("holds elements of type `<f1`, which the language does not have"));
  EXPECT_THAT(
      messageOf([] { openNpy(dataFile("float8_e5m2.npy")).check(narrowParameter(ElementFormat::F8E5M2, {3, 2})); }),
      HasSubstr("and parameter 'x' is f8E5M2[3, 2]; give an array of that shape"));
}

TEST(Npy, complex_numbers_are_their_parts) {
  ArraySource source = openNpy(dataFile("complex_matrix.npy"));
  source.check(complexParameter(DType::F64, {2, 3, 2}));
  std::vector<double> part(4, -1);
  source.read(DType::F64, {{1, 1}, {1, 2}, {0, 2}}, {1, 2, 2}, part.data());
  EXPECT_THAT(part, testing::ElementsAre(4, 1, 5, 0));
  std::vector<float> swapped(2, -1);
  openNpy(dataFile("complex_big_endian.npy")).read(DType::F32, {{0, 1}, {1, 1}, {0, 2}}, {1, 1, 2}, swapped.data());
  EXPECT_THAT(swapped, testing::ElementsAre(1, 4));
  // Parts that were saved as such are read, too.
  TemporaryFolder folder;
  std::vector<float> parts = {1, 2, 3, 4};
  writeNpy(folder / "p.npy", DType::F32, {2, 2}, parts.data());
  EXPECT_NO_THROW(openNpy(folder / "p.npy").check(complexParameter(DType::F32, {2, 2})));
  EXPECT_THAT(
      messageOf([] { openNpy(dataFile("complex_matrix.npy")).check(complexParameter(DType::F32, {2, 3, 2})); }),
      HasSubstr("holds c128[2, 3] and parameter 'x' is c64[2, 3]; save it with numpy as array.astype('complex64')"));
  EXPECT_THAT(messageOf([] { openNpy(dataFile("complex.npy")).check(complexParameter(DType::F32, {4, 2})); }),
              HasSubstr("holds c64[3] and parameter 'x' is c64[4]; give an array of that shape"));
  EXPECT_THAT(
      messageOf([] { openNpy(dataFile("complex_fortran.npy")).check(complexParameter(DType::F32, {2, 3, 2})); }),
      HasSubstr("holds complex numbers in Fortran order; save it with numpy.ascontiguousarray"));
}

TEST(Npy, missing_and_foreign_files) {
  EXPECT_EQ(messageOf([] { openNpy("no/such.npy"); }), "cannot read 'no/such.npy': No such file or directory");
  EXPECT_THAT(messageOf([] { openNpy(dataFile("stored.npz")); }), HasSubstr("is not a .npy file"));
}

// NumPy has no such array either: the strides after the empty dimension would overflow.
TEST(Npy, a_shape_that_overflows_behind_an_empty_dimension_is_refused) {
  TemporaryFolder folder;
  for (const char *shape : {"(0, 4611686018427387904, 4611686018427387904)", "(4611686018427387904, 2, 0)",
                            "(4611686018427387904, 4611686018427387904, 0)"})
    for (const char *order : {"True", "False"}) {
      std::string text = std::string("{'descr': '<i8', 'fortran_order': ") + order + ", 'shape': " + shape + "}\n";
      std::ofstream(folder / "e.npy", std::ios::binary)
          << std::string("\x93NUMPY\x01\x00", 8) << static_cast<char>(text.size()) << '\0' << text;
      EXPECT_THAT(messageOf([&] { openNpy(folder / "e.npy"); }), HasSubstr("more elements than a file can hold"));
    }
}

// No damaged header may crash the parser or make it accept a size that the file does not have.
TEST(Npy, damaged_files_are_refused_or_read_but_never_crash) {
  MappedFile file(dataFile("f32.npy"));
  std::string bytes(file.bytes());
  TemporaryFolder folder;
  auto open = [&](const std::string &content) {
    std::ofstream(folder / "d.npy", std::ios::binary) << content;
    return messageOf([&] {
      ArraySource source = openNpy(folder / "d.npy");
      source.check(parameter(DType::F32, {3, 5}));
      std::vector<float> data(15);
      source.read(DType::F32, {{0, 3}, {0, 5}}, {3, 5}, data.data());
    });
  };
  EXPECT_EQ(open(bytes), "no error");
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_NE(open(bytes.substr(0, size)), "no error") << size;
  for (size_t i = 0; i < 128; ++i)
    for (char replacement : {'\0', '\xff', '(', '9', '\''}) {
      std::string damaged = bytes;
      damaged[i] = replacement;
      open(damaged);
    }
  std::string huge = bytes;
  huge.replace(huge.find("(3, 5)"), 30, "(4611686018427387904, 4, 0, 7)");
  EXPECT_NE(open(huge), "no error");
  std::string version = bytes;
  version[6] = 9;
  EXPECT_THAT(open(version), HasSubstr("has .npy version 9 and versions 1 to 3 are read"));
}

// The written bytes are exactly those of NumPy.
TEST(Npy, writes_what_numpy_writes) {
  TemporaryFolder folder;
  for (DType dtype : test::elementTypes()) {
    if (dtype == DType::BF16) // NumPy writes it as <V2; read are both.
      continue;
    MappedFile numpy(dataFile(std::string(dtypeName(dtype)) + ".npy"));
    writeNpy(folder / "w.npy", dtype, {3, 5}, numpy.bytes().data() + 128);
    EXPECT_EQ(MappedFile(folder / "w.npy").bytes(), numpy.bytes()) << dtypeName(dtype);
  }
  MappedFile vector(dataFile("vector.npy"));
  writeNpy(folder / "v.npy", DType::I32, {7}, vector.bytes().data() + 128);
  EXPECT_EQ(MappedFile(folder / "v.npy").bytes(), vector.bytes());
  MappedFile scalar(dataFile("scalar.npy"));
  writeNpy(folder / "s.npy", DType::F32, {}, scalar.bytes().data() + 128);
  EXPECT_EQ(MappedFile(folder / "s.npy").bytes(), scalar.bytes());
  MappedFile complex(dataFile("complex_matrix.npy"));
  writeNpy(folder / "c.npy", DType::F64, {2, 3, 2}, complex.bytes().data() + 128, ElementFormat::Complex);
  EXPECT_EQ(MappedFile(folder / "c.npy").bytes(), complex.bytes());
  uint16_t bf16 = floatToBf16(2.5f);
  writeNpy(folder / "b.npy", DType::BF16, {}, &bf16);
  EXPECT_THAT(std::string(MappedFile(folder / "b.npy").bytes()), HasSubstr("'descr': '|V2'"));
  uint8_t f8 = 0x38;
  writeNpy(folder / "n.npy", DType::U8, {}, &f8, ElementFormat::F8E4M3FN);
  EXPECT_THAT(std::string(MappedFile(folder / "n.npy").bytes()), HasSubstr("'descr': '|V1'"));
  EXPECT_EQ(folder.fileCount(), 6u);
}

TEST(Npy, a_file_that_cannot_be_written_leaves_nothing) {
  float value = 1;
  EXPECT_THAT(messageOf([&] { writeNpy("/proc/none/x.npy", DType::F32, {}, &value); }),
              HasSubstr("cannot create '/proc/none/x.npy'"));
  TemporaryFolder folder;
  std::filesystem::create_directory(folder / "x.npy");
  EXPECT_NE(messageOf([&] { writeNpy(folder / "x.npy", DType::F32, {}, &value); }), "no error");
  EXPECT_EQ(folder.fileCount(), 1u);
}

TEST(Npy, a_file_that_becomes_shorter_while_it_is_read_is_named) {
  TemporaryFolder folder;
  std::vector<float> values(4096, 1);
  writeNpy(folder / "x.npy", DType::F32, {4096}, values.data());
  ArraySource source = openNpy(folder / "x.npy");
  std::filesystem::resize_file(folder / "x.npy", 4096);
  EXPECT_THAT(messageOf([&] { source.read(DType::F32, {{0, 4096}}, {4096}, values.data()); }),
              HasSubstr("x.npy': the file has become shorter since it was opened"));
}

} // namespace
