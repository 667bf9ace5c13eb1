//===- CheckpointTest.cpp - saving, finding and loading runs --------------===//

#include "TestData.h"

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/checkpoint/Safetensors.h"
#include "runtime/support/Hash.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

using namespace smet::rt;
using namespace smet::test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

namespace fs = std::filesystem;

/// A manifest like a sparse layer's, with an arena of its size.
struct Model {
  explicit Model(std::string kind = "train", int64_t nnz = 6) {
    ManifestBuilder builder({}, kind);
    builder.tensor("up.weight", "param", "f32", {nnz, 2, 2});
    builder.tensor("up.weight.topology.positions", "topology", "i32", {5});
    builder.tensor("up.weight.topology.coordinates", "topology", "i16", {nnz});
    builder.tensor("norm.weight", "param", "f32", {8});
    if (kind == "train") {
      builder.tensor("up.weight.m", "state", "f32", {nnz, 2, 2});
      builder.tensor("up.weight.age", "state", "i16", {nnz});
    } else {
      builder.tensor("cache", "state", "f32", {64});
    }
    builder.tensor("tokens", "input", "i32", {16});
    builder.tensor("scratch", "workspace", "f32", {1000});
    manifest = Manifest::parse(builder.manifest.dump()).value();
    arena.resize(manifest.arenaBytes);
  }

  std::vector<TensorView> tensors() { return checkpointTensors(manifest, arena.data()); }
  void fill(int seed) {
    for (size_t i = 0; i < arena.size(); ++i)
      arena[i] = char(i * 31 + uint32_t(seed) * 17);
  }
  std::string bytesOf(std::string_view name) {
    const TensorInfo *info = manifest.find(name);
    return {arena.data() + info->offset, size_t(info->bytes)};
  }

  Manifest manifest;
  std::vector<char> arena;
};

TrainState stateAt(int64_t step) {
  return {step, step * 16, 42, "model-hash", "tokenizer-hash", {{"density", 0.1}}, {{"loss", {3.5, 2.25}}}};
}

Status save(const fs::path &folder, int64_t step, int64_t keepLast = 3) {
  Model model;
  model.fill(step);
  auto saved = saveCheckpoint(folder, stateAt(step), model.tensors(), keepLast);
  if (!saved)
    return std::unexpected(saved.error());
  return {};
}

std::vector<std::string> contentsOf(const fs::path &folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

/// The step that a run in `folder` would resume from, checked for its tensors; -1 if there is none or on an error.
int64_t resumable(const fs::path &folder, std::vector<std::string> *warnings = nullptr) {
  auto found = findCheckpoint(folder);
  if (!found || !*found)
    return -1;
  if (warnings)
    *warnings = (*found)->warnings;
  Model model, expected;
  EXPECT_EQ(messageOf(loadTensors(**found, model.tensors(), true)), "");
  expected.fill((*found)->state.step);
  EXPECT_EQ(model.bytesOf("up.weight.m"), expected.bytesOf("up.weight.m"));
  return (*found)->state.step;
}

void flipByte(const fs::path &path, size_t offset) {
  std::string contents = readFile(path).value();
  ASSERT_LT(offset, contents.size());
  contents[offset] ^= 0x10;
  writeFile(path, contents);
}

/// While it lives, no file may grow beyond `bytes`: what a full disk does, at the same calls.
class FileSizeLimit {
public:
  explicit FileSizeLimit(rlim_t bytes) {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    rlimit limit = before;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before); }

private:
  rlimit before;
};

} // namespace

TEST(Checkpoint, BringsBackTensorsAndState) {
  TestFolder folder;
  Model model;
  model.fill(3);
  TrainState state = stateAt(1000);
  state.seed = 0xfedcba9876543210;
  auto path = saveCheckpoint(folder / "run", state, model.tensors(), 2);
  ASSERT_TRUE(path) << messageOf(path);
  EXPECT_EQ(*path, folder / "run" / "step-00001000");
  EXPECT_THAT(contentsOf(folder / "run"), ElementsAre("step-00001000"));
  EXPECT_THAT(contentsOf(*path), ElementsAre("model.safetensors", "state.json"));

  auto found = findCheckpoint(folder / "run");
  ASSERT_TRUE(found && *found);
  const Checkpoint &checkpoint = **found;
  EXPECT_EQ(checkpoint.path, *path);
  EXPECT_THAT(checkpoint.warnings, IsEmpty());
  EXPECT_EQ(checkpoint.state.step, 1000);
  EXPECT_EQ(checkpoint.state.sequences, 16000);
  EXPECT_EQ(checkpoint.state.seed, 0xfedcba9876543210);
  EXPECT_EQ(checkpoint.state.modelHash, "model-hash");
  EXPECT_EQ(checkpoint.state.tokenizerHash, "tokenizer-hash");
  EXPECT_EQ(checkpoint.state.config, state.config);
  EXPECT_EQ(checkpoint.state.progress, state.progress);

  Model loaded;
  ASSERT_EQ(messageOf(loadTensors(checkpoint, loaded.tensors(), true)), "");
  for (const TensorInfo &info : model.manifest.tensors) {
    bool kept = info.name != "tokens" && info.name != "scratch";
    EXPECT_EQ(loaded.bytesOf(info.name), kept ? model.bytesOf(info.name) : std::string(info.bytes, '\0')) << info.name;
  }
}

TEST(Checkpoint, HoldsTheTensorsOfTheManifestAndNoOthers) {
  TestFolder folder;
  ASSERT_EQ(messageOf(save(folder.path, 1)), "");
  auto file = SafetensorsFile::open(folder / "step-00000001/model.safetensors").value();
  std::map<std::string, std::string> found;
  for (const SafetensorsEntry &tensor : file.tensors())
    found[tensor.name] = fmt::format("{} {}", tensor.dtype, fmt::join(tensor.shape, "x"));
  EXPECT_EQ(found, (std::map<std::string, std::string>{{"up.weight", "F32 6x2x2"},
                                                       {"up.weight.m", "F32 6x2x2"},
                                                       {"up.weight.age", "I16 6"},
                                                       {"up.weight.topology.positions", "I32 5"},
                                                       {"up.weight.topology.coordinates", "I16 6"},
                                                       {"norm.weight", "F32 8"}}));
}

TEST(Checkpoint, AnInferenceProgramTakesItsPart) {
  TestFolder folder;
  ASSERT_EQ(messageOf(save(folder.path, 1)), "");
  Checkpoint checkpoint = openCheckpoint(folder / "step-00000001").value();
  Model infer("infer"), trained;
  trained.fill(1);
  ASSERT_EQ(messageOf(loadTensors(checkpoint, infer.tensors(), false)), "");
  EXPECT_EQ(infer.bytesOf("up.weight"), trained.bytesOf("up.weight"));
  EXPECT_EQ(infer.bytesOf("cache"), std::string(256, '\0'));
  EXPECT_THAT(messageOf(loadTensors(checkpoint, infer.tensors(), true)), HasSubstr("has 6 tensors, the program 4"));
}

TEST(Checkpoint, KeepsTheLastAndNeverRemovesNewerOnes) {
  TestFolder folder;
  writeFile(folder / "config.toml", "");
  for (int64_t step : {9, 10, 11, 200000000})
    ASSERT_EQ(messageOf(save(folder.path, step, 2)), "");
  EXPECT_THAT(contentsOf(folder.path), ElementsAre("config.toml", "step-00000011", "step-200000000"));
  ASSERT_EQ(messageOf(save(folder.path, 12, 1)), "");
  EXPECT_THAT(contentsOf(folder.path), ElementsAre("config.toml", "step-00000012", "step-200000000"));
  EXPECT_EQ(resumable(folder.path), 200000000);
}

TEST(Checkpoint, SavingAStepAgainReplacesIt) {
  TestFolder folder;
  ASSERT_EQ(messageOf(save(folder.path, 5)), "");
  flipByte(folder / "step-00000005/model.safetensors", 500);
  ASSERT_EQ(resumable(folder.path), -1);
  ASSERT_EQ(messageOf(save(folder.path, 5)), "");
  EXPECT_EQ(resumable(folder.path), 5);
  EXPECT_THAT(contentsOf(folder.path), ElementsAre("step-00000005"));
}

TEST(Checkpoint, WhatAnInterruptedSaveLeftIsIgnoredAndReplaced) {
  TestFolder folder;
  ASSERT_EQ(messageOf(save(folder.path, 5)), "");
  fs::create_directory(folder / ".step-00000006.partial");
  writeFile(folder / ".step-00000006.partial/model.safetensors", "half");
  EXPECT_EQ(resumable(folder.path), 5);
  ASSERT_EQ(messageOf(save(folder.path, 6)), "");
  EXPECT_EQ(resumable(folder.path), 6);
  EXPECT_THAT(contentsOf(folder.path), ElementsAre("step-00000005", "step-00000006"));
}

TEST(Checkpoint, NothingToResumeFromIsNoError) {
  TestFolder folder;
  auto none = findCheckpoint(folder / "not there");
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->has_value());
  writeFile(folder / "step-1", "a file");
  fs::create_directory(folder / "step-x");
  auto empty = findCheckpoint(folder.path);
  ASSERT_TRUE(empty);
  EXPECT_FALSE(empty->has_value());
}

// Every byte of both files is covered by a checksum.
TEST(Checkpoint, AFlippedBitAnywhereFallsBackToThePreviousOne) {
  TestFolder folder;
  ASSERT_EQ(messageOf(save(folder.path, 1)), "");
  for (const char *name : {"model.safetensors", "state.json"}) {
    ASSERT_EQ(messageOf(save(folder.path, 2)), "");
    fs::path path = folder / "step-00000002" / name;
    std::string good = readFile(path).value();
    for (size_t offset = 0; offset + 1 < good.size(); offset += 7) { // the last byte of state.json is a line end
      flipByte(path, offset);
      std::vector<std::string> warnings;
      EXPECT_EQ(resumable(folder.path, &warnings), 1) << name << " " << offset;
      ASSERT_EQ(warnings.size(), 1u);
      EXPECT_THAT(warnings[0], HasSubstr("the checkpoint of step 2 cannot be used"));
      EXPECT_THAT(warnings[0], HasSubstr("falling back"));
      writeFile(path, good);
    }
  }
}

TEST(Checkpoint, TruncatedOrMissingFilesFallBack) {
  TestFolder folder;
  ASSERT_EQ(messageOf(save(folder.path, 1)), "");
  for (const char *name : {"model.safetensors", "state.json"}) {
    ASSERT_EQ(messageOf(save(folder.path, 2)), "");
    fs::path path = folder / "step-00000002" / name;
    std::string good = readFile(path).value();
    for (size_t size : {size_t(0), size_t(1), good.size() / 2, good.size() - 2}) {
      writeFile(path, good.substr(0, size));
      EXPECT_EQ(resumable(folder.path), 1) << name << " " << size;
    }
    fs::remove(path);
    EXPECT_EQ(resumable(folder.path), 1) << name;
  }
}

TEST(Checkpoint, OnlyDamagedOnesAreAnErrorThatNamesEach) {
  TestFolder folder;
  for (int64_t step : {1, 2}) {
    ASSERT_EQ(messageOf(save(folder.path, step)), "");
    flipByte(folder / fmt::format("step-{:08}", step) / "model.safetensors", 20);
  }
  auto found = findCheckpoint(folder.path);
  EXPECT_THAT(messageOf(found), HasSubstr("step-00000001/model.safetensors' is damaged"));
  EXPECT_THAT(messageOf(found), HasSubstr("step-00000002/model.safetensors' is damaged"));
}

TEST(Checkpoint, StatesOfAnotherFormAreErrors) {
  TestFolder folder;
  ASSERT_EQ(messageOf(save(folder.path, 1)), "");
  fs::path path = folder / "step-00000001";
  auto good = nlohmann::json::parse(readFile(path / "state.json").value())["state"];
  auto errorWith = [&](const nlohmann::json &state) {
    writeFile(path / "state.json", nlohmann::json({{"state", state}, {"sha256", sha256(state.dump())}}).dump());
    return messageOf(openCheckpoint(path));
  };
  EXPECT_EQ(errorWith(good), "");
  auto newer = good, wrong = good, missing = good;
  newer["version"] = 2;
  wrong["step"] = "one";
  missing.erase("seed");
  EXPECT_THAT(errorWith(newer), HasSubstr("another version"));
  EXPECT_THAT(errorWith(wrong), HasSubstr("no state of smet"));
  EXPECT_THAT(errorWith(missing), HasSubstr("no state of smet"));
  EXPECT_THAT(errorWith(nlohmann::json(3)), HasSubstr("no state of smet"));
}

TEST(Checkpoint, AnotherRunIsNamed) {
  TrainState saved = stateAt(7);
  EXPECT_TRUE(checkSameRun(saved, saved));
  TrainState model = saved, tokenizer = saved, seed = saved, both = saved;
  model.modelHash = tokenizer.tokenizerHash = both.modelHash = "other";
  seed.seed = both.seed = 43;
  EXPECT_THAT(messageOf(checkSameRun(saved, model)), HasSubstr("from step 7: the checkpoint has another model;"));
  EXPECT_THAT(messageOf(checkSameRun(saved, tokenizer)), HasSubstr("has another tokenizer;"));
  EXPECT_THAT(messageOf(checkSameRun(saved, seed)), HasSubstr("has another seed (42, not 43);"));
  EXPECT_THAT(messageOf(checkSameRun(saved, both)), HasSubstr("another model and another seed"));
}

TEST(Checkpoint, TensorsOfAnotherShapeAreNamedAndNothingIsWritten) {
  TestFolder folder;
  ASSERT_EQ(messageOf(save(folder.path, 1)), "");
  Checkpoint checkpoint = openCheckpoint(folder / "step-00000001").value();
  Model other("train", 7);
  EXPECT_THAT(messageOf(loadTensors(checkpoint, other.tensors(), true)),
              HasSubstr("tensor 'up.weight' of the checkpoint"));
  EXPECT_THAT(messageOf(loadTensors(checkpoint, other.tensors(), true)),
              HasSubstr("is F32 [6, 2, 2], the program has F32 [7, 2, 2]"));
  EXPECT_EQ(std::ranges::count(other.arena, '\0'), int64_t(other.arena.size()));

  Model renamed;
  renamed.manifest.tensors[3].name = "other.weight";
  EXPECT_THAT(messageOf(loadTensors(checkpoint, renamed.tensors(), true)), HasSubstr("has no tensor 'other.weight'"));
  Model retyped;
  retyped.manifest.tensors[1].dtype = DType::F32;
  EXPECT_THAT(messageOf(loadTensors(checkpoint, retyped.tensors(), true)),
              HasSubstr("is I32 [5], the program has F32"));
}

TEST(Checkpoint, AFullDiskLeavesEarlierOnesAndNothingElse) {
  TestFolder folder;
  ASSERT_EQ(messageOf(save(folder.path, 1, 1)), "");
  for (rlim_t bytes : {0, 100, 700, 1000}) { // fails at once, in the header, in the data, in state.json
    std::string message;
    {
      FileSizeLimit limit(bytes);
      message = messageOf(save(folder.path, 2, 1));
    }
    if (bytes < 1000) {
      EXPECT_THAT(message, HasSubstr("cannot save the checkpoint of step 2: cannot write")) << bytes;
    }
    if (message.empty())
      continue;
    EXPECT_THAT(contentsOf(folder.path), ElementsAre("step-00000001")) << bytes;
    EXPECT_EQ(resumable(folder.path), 1);
  }
}

TEST(Checkpoint, UnwritableFoldersAreErrors) {
  TestFolder folder;
  writeFile(folder / "file", "");
  EXPECT_THAT(messageOf(save(folder / "file", 1)), HasSubstr("cannot create the checkpoint folder"));
  if (geteuid() == 0)
    return; // root may write everywhere
  ASSERT_EQ(messageOf(save(folder / "run", 1)), "");
  fs::permissions(folder / "run", fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_THAT(messageOf(save(folder / "run", 2)), HasSubstr("Permission denied"));
  EXPECT_EQ(resumable(folder / "run"), 1);
  fs::permissions(folder / "run", fs::perms::owner_all);
}
