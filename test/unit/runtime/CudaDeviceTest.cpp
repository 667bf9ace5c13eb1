//===- CudaDeviceTest.cpp - programs on the stand-in of a GPU -------------===//
//
// The program's kernels are host functions that the stand-in of the driver runs (test/fakecuda/FakeCuda.h).
//
//===----------------------------------------------------------------------===//

#include "FakeCard.h"
#include "TestProgram.h"

#include "runtime/cpu/Topology.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/program/Instance.h"

#include <gmock/gmock.h>

using namespace smet::rt;
using namespace smet::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// train_step: w += ids * by, by a number that is 0.5 until "faster" has run; loss = sum(w); unless it is NaN, m += 1.
constexpr std::string_view kCode = R"(
#include "test/fakecuda/FakeCuda.h"
static void scale(const struct fake_launch *launch, void **a) {
  float *w = *(float **)a[0];
  int *ids = *(int **)a[1];
  for (unsigned i = 0; i < launch->grid[0] * launch->block[0]; ++i) w[i] += ids[i] * *(float *)a[2];
}
static void sum(const struct fake_launch *launch, void **a) {
  float *w = *(float **)a[0], *loss = *(float **)a[1];
  *loss = w[0] + w[1] + w[2] + w[3];
}
static void count(const struct fake_launch *launch, void **a) {
  for (int i = 0; i < 4; ++i) (*(float **)a[0])[i] += 1;
}
static const int32_t widths[] = {8, 8, 4};
static const struct fake_function functions[] = {
    {"k_scale", scale, 3, widths}, {"k_sum", sum, 2, widths}, {"k_count", count, 1, widths}};
static const struct fake_image image = {"FAKECUDA", MAJOR, 3, functions};
static const struct smet_kernel scale_kernel = {"k.scale", 0, 0, 0, 0, SCALE_ENTRY, SCALE_IMAGE, 64};
static const struct smet_kernel sum_kernel = {"k.sum", 0, 0, 0, 0, "k_sum", &image, sizeof image};
static const struct smet_kernel count_kernel = {"k.count", 0, 0, 0, 0, "k_count", &image, sizeof image};
static float by = 0.5f;

int32_t smet_init(smet_context *context, char *arena) {
  static const int64_t normal[] = {O_seed, O_w, 4, 7, STD_BITS, 0}, one[] = {O_m, 16, 0x3f800000},
    topology[] = {O_seed, O_positions, O_coordinates, O_t_positions, O_t_coordinates, O_t_perm, 8, 8, 1, 1, 20, 3};
  int32_t status = context->init_normal_dense(context, arena, normal);
  if (status == SMET_OK) status = context->fill(context, arena, one);
  return status == SMET_OK ? context->topology_init(context, arena, topology) : status;
}
int32_t smet_train_step(smet_context *context, char *arena) {
  char *w = arena + O_w, *ids = arena + O_ids, *loss = arena + O_loss, *m = arena + O_m;
  float value, factor = by;
  void *first[] = {&w, &ids, &factor}, *second[] = {&w, &loss}, *third[] = {&m};
  int64_t first_bytes[] = {16, 16, -4}, other_bytes[] = {16, 4};
  struct smet_launch launch = {{2, 1, 1}, {2, 1, 1}, SHARED_BYTES, 3, first, first_bytes};
  if (context->trace) context->trace(context, 0);
  context->launch(context, &scale_kernel, &launch);
  launch = (struct smet_launch){{1, 1, 1}, {32, 1, 1}, 0, 2, second, other_bytes};
  if (context->trace) context->trace(context, 1);
  context->launch(context, &sum_kernel, &launch);
  context->read(context, &value, loss, 4);
  if (value - value != 0) return SMET_LOSS_NOT_FINITE;
  launch = (struct smet_launch){{1, 1, 1}, {1, 1, 1}, 0, 1, third, other_bytes};
  if (context->trace) context->trace(context, 2);
  context->launch(context, &count_kernel, &launch);
  if (context->trace) context->trace(context, -1);
  return SMET_OK;
}
int32_t smet_faster(smet_context *context, char *arena) {
  by = 2;
  return SMET_OK;
}
)";

/// What tests change in the program.
struct Variant {
  int major = 9;
  std::string entry = "\"k_scale\"", image = "&image";
  int64_t sharedBytes = 0;
};

class CudaDeviceTest : public ::testing::Test {
protected:
  /// The program at `path`.
  void write(const Variant &variant = {}) {
    ManifestBuilder builder({"init", "train_step", "faster"});
    std::string text;
    auto tensor = [&](const std::string &name, const char *role, const char *dtype, std::vector<int64_t> shape) {
      text += fmt::format("#define O_{} {}\n", name, builder.tensor(name, role, dtype, shape));
    };
    tensor("ids", "input", "i32", {4});
    tensor("w", "param", "f32", {4});
    tensor("seed", "input", "i64", {});
    tensor("m", "state", "f32", {4});
    for (const char *name : {"positions", "t_positions"})
      tensor(name, "topology", "i32", {9});
    for (const char *name : {"coordinates", "t_coordinates"})
      tensor(name, "topology", "i16", {20});
    tensor("t_perm", "topology", "i32", {20});
    tensor("loss", "output", "f32", {});
    builder.manifest["target"] = "cuda";
    builder.manifest["config"] = {{"batch", 32}};
    builder.manifest["calls"]["train_step"] = {call("scale"), call("sum"), call("count")};
    text += fmt::format("#define MAJOR {}\n#define SCALE_ENTRY {}\n#define SCALE_IMAGE {}\n#define SHARED_BYTES {}\n"
                        "#define STD_BITS {}\n",
                        variant.major, variant.entry, variant.image, variant.sharedBytes, std::bit_cast<int64_t>(0.02));
    manifest = builder.manifest;
    writeProgram(path, manifest, text + std::string(kCode));
  }
  static nlohmann::json call(const char *name) {
    return {{"callee", name}, {"op", name}, {"flops", 0}, {"bytes", 0}, {"cache_bytes", 0}};
  }

  void load() {
    auto loaded = Instance::load(path, *pool);
    ASSERT_TRUE(loaded) << loaded.error().message;
    instance = std::move(*loaded);
  }
  std::string loadError() {
    auto loaded = Instance::load(path, *pool);
    return loaded ? "" : loaded.error().message;
  }
  std::string runError(std::string_view entry) {
    auto outcome = instance->run(entry);
    return outcome ? "" : outcome.error().message;
  }
  template <typename T> std::vector<T> copied(const char *name) {
    const TensorInfo *info = instance->manifest().find(name);
    EXPECT_TRUE(instance->toHost({&info, 1}));
    auto values = *instance->arena().tensor<T>(name);
    return {values.begin(), values.end()};
  }
  /// Sets w, where the program has it.
  void setWeights(float value) {
    std::ranges::fill(*instance->arena().tensor<float>("w"), value);
    const TensorInfo *info = instance->manifest().find("w");
    ASSERT_TRUE(instance->toDevice({&info, 1}));
  }
  std::span<int32_t> ids() { return *instance->arena().tensor<int32_t>("ids"); }
  float loss() { return **instance->arena().scalar<float>("loss"); }

  TestFolder folder;
  std::filesystem::path path = folder / "p.smet";
  nlohmann::json manifest;
  FakeCard card;
  std::unique_ptr<ThreadPool> pool = std::move(*ThreadPool::create(1));
  std::unique_ptr<Instance> instance;
};

// The arena is zero at first; inputs go there before a run, outputs come back, others stay until they are copied.
TEST_F(CudaDeviceTest, Trains) {
  write();
  load();
  EXPECT_THAT(copied<float>("w"), ElementsAre(0, 0, 0, 0));
  float w[4] = {};
  for (int step = 1; step <= 5; ++step) {
    float sum = 0;
    for (int i = 0; i < 4; ++i) {
      ids()[i] = step * 10 + i;
      w[i] += float(step * 10 + i) * 0.5f;
      sum += w[i];
    }
    ASSERT_EQ(runError("train_step"), "");
    EXPECT_EQ(loss(), sum);
  }
  EXPECT_THAT(*instance->arena().tensor<float>("w"), ElementsAre(0, 0, 0, 0)) << "not copied yet";
  EXPECT_THAT(copied<float>("w"), ElementsAre(w[0], w[1], w[2], w[3]));
  EXPECT_THAT(copied<float>("m"), ElementsAre(5, 5, 5, 5));
}

// A step is two segments, before the loss is read and behind it. The first step launches its three kernels, the second
// captures, all others are two launches of graphs.
TEST_F(CudaDeviceTest, ReplaysGraphs) {
  write();
  load();
  ids()[0] = 1;
  auto steps = [&](int count) {
    for (int i = 0; i < count; ++i)
      ASSERT_EQ(runError("train_step"), "");
  };
  steps(5);
  fake_counts counts = card.counts();
  EXPECT_EQ(counts.launches, 3);
  EXPECT_EQ(counts.captures, 2);
  EXPECT_EQ(counts.graph_launches, 8);
  EXPECT_EQ(counts.kernels, 15);
  EXPECT_EQ(counts.modules, 1) << "three kernels of one image";
  EXPECT_EQ(loss(), 2.5f);

  ASSERT_EQ(runError("faster"), ""); // another argument: only the first segment is new
  steps(1);
  EXPECT_EQ(loss(), 4.5f);
  EXPECT_EQ(card.counts().launches, 5);
  EXPECT_EQ(card.counts().graph_launches, 9);
  steps(2);
  EXPECT_EQ(loss(), 8.5f);
  EXPECT_EQ(card.counts().captures, 3);
  EXPECT_EQ(card.counts().graph_launches, 13);
}

TEST_F(CudaDeviceTest, ALossThatIsNotFiniteEndsTheStep) {
  write();
  load();
  setWeights(INFINITY);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(instance->run("train_step"), Outcome::LossNotFinite);
  EXPECT_THAT(copied<float>("m"), ElementsAre(0, 0, 0, 0));
  setWeights(1);
  EXPECT_EQ(instance->run("train_step"), Outcome::Ok);
  EXPECT_EQ(loss(), 4);
}

// They run on the host: what they give is the host's, on the card.
TEST_F(CudaDeviceTest, RoutinesFillTheCard) {
  write();
  load();
  **instance->arena().scalar<int64_t>("seed") = 5;
  ASSERT_EQ(runError("init"), "");
  std::vector<float> w(4);
  initNormalDense(*pool, 5, 7, 0.02, std::span(w));
  std::vector<int32_t> positions(9), tPositions(9), tPerm(20);
  std::vector<int16_t> coordinates(20), tCoordinates(20);
  BlockGrid grid{8, 8, 1, 1};
  initTopology(*pool,
               Topology{{grid, 20, positions.data(), Coordinates(coordinates.data(), 8)},
                        tPositions.data(),
                        Coordinates(tCoordinates.data(), 8),
                        tPerm.data()},
               5, 3);
  std::memset(instance->arena().base(), 0x55, size_t(instance->manifest().arenaBytes));
  EXPECT_EQ(copied<float>("w"), w);
  EXPECT_THAT(copied<float>("m"), ElementsAre(1, 1, 1, 1));
  EXPECT_EQ(copied<int32_t>("positions"), positions);
  EXPECT_EQ(copied<int16_t>("t_coordinates"), tCoordinates);
  EXPECT_EQ(copied<int32_t>("t_perm"), tPerm);
}

// Each call is waited for; nothing is remembered.
TEST_F(CudaDeviceTest, Profiles) {
  write();
  load();
  ids()[0] = 1;
  Profile profile(instance->manifest().calls.at("train_step"));
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(instance->run("train_step", &profile));
  EXPECT_EQ(loss(), 1.5f);
  EXPECT_EQ(profile.byOp().size(), 3u);
  EXPECT_EQ(card.counts().launches, 9);
  EXPECT_EQ(card.counts().captures, 0);
}

TEST_F(CudaDeviceTest, GivesEverythingBack) {
  int64_t before = card.counts().live;
  write();
  load();
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(runError("train_step"), "");
  EXPECT_EQ(card.counts().live - before, 7) << "context, arena, pinned memory, stream, module, two graphs";
  instance.reset();
  EXPECT_EQ(card.counts().live, before);
  card.set("fail-alloc=1");
  EXPECT_NE(loadError(), "");
  EXPECT_EQ(card.counts().live, before);
  card.set("fail-launch=1");
  load();
  EXPECT_NE(runError("train_step"), "");
  instance.reset();
  EXPECT_EQ(card.counts().live, before);
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

TEST_F(CudaDeviceTest, SaysWhyThereIsNoCard) {
  write();
  std::string cannot = fmt::format("'{}' cannot run here: ", path.string());
  card.set("version=11040");
  EXPECT_EQ(loadError(), cannot + "the NVIDIA driver is too old: it knows CUDA 11.4, and smet needs CUDA 12.0 (driver "
                                  "525 or newer); update the driver");
  const std::string none = "the NVIDIA driver (CUDA 12.4) finds no GPU; look at `nvidia-smi` and "
                           "$CUDA_VISIBLE_DEVICES, or take --target cpu";
  card.set("devices=0");
  EXPECT_EQ(loadError(), cannot + none);
  card.set("init=100");
  EXPECT_EQ(loadError(), cannot + none);
  card.set("init=803");
  EXPECT_EQ(loadError(), cannot +
                             "the NVIDIA driver does not start: system has unsupported display driver / cuda driver "
                             "combination (CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, 803); `nvidia-smi` may say more");
  card.set("init=77");
  EXPECT_EQ(loadError(),
            cannot + "the NVIDIA driver does not start: error 77 of the driver; `nvidia-smi` may say more");
  setenv("SMET_CUDA_DRIVER", "/nowhere/libcuda.so", 1);
  EXPECT_THAT(loadError(),
              HasSubstr(cannot + "$SMET_CUDA_DRIVER names '/nowhere/libcuda.so', which cannot be opened: "));
}

// A library of the driver that lacks a function: any other library.
TEST_F(CudaDeviceTest, SaysThatALibraryIsNoDriver) {
  write();
  setenv("SMET_CUDA_DRIVER", "libm.so.6", 1);
  EXPECT_THAT(loadError(), HasSubstr("has no cuDriverGetVersion; install the driver anew"));
}

TEST_F(CudaDeviceTest, SaysThatTheCardIsTooSmallAndWhatWouldFit) {
  ManifestBuilder builder({"init"});
  builder.tensor("w", "param", "f32", {256, 1000});         // 1.024 MB
  builder.tensor("x", "workspace", "f32", {32, 1000, 100}); // 12.8 MB for a batch of 32
  builder.manifest["target"] = "cuda";
  builder.manifest["config"] = {{"batch", 32}};
  writeProgram(path, builder.manifest, "int32_t smet_init(smet_context *context, char *arena) { return SMET_OK; }");
  card.set("memory=14000000");
  EXPECT_EQ(loadError(), "");
  card.set("memory=5100000"); // 4.076 MB beside the weights: 10 of 32
  EXPECT_THAT(loadError(), HasSubstr("Stand-in 0 is too small: the program needs 13.8 MB and of the card's 5.10 MB, "
                                     "5.10 MB are free; a --batch-size of 10 would fit\n"));
  EXPECT_THAT(loadError(), HasSubstr("  activations           12.8 MB"));
  card.set("memory=1200000");
  EXPECT_THAT(loadError(),
              HasSubstr("not even a --batch-size of 1 fits: take a lower --density, a shorter --seq-len or a "
                        "smaller model"));
  card.set("memory=1000000");
  EXPECT_THAT(loadError(), HasSubstr("do not fit at any batch size: take a lower --density or a smaller model"));
  card.set("fail-alloc=1");
  EXPECT_THAT(loadError(),
              HasSubstr("Stand-in 0: memory for 13824000 bytes: out of memory (CUDA_ERROR_OUT_OF_MEMORY, 2)"));
}

TEST_F(CudaDeviceTest, SaysThatTheChipHasNoImage) {
  write();
  card.set("major=8,minor=6");
  load();
  EXPECT_EQ(runError("train_step"),
            "train_step: kernel 'k.scale' has no image for Stand-in 0, which is sm_86: the program was compiled for "
            "another chip; compile it again with --chip sm_86");
}

TEST_F(CudaDeviceTest, SaysWhatIsWrongWithAnImage) {
  auto error = [&](const Variant &variant) {
    write(variant);
    load();
    return runError("train_step");
  };
  EXPECT_EQ(error({.image = "\"no image of this driver\""}),
            "train_step: kernel 'k.scale': no text (CUDA_ERROR_INVALID_IMAGE, 200); the driver is that of CUDA 12.4: "
            "update it, or compile with a ptxas that is not newer ($SMET_PTXAS)");
  EXPECT_EQ(error({.image = "0"}), "train_step: kernel 'k.scale' was not compiled for a GPU");
  EXPECT_EQ(error({.entry = "\"k_other\""}),
            "train_step: kernel 'k.scale': 'k_other' in its image: no text (CUDA_ERROR_NOT_FOUND, 500)");
  EXPECT_EQ(error({.sharedBytes = 100 << 10}), "") << "asked for, where it is more than 48 KiB";
  EXPECT_EQ(error({.sharedBytes = 300 << 10}),
            "train_step: kernel 'k.scale': 307200 bytes of shared memory on Stand-in "
            "0: no text (CUDA_ERROR_INVALID_VALUE, 1)");
}

// Every later call of the driver fails, too: the message stays.
TEST_F(CudaDeviceTest, SaysThatAKernelFailed) {
  write();
  card.set("fail-launch=4"); // the first of the second step
  load();
  ASSERT_EQ(runError("train_step"), "");
  EXPECT_EQ(runError("train_step"),
            "train_step: Stand-in 0: a kernel or a copy failed: an illegal memory access was encountered "
            "(CUDA_ERROR_ILLEGAL_ADDRESS, 700); this process cannot use the card any more. With SMET_CUDA_SYNC=1 the "
            "message names the kernel");
  EXPECT_THAT(runError("train_step"), HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));
  EXPECT_THAT(runError("init"), HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));
}

TEST_F(CudaDeviceTest, NamesTheKernelThatFailed) {
  write();
  card.set("fail-launch=5");
  setenv("SMET_CUDA_SYNC", "1", 1);
  load();
  unsetenv("SMET_CUDA_SYNC");
  ASSERT_EQ(runError("train_step"), "");
  EXPECT_THAT(runError("train_step"), HasSubstr("train_step: kernel 'k.sum': Stand-in 0: a kernel or a copy failed: an "
                                                "illegal memory access was encountered"));
}

} // namespace
