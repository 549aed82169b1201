#include "tests/runtime/api/ApiTestSupport.h"
#include "tests/support/ElementTypes.h"

#include <dlpack/dlpack.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace spmd;
using namespace spmd::testing_api;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// A tensor of another library, f32[2, 3] of 0 ... 5 unless the test changes it; counts the calls of its deleter.
struct Tensor {
  Tensor() {
    managed.dl_tensor = {memory, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, nullptr, 0};
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensor *self) { ++static_cast<Tensor *>(self->manager_ctx)->deleted; };
  }

  alignas(64) float memory[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  int64_t shape[2] = {2, 3}, strides[2] = {3, 1};
  DLManagedTensor managed = {};
  int deleted = 0;
};

const float *dataOf(const DLManagedTensor *tensor) { return static_cast<const float *>(tensor->dl_tensor.data); }

class Dlpack : public testing::Test {
protected:
  /// Returns the error, after a check that the caller still owns the tensor.
  std::string refusal(Tensor &tensor) {
    std::string message = messageOf([&] { from_dlpack(&tensor.managed); });
    EXPECT_EQ(tensor.deleted, 0);
    return message;
  }

  LocalJob job{4};
};

// The memory belongs to the other library, also when the array is exported again, and is deleted when its last user
// releases it.
TEST_F(Dlpack, memory_is_shared_and_deleted_once) {
  Tensor tensor;
  Array array = from_dlpack(&tensor.managed);
  EXPECT_EQ(array.shape(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(array.dtype(), DType::F32);
  EXPECT_THAT(array.to_host<float>(), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(array.sharding().mesh().device_ids(), (std::vector<int64_t>{local_devices()[0].id}));
  DLManagedTensor *out = to_dlpack(array);
  EXPECT_EQ(dataOf(out), tensor.memory);
  Array copy = array;
  array = copy = Array();
  EXPECT_EQ(tensor.deleted, 0);
  out->deleter(out);
  EXPECT_EQ(tensor.deleted, 1);
}

TEST_F(Dlpack, a_tensor_may_have_no_deleter) {
  Tensor tensor;
  tensor.managed.deleter = nullptr;
  EXPECT_THAT(from_dlpack(&tensor.managed).to_host<float>(), ElementsAre(0, 1, 2, 3, 4, 5));
}

// A tensor over an array of the runtime: the memory outlives the array and the job.
TEST(DlpackOut, a_tensor_outlives_its_array_and_the_job) {
  DLManagedTensor *out = nullptr;
  {
    LocalJob job(1);
    std::vector<float> values = counting(6);
    out = to_dlpack(device_put(view(values, {2, 3}), local_devices()[0]));
  }
  const DLTensor &tensor = out->dl_tensor;
  EXPECT_EQ(tensor.device.device_type, kDLCPU);
  EXPECT_EQ(tensor.device.device_id, 0);
  ASSERT_EQ(tensor.ndim, 2);
  EXPECT_THAT(std::vector<int64_t>(tensor.shape, tensor.shape + 2), ElementsAre(2, 3));
  EXPECT_THAT(std::vector<int64_t>(tensor.strides, tensor.strides + 2), ElementsAre(3, 1));
  EXPECT_EQ(tensor.byte_offset, 0u);
  EXPECT_THAT(std::vector<float>(dataOf(out), dataOf(out) + 6), ElementsAre(0, 1, 2, 3, 4, 5));
  out->deleter(out);
}

TEST_F(Dlpack, the_data_begin_at_the_offset) {
  Tensor tensor;
  tensor.managed.dl_tensor.byte_offset = 8;
  tensor.managed.dl_tensor.strides = tensor.strides;
  Array array = from_dlpack(&tensor.managed);
  EXPECT_THAT(array.to_host<float>(), ElementsAre(2, 3, 4, 5, 6, 7));
  DLManagedTensor *out = to_dlpack(array);
  EXPECT_EQ(dataOf(out), tensor.memory + 2);
  out->deleter(out);
}

// Strides of dimensions with at most one element do not matter.
TEST_F(Dlpack, strides_of_single_elements_and_of_none_are_free) {
  Tensor single, none, scalar;
  single.shape[0] = 1;
  single.strides[0] = 77;
  single.managed.dl_tensor.strides = single.strides;
  EXPECT_THAT(from_dlpack(&single.managed).to_host<float>(), ElementsAre(0, 1, 2));
  none.shape[1] = 0;
  none.managed.dl_tensor.strides = none.strides;
  none.managed.dl_tensor.data = nullptr;
  none.managed.dl_tensor.byte_offset = 4;
  EXPECT_THAT(from_dlpack(&none.managed).to_host<float>(), ElementsAre());
  scalar.managed.dl_tensor.ndim = 0;
  scalar.managed.dl_tensor.shape = nullptr;
  EXPECT_EQ(from_dlpack(&scalar.managed).item<float>(), 0);
  EXPECT_EQ(single.deleted + none.deleted + scalar.deleted, 3);
}

TEST_F(Dlpack, other_strides_are_refused) {
  Tensor transposed, padded, reversed;
  transposed.strides[0] = 1;
  transposed.strides[1] = 2;
  padded.strides[0] = 4;
  reversed.strides[1] = -1;
  for (Tensor *tensor : {&transposed, &padded, &reversed}) {
    tensor->managed.dl_tensor.strides = tensor->strides;
    EXPECT_EQ(refusal(*tensor),
              "from_dlpack is given a tensor of type f32[2, 3] whose strides are not those of compact "
              "row-major order; make it contiguous first (a copy)");
  }
}

TEST_F(Dlpack, other_devices_are_refused) {
  Tensor tensor;
  tensor.managed.dl_tensor.device = {kDLCUDA, 1};
  EXPECT_EQ(refusal(tensor),
            "from_dlpack is given a tensor on a device of DLPack's type 2 and number 1, and cpu:0 is a "
            "CPU; copy it to host memory first (type 1, kDLCPU)");
}

TEST_F(Dlpack, what_no_array_can_be_is_refused) {
  Tensor complex, lanes, unaligned, empty, negative, large, shapeless;
  complex.managed.dl_tensor.dtype = {kDLComplex, 64, 1};
  EXPECT_THAT(refusal(complex), AllOf(HasSubstr("(code 5, 64 bits, 1 lanes)"), HasSubstr("convert it to one of f64")));
  lanes.managed.dl_tensor.dtype.lanes = 4;
  EXPECT_THAT(refusal(lanes), HasSubstr("4 lanes"));
  unaligned.managed.dl_tensor.byte_offset = 2;
  EXPECT_EQ(refusal(unaligned),
            "from_dlpack is given a tensor whose data are not at a multiple of 4 bytes, the size of a "
            "f32; copy it first, or give its values to device_put()");
  empty.managed.dl_tensor.data = nullptr;
  EXPECT_THAT(refusal(empty), HasSubstr("without data"));
  negative.shape[0] = -2;
  EXPECT_THAT(refusal(negative), HasSubstr("f32[-2, 3]; sizes are not negative"));
  large.shape[0] = large.shape[1] = int64_t(1) << 40;
  EXPECT_THAT(refusal(large), HasSubstr("that is more than any memory holds"));
  shapeless.managed.dl_tensor.shape = nullptr;
  EXPECT_THAT(refusal(shapeless), HasSubstr("2 dimensions without a shape"));
  EXPECT_THAT(messageOf([] { from_dlpack(nullptr); }), HasSubstr("given no tensor"));
}

TEST_F(Dlpack, every_type_goes_there_and_back) {
  alignas(8) char bytes[8] = {1, 0, 1, 0, 1, 0, 1, 0};
  for (DType dtype : test::elementTypes()) {
    Array array = device_put({dtype, {8 / byteSize(dtype)}, bytes}, local_devices()[1]);
    DLManagedTensor *out = to_dlpack(array);
    EXPECT_EQ(out->dl_tensor.dtype.bits, 8 * byteSize(dtype)) << dtypeName(dtype);
    Array back = from_dlpack(out, local_devices()[2]);
    EXPECT_EQ(back.dtype(), dtype);
    EXPECT_EQ(back.shape(), array.shape());
    EXPECT_EQ(back.str(), array.str());
  }
  EXPECT_THAT(messageOf([&] { to_dlpack(device_put({DType::Key, {1}, bytes}, local_devices()[0])); }),
              HasSubstr("DLPack has no type for key"));
}

// The shards of an array over several devices are tensors; the array itself is not.
TEST_F(Dlpack, an_array_on_several_devices_goes_out_in_shards) {
  Mesh mesh = make_mesh({4}, {"i"});
  std::vector<float> values = counting(8);
  Array cut = device_put(view(values), NamedSharding(mesh, P("i")));
  EXPECT_EQ(messageOf([&] { to_dlpack(cut); }),
            "to_dlpack of f32[8] @ P(i) is not possible: it is on 4 devices; give one of array.addressable_shards(), "
            "or copy it to one device with device_put(array, NamedSharding(Mesh({}, {}, {device}), P()))");
  EXPECT_THAT(messageOf([&] { to_dlpack(device_put(view(values), NamedSharding(mesh, P()))); }),
              HasSubstr("it is on 4 devices"));
  EXPECT_THAT(messageOf([&] { to_dlpack(Array()); }), HasSubstr("an Array without a value is used"));
  DLManagedTensor *part = to_dlpack(cut.addressable_shards()[1]);
  EXPECT_THAT(std::vector<float>(dataOf(part), dataOf(part) + part->dl_tensor.shape[0]), ElementsAre(2, 3));
  part->deleter(part);
  Array one = device_put(cut, NamedSharding(Mesh({}, {}, {local_devices()[3]}), P()));
  DLManagedTensor *whole = to_dlpack(one);
  EXPECT_THAT(std::vector<float>(dataOf(whole), dataOf(whole) + 8), testing::ElementsAreArray(values));
  whole->deleter(whole);
}

// Elements behind the end of the last shard are not visible.
TEST_F(Dlpack, a_padded_shard_has_its_own_elements) {
  std::vector<float> values = counting(7);
  Array cut = device_put(view(values), NamedSharding(make_mesh({4}, {"i"}), P("i")));
  DLManagedTensor *last = to_dlpack(cut.addressable_shards()[3]);
  EXPECT_EQ(last->dl_tensor.shape[0], 1);
  EXPECT_EQ(dataOf(last)[0], 6);
  last->deleter(last);
}

// Tensors of the devices of a mesh become one array without a copy; collectives read the tensors' memory.
TEST_F(Dlpack, tensors_are_the_parts_of_one_array) {
  std::vector<Tensor> tensors(4);
  std::vector<Array> parts;
  for (int64_t i = 0; i < 4; ++i)
    parts.push_back(from_dlpack(&tensors[i].managed, local_devices()[i]));
  NamedSharding cut(make_mesh({4}, {"i"}), P("i"));
  Array array = make_array_from_single_device_arrays({8, 3}, cut, parts);
  DLManagedTensor *out = to_dlpack(array.addressable_shards()[2]);
  EXPECT_EQ(dataOf(out), tensors[2].memory);
  out->deleter(out);
  Array whole = device_put(array, NamedSharding(cut.mesh(), P()));
  std::vector<float> expected;
  for (int i = 0; i < 24; ++i)
    expected.push_back(static_cast<float>(i % 6));
  EXPECT_EQ(whole.to_host<float>(), expected);
  array = whole = Array();
  parts.clear();
  for (Tensor &tensor : tensors)
    EXPECT_EQ(tensor.deleted, 1);
}

TEST_F(Dlpack, only_devices_of_this_process_take_a_tensor) {
  Tensor tensor;
  DeviceInfo other = local_devices()[0];
  other.id = 17;
  other.process_index = 3;
  EXPECT_THAT(messageOf([&] { from_dlpack(&tensor.managed, other); }),
              AllOf(HasSubstr("which is local to process 3, is called on process 0"), HasSubstr("local_devices()")));
  EXPECT_EQ(tensor.deleted, 0);
}

} // namespace
