//===- ProgramTest.cpp - manifest, loader, arena, instance ----------------===//

#include "TestProgram.h"

#include "runtime/program/Instance.h"
#include "runtime/program/InstructionSets.h"
#include "runtime/program/Processor.h"

#include <gmock/gmock.h>

#include <thread>

using namespace smet::rt;
using namespace smet::test;
using nlohmann::json;
using testing::HasSubstr;

namespace {

/// Entry points: init writes 1, 2, 3 to "w"; scale multiplies it by "factor" in a parallel loop; fail and nan end
/// with the other statuses.
constexpr std::string_view source = R"(
int32_t smet_init(smet_context *c, char *arena) {
  float *w = (float *)arena;
  w[0] = 1; w[1] = 2; w[2] = 3;
  return SMET_OK;
}
static void body(void *env, int64_t begin, int64_t end) {
  char *arena = env;
  float factor = *(float *)(arena + 64);
  for (int64_t i = begin; i < end; ++i)
    ((float *)arena)[i] *= factor;
}
int32_t smet_scale(smet_context *c, char *arena) {
  c->parallel_for(c, body, arena, 3);
  return SMET_OK;
}
int32_t smet_fail(smet_context *c, char *arena) {
  const char *text = "layer 3 is out of luck";
  for (int i = 0; i < c->error_size && (c->error[i] = text[i]); ++i)
    ;
  return SMET_ROUTINE_FAILED;
}
int32_t smet_nan(smet_context *c, char *arena) { return SMET_LOSS_NOT_FINITE; }
)";

json testManifest() {
  ManifestBuilder b({"init", "scale", "fail", "nan"});
  b.tensor("w", "param", "f32", {3});
  b.tensor("factor", "input", "f32", {});
  return b.manifest;
}

class ProgramFileTest : public testing::Test {
protected:
  void SetUp() override { writeProgram(path, testManifest(), source); }
  std::string bytes() { return readFile(path).value(); }
  std::string loadError() {
    auto program = Program::load(path);
    return program ? "" : program.error().message;
  }

  TestFolder folder;
  std::filesystem::path path = folder / "p.smet";
};

std::string parseError(const json &manifest) {
  auto parsed = Manifest::parse(manifest.dump());
  return parsed ? "" : parsed.error().message;
}

} // namespace

TEST_F(ProgramFileTest, LoadsAndRuns) {
  auto pool = ThreadPool::create(2);
  ASSERT_TRUE(pool);
  auto instance = Instance::load(path, **pool);
  ASSERT_TRUE(instance) << instance.error().message;
  Arena &arena = (*instance)->arena();
  auto w = arena.tensor<float>("w");
  ASSERT_TRUE(w);
  EXPECT_THAT(*w, testing::ElementsAre(0, 0, 0)) << "the arena is zero at first";
  EXPECT_EQ((*instance)->run("init"), Outcome::Ok);
  *arena.scalar<float>("factor").value() = 10;
  EXPECT_EQ((*instance)->run("scale"), Outcome::Ok);
  EXPECT_THAT(*w, testing::ElementsAre(10, 20, 30));

  EXPECT_EQ((*instance)->run("nan"), Outcome::LossNotFinite);
  auto failed = (*instance)->run("fail");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "fail: layer 3 is out of luck");
  auto unknown = (*instance)->run("decode");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("it has init, scale, fail, nan"));
}

TEST_F(ProgramFileTest, OfAnotherProcessorIsRefusedNotRun) {
  auto pool = ThreadPool::create(1);
  ASSERT_TRUE(pool);
  auto error = [&](std::vector<std::string> needed) {
    json manifest = testManifest();
    manifest["cpu"] = "znver9";
    manifest["instruction_sets"] = needed;
    writeProgram(path, manifest, source);
    auto instance = Instance::load(path, **pool);
    return instance ? "" : instance.error().message;
  };
  std::vector<std::string> here, lacking;
  for (const char *name : smet::x86InstructionSets)
    (machineHas(name) ? here : lacking).push_back(name);
  ASSERT_FALSE(lacking.empty()); // no processor has all: xop and avx512fp16 are different makers'
  EXPECT_EQ(error(here), "");
  EXPECT_THAT(error({here[0], lacking[0]}),
              AllOf(HasSubstr("compiled for the processor znver9: this machine lacks " + lacking[0] + ";"),
                    HasSubstr("--cpu"), HasSubstr(path.string())));
  EXPECT_THAT(error({"avx4096"}), HasSubstr("lacks avx4096;")) << "one that this runtime does not know yet";
  EXPECT_EQ(Program::load(path)->manifest().cpu, "znver9") << "it may be looked at";
}

TEST(Processor, HasWhatTheKernelOfTheSystemSays) {
  std::istringstream flags(readFile("/proc/cpuinfo").value());
  std::string line;
  while (std::getline(flags, line) && !line.starts_with("flags"))
    ;
  if (line.empty())
    GTEST_SKIP() << "no x86 processor";
  line += " ";
  for (std::string name : {"ssse3", "popcnt", "movbe", "avx", "f16c", "fma", "avx2", "bmi2", "avx512f", "avx512bw",
                           "avx512dq", "avx512vl", "sse4a", "fma4", "xop", "gfni"})
    EXPECT_EQ(machineHas(name), line.find(" " + name + " ") != line.npos) << name;
}

TEST_F(ProgramFileTest, EveryTruncationIsRefused) {
  std::string whole = bytes();
  for (size_t keep : {size_t(0), size_t(10), size_t(32), size_t(100), whole.size() / 2, whole.size() - 33,
                      whole.size() - 32, whole.size() - 1}) {
    ASSERT_TRUE(writeFileAtomically(path, whole.substr(0, keep)));
    EXPECT_THAT(loadError(), HasSubstr("no smet program")) << keep << " bytes";
  }
}

TEST_F(ProgramFileTest, MissingMiddleIsRefused) {
  std::string whole = bytes();
  ASSERT_TRUE(writeFileAtomically(path, whole.substr(0, 1000) + whole.substr(1001)));
  EXPECT_THAT(loadError(), HasSubstr("is damaged"));
}

TEST_F(ProgramFileTest, EveryFlippedBitIsFound) {
  std::string whole = bytes();
  for (size_t at = 0; at < whole.size() - 32; at += whole.size() / 50) {
    std::string flipped = whole;
    flipped[at] ^= 1 << at % 8;
    ASSERT_TRUE(writeFileAtomically(path, flipped));
    EXPECT_THAT(loadError(), HasSubstr("checksum")) << "byte " << at;
  }
}

TEST_F(ProgramFileTest, OtherVersionIsRefused) {
  std::string whole = bytes();
  smet_trailer trailer;
  std::memcpy(&trailer, whole.data() + whole.size() - sizeof(trailer), sizeof(trailer));
  trailer.abi_version = 77;
  std::memcpy(whole.data() + whole.size() - sizeof(trailer), &trailer, sizeof(trailer));
  ASSERT_TRUE(writeFileAtomically(path, whole));
  EXPECT_THAT(loadError(), HasSubstr("version 77"));
}

TEST_F(ProgramFileTest, NotAProgramIsRefused) {
  ASSERT_TRUE(writeFileAtomically(path, std::string(4096, 'x')));
  EXPECT_THAT(loadError(), HasSubstr("no smet program"));
  path = folder / "none.smet";
  EXPECT_THAT(loadError(), HasSubstr("No such file"));
}

TEST_F(ProgramFileTest, SharedObjectWithoutManifestIsRefused) {
  std::string object = path.string();
  ASSERT_TRUE(writeFileAtomically(folder / "empty.c", "int nothing;\n"));
  std::string command =
      fmt::format("'{}' -shared -fPIC -o '{}' '{}'", SMET_CLANG, object, (folder / "empty.c").string());
  ASSERT_EQ(std::system(command.c_str()), 0);
  ASSERT_EQ(smet::appendTrailer(object), "");
  EXPECT_THAT(loadError(), HasSubstr("exports no smet_manifest"));
}

TEST_F(ProgramFileTest, ListedEntryPointMustExist) {
  json manifest = testManifest();
  manifest["entry_points"].push_back("decode");
  manifest["calls"]["decode"] = json::array();
  writeProgram(path, manifest, source);
  EXPECT_THAT(loadError(), HasSubstr("does not export it"));
}

TEST_F(ProgramFileTest, ReplacedFileIsLoadedAnewWhileTheOldOneRuns) {
  auto pool = ThreadPool::create(1);
  auto first = Instance::load(path, **pool);
  ASSERT_TRUE(first);
  ManifestBuilder b({"init"});
  b.tensor("w", "param", "f32", {1});
  auto other = folder / "other.smet";
  writeProgram(other, b.manifest,
               "int32_t smet_init(smet_context *c, char *arena) { *(float *)arena = 42; return SMET_OK; }");
  std::filesystem::rename(other, path);
  auto second = Instance::load(path, **pool);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ((*second)->run("init"), Outcome::Ok);
  EXPECT_EQ(*(*second)->arena().scalar<float>("w").value(), 42);
  EXPECT_EQ((*first)->run("init"), Outcome::Ok);
  EXPECT_EQ((*first)->arena().tensor<float>("w").value()[1], 2);
}

TEST(Arena, ViewsCheckNameDtypeAndCount) {
  ManifestBuilder b({});
  b.tensor("weight", "param", "f32", {2, 3});
  b.tensor("age", "state", "i16", {5});
  auto manifest = Manifest::parse(b.manifest.dump());
  ASSERT_TRUE(manifest) << manifest.error().message;
  auto arena = Arena::create(*manifest);
  ASSERT_TRUE(arena);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(arena->base()) % SMET_ALIGNMENT, 0u);
  EXPECT_EQ(arena->tensor<float>("weight").value().size(), 6u);
  EXPECT_EQ(arena->tensor<uint16_t>("age").value().size(), 5u);
  EXPECT_THAT(arena->tensor<float>("wieght").error().message, HasSubstr("no tensor 'wieght'"));
  EXPECT_THAT(arena->tensor<int32_t>("weight").error().message, HasSubstr("dtype f32"));
  EXPECT_THAT(arena->scalar<float>("weight").error().message, HasSubstr("6 elements"));
}

TEST(Arena, ImpossibleSizeIsAnError) {
  json manifest = ManifestBuilder({}).manifest;
  manifest["arena_bytes"] = int64_t(1) << 60;
  auto parsed = Manifest::parse(manifest.dump());
  ASSERT_TRUE(parsed);
  auto arena = Arena::create(*parsed);
  ASSERT_FALSE(arena);
  EXPECT_THAT(arena.error().message, HasSubstr("1152921504606846976 bytes"));
}

TEST(Manifest, MemoryReportAddsUp) {
  ManifestBuilder b({});
  b.tensor("W", "param", "f32", {4, 16, 16});               // 4096
  b.tensor("W.m", "state", "f32", {4, 16, 16});             // 4096
  b.tensor("W.v", "state", "f32", {4, 16, 16});             // 4096
  b.tensor("W.age", "state", "i16", {4});                   // 8 (+ 56)
  b.tensor("W.topology.positions", "topology", "i32", {3}); // 12 (+ 52)
  b.tensor("loss", "output", "f32", {});                    // 4 (+ 60)
  int64_t grad = b.tensor("W.grad", "workspace", "f32", {1024});
  b.tensor("x", "workspace", "f32", {512});
  // An activation that was dead before the gradient came shares its first 1,024 bytes.
  b.manifest["tensors"].push_back(
      {{"name", "y"}, {"role", "workspace"}, {"dtype", "f32"}, {"shape", {256}}, {"offset", grad}, {"bytes", 1024}});
  auto manifest = Manifest::parse(b.manifest.dump());
  ASSERT_TRUE(manifest) << manifest.error().message;
  MemoryReport report = memoryReport(*manifest);
  EXPECT_EQ(report.weights, 4096);
  EXPECT_EQ(report.optimizer, 8192);
  EXPECT_EQ(report.metadata, 20);
  EXPECT_EQ(report.io, 4);
  EXPECT_EQ(report.gradients, 4096);
  EXPECT_EQ(report.activations, 2048);
  EXPECT_EQ(report.padding, 56 + 52 + 60);
  EXPECT_EQ(report.total, manifest->arenaBytes);
}

// Times come from the calls' marks, operations and bytes from the manifest, both by run.
TEST(Profile, SumsByOpAndByCallee) {
  std::vector<CallInfo> calls = {{"k_a", "smet.spmm", 100, 10}, {"fill", "fill", 0, 4}, {"k_b", "smet.spmm", 30, 2}};
  Profile profile(calls);
  for (int run = 0; run < 2; ++run) {
    profile.mark(0);
    profile.mark(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    profile.mark(2);
    profile.mark(-1);
    std::this_thread::sleep_for(std::chrono::milliseconds(50)); // between runs: nobody's
  }
  auto byOp = profile.byOp();
  ASSERT_EQ(byOp.size(), 2u);
  EXPECT_EQ(byOp[0].name, "fill") << "the longest first";
  EXPECT_GE(byOp[0].seconds, 0.010);
  EXPECT_LT(byOp[0].seconds + byOp[1].seconds, 0.050);
  EXPECT_EQ(byOp[1].name, "smet.spmm");
  EXPECT_EQ(byOp[1].calls, 4);
  EXPECT_EQ(byOp[1].flops, 2 * 130);
  EXPECT_EQ(byOp[1].bytes, 2 * 12);
  EXPECT_EQ(profile.byCallee().size(), 3u);
}

TEST_F(ProgramFileTest, ProfileHearsOfCallsUntilTheEntryPointEnds) {
  ManifestBuilder b({"init", "stop"});
  b.tensor("w", "param", "f32", {1});
  for (const char *entry : {"init", "stop"})
    b.manifest["calls"][entry] = {{{"callee", "k"}, {"op", "nn.add"}, {"flops", 3}, {"bytes", 5}, {"cache_bytes", 5}}};
  auto file = folder / "traced.smet";
  writeProgram(file, b.manifest,
               "int32_t smet_init(smet_context *c, char *a) { if (c->trace) c->trace(c, 0); *(float *)a += 1;"
               "  if (c->trace) c->trace(c, -1); return SMET_OK; }\n"
               "int32_t smet_stop(smet_context *c, char *a) { c->trace(c, 0); return SMET_LOSS_NOT_FINITE; }");
  auto pool = ThreadPool::create(1);
  auto instance = Instance::load(file, **pool);
  ASSERT_TRUE(instance) << instance.error().message;
  for (const char *entry : {"init", "stop"}) {
    Profile profile((*instance)->manifest().calls.at(entry));
    ASSERT_TRUE((*instance)->run(entry, &profile));
    EXPECT_EQ(profile.byOp()[0].calls, 1) << entry;
    EXPECT_EQ(profile.byOp()[0].flops, 3);
  }
  ASSERT_TRUE((*instance)->run("init")) << "and nobody hears when nobody listens";
  EXPECT_EQ((*(*instance)->arena().tensor<float>("w"))[0], 2);
}

TEST(Manifest, ParsesLayers) {
  ManifestBuilder b({"init"});
  b.tensor("W", "param", "f32", {69, 16, 16});
  b.manifest["layers"].push_back(
      {{"name", "W"}, {"id", 5}, {"rows", 688}, {"cols", 256}, {"block", {16, 16}}, {"nnz", 69}});
  auto manifest = Manifest::parse(b.manifest.dump());
  ASSERT_TRUE(manifest) << manifest.error().message;
  ASSERT_EQ(manifest->layers.size(), 1u);
  EXPECT_EQ(manifest->layers[0].blocks(), 43 * 16);
  EXPECT_EQ(manifest->find("W")->shape, (std::vector<int64_t>{69, 16, 16}));
  EXPECT_EQ(manifest->find("V"), nullptr);

  json uneven = b.manifest;
  uneven["layers"][0]["rows"] = 687;
  EXPECT_THAT(parseError(uneven), HasSubstr("does not divide 687 x 256"));
  json full = b.manifest;
  full["layers"][0]["nnz"] = 689;
  EXPECT_THAT(parseError(full), HasSubstr("689 active blocks of 688"));
  json other = b.manifest;
  other["layers"][0]["nnz"] = 68;
  EXPECT_THAT(parseError(other), HasSubstr("no parameter of its name and shape [68, 16, 16]"));
}

TEST(Manifest, RefusesWhatIsWrong) {
  const json good = testManifest();
  ASSERT_EQ(parseError(good), "");
  auto with = [&](auto change) {
    json bad = good;
    change(bad);
    return parseError(bad);
  };
  EXPECT_THAT(Manifest::parse("{\"abi\": 1,").error().message, HasSubstr("parse error"));
  EXPECT_THAT(with([](json &m) { m["abi"] = 9; }), HasSubstr("version 9"));
  EXPECT_THAT(with([](json &m) { m.erase("kind"); }), HasSubstr("lacks 'kind'"));
  EXPECT_THAT(with([](json &m) { m["arena_bytes"] = "many"; }), HasSubstr("'arena_bytes' is not an integer"));
  EXPECT_THAT(with([](json &m) { m.erase("instruction_sets"); }), HasSubstr("lacks 'instruction_sets'"));
  EXPECT_THAT(with([](json &m) { m["instruction_sets"] = {2}; }), HasSubstr("not a list of names"));
  EXPECT_THAT(with([](json &m) { m["colour"] = 1; }), HasSubstr("unknown field 'colour'"));
  EXPECT_THAT(with([](json &m) { m["calls"].clear(); }), HasSubstr("'calls' lacks 'init'"));
  EXPECT_THAT(with([](json &m) { m["calls"]["other"] = json::array(); }), HasSubstr("no entry point"));
  EXPECT_THAT(with([](json &m) { m["calls"]["init"].push_back({{"callee", "fill"}}); }),
              HasSubstr("call 0 of 'init' lacks 'op'"));
  EXPECT_THAT(with([](json &m) { m["tensors"][0]["role"] = "weight"; }), HasSubstr("unknown role 'weight'"));
  EXPECT_THAT(with([](json &m) { m["tensors"][0]["dtype"] = "f16"; }), HasSubstr("dtype 'f16'"));
  EXPECT_THAT(with([](json &m) { m["tensors"][0]["shape"] = {-3}; }), HasSubstr("not a list of sizes"));
  EXPECT_THAT(with([](json &m) { m["tensors"][0]["bytes"] = 16; }), HasSubstr("16 bytes, its shape and dtype say 12"));
  EXPECT_THAT(with([](json &m) { m["tensors"][0]["offset"] = 4; }), HasSubstr("not aligned"));
  EXPECT_THAT(with([](json &m) { m["tensors"][1]["offset"] = 1 << 20; }), HasSubstr("outside the arena"));
  EXPECT_THAT(with([](json &m) { m["tensors"][1]["offset"] = 0; }), HasSubstr("overlap"));
  EXPECT_THAT(with([](json &m) { m["tensors"][1]["name"] = "w"; }), HasSubstr("two tensors are named 'w'"));
  EXPECT_THAT(with([](json &m) {
                m["tensors"][0]["shape"] = {int64_t(1) << 40, int64_t(1) << 40};
              }),
              HasSubstr("overflows"));
}
