//===- BenchTest.cpp - smet-bench -----------------------------------------===//

#include "Tools.h"

using namespace smet;
using namespace smet::test;

namespace {

class BenchTest : public Tools {
protected:
  BenchTest() {
    // Takes a number of seconds that is known for each product.
    writeFile(folder / "peer.sh", "read job; echo \"$job\" > job.json; echo ready\n"
                                  "while read layer op; do\n"
                                  "  case $op in fwd) echo 1;; dx) echo 20;; dw) echo 300;; esac\n"
                                  "done\n");
  }

  nlohmann::json results() {
    auto text = rt::readFile(folder / "out.json");
    EXPECT_TRUE(text) << output;
    return nlohmann::json::parse(text.value_or("{}"));
  }
};

TEST_F(BenchTest, LinearBesideAPeer) {
  expect("smet-bench linear --shape 64x96 --block 16x8 --density 0.25 --tokens 130 --rounds 3 --json out.json "
         "--baseline 'known=sh peer.sh'",
         0, {"blocks 16x8", "known", "time over smet's"});
  nlohmann::json json = results();
  // 12 of 48 blocks.
  EXPECT_EQ(json["active_flops"], 2.0 * 12 * 16 * 8 * 130);
  EXPECT_EQ(json["results"][0]["name"], "smet");
  auto &peer = json["results"][1];
  EXPECT_EQ(peer["seconds"]["fwd"]["samples"], (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(peer["seconds"]["all"]["median"], 321);
  double ours = json["results"][0]["seconds"]["dw"]["samples"][1];
  EXPECT_GT(ours, 0);
  EXPECT_DOUBLE_EQ(peer["over_smet"]["dw"]["samples"][1], 300 / ours);
  auto job = nlohmann::json::parse(rt::readFile(folder / "job.json").value_or("{}"));
  EXPECT_EQ(job["layers"], (std::vector<std::vector<int>>{{64, 96}}));
  EXPECT_EQ(job["block"], (std::vector<int>{16, 8}));
}

TEST_F(BenchTest, LayerOfAModel) {
  expect(
      "smet-bench layer --model model.json --block 16x16 --density 0.5 --tokens 64 --rounds 1 --op fwd --json out.json "
      "--baseline 'known=sh peer.sh'",
      0, {"seven linears"});
  // Seven layers of a second each.
  EXPECT_EQ(results()["results"][1]["seconds"]["fwd"]["median"], 7);
  EXPECT_FALSE(results()["results"][1]["seconds"].contains("dx"));
}

// The parts add up to the step, and their operations to the formulas: 2 FLOPs a token and dense weight for each
// product.
TEST_F(BenchTest, StepOfAModel) {
  expect(
      "smet-bench step --model model.json --method dense --batch 2 --seq-len 64 --threads 1 --steps 2 --json out.json",
      0, {"a training step of model.json, method dense in f32, 2 x 64 tokens", "nn.linear_grad_weight", "roofline"});
  nlohmann::json json = results();
  std::map<std::string, nlohmann::json> ops;
  double seconds = 0;
  for (const nlohmann::json &op : json["ops"]) {
    ops[op["op"]] = op;
    if (op["op"].get<std::string>().find('.') != std::string::npos)
      seconds += op["seconds"].get<double>();
  }
  EXPECT_NEAR(seconds, ops["step"]["seconds"].get<double>(), 1e-9);
  EXPECT_LE(seconds, 1.01 * json["step_seconds"]["max"].get<double>());
  EXPECT_EQ(json["step_seconds"]["samples"].size(), 2u);
  EXPECT_TRUE(json["rivals"].empty());
  double hidden = model["hidden_size"], ffn = model["intermediate_size"], layers = model["num_hidden_layers"];
  double weights = layers * (4 * hidden * hidden + 3 * hidden * ffn);
  for (const char *op : {"nn.linear", "nn.linear_grad_input", "nn.linear_grad_weight"}) {
    EXPECT_EQ(ops[op]["flops"].get<double>(), 2 * weights * 128) << op;
    EXPECT_EQ(ops[op]["calls"].get<double>(), 7 * layers) << op;
  }
  expect("smet-bench step --model model.json --method other", 1, {"--method: expected one of smet, static, dense"});
  expect("smet-bench step --model model.json --density 2", 1, {"--density must be in (0, 1]"});
}

TEST_F(BenchTest, BadInput) {
  const std::string linear = "smet-bench linear --shape 64x96 --tokens 64 ";
  expect(linear + "--block 15x16", 1, {"blocks of 15x16 do not divide a 64x96 matrix"});
  expect(linear + "--block 16", 1, {"'16' is not of the form 16x16"});
  expect(linear + "--density 0", 1, {"--density"});
  expect(linear + "--baseline nowhere.so", 1, {"nowhere.so", "NAME=COMMAND"});
  expect(linear + "--baseline text.txt", 1, {"cannot open text.txt"});
  expect(linear + "--baseline 'gone=exit 1'", 1, {"gone ended"});
  expect(linear + "--baseline 'broken=read job; echo error: no such library'", 1, {"broken", "no such library"});
  expect(linear + "--baseline 'odd=read job; echo ready; read a; echo soon'", 1, {"expected a number, got 'soon'"});
  expect("smet-bench layer --model nothing", 1, {"--model nothing: neither a preset"});
}

// Why the compiler refuses, and programs where those of smet are.
TEST_F(BenchTest, CompilesAsSmetDoes) {
  useOwnCache();
  expect("smet-bench linear --shape 1000000x1000000 --tokens 64 --baseline none", 1,
         {"the module cannot be parsed", "topology: 62500 x 62500 blocks are more than a 32-bit index can count"});
  expect("smet-bench linear --shape 64x96 --tokens 64 --rounds 1 --baseline none", 0, {"compiled 3 kernels"});
  namespace fs = std::filesystem;
  EXPECT_TRUE(fs::is_directory(folder / "cache/smet/programs/kernels"));
  for (const auto &entry : fs::directory_iterator(folder / "cache/smet"))
    EXPECT_EQ(entry.path().filename(), "programs");
}

// A rival that takes a second a step and 300 MB.
TEST_F(BenchTest, StepBesideAPeer) {
  writeFile(folder / "rival.sh", "read job; echo \"$job\" > job.json; echo ready\n"
                                 "while read layer op; do\n"
                                 "  case $op in step) echo 1;; memory) echo 3e8;; esac\n"
                                 "done\n");
  expect("smet-bench step --model model.json --batch 2 --seq-len 64 --threads 1 --steps 3 --json out.json "
         "--baseline 'rival=sh rival.sh'",
         0, {"rival", "1000 (1000..1000)", "300"});
  nlohmann::json json = results(), &rival = json["rivals"][0];
  EXPECT_EQ(rival["step_seconds"]["samples"], (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(rival["resident_bytes"], 3e8);
  EXPECT_DOUBLE_EQ(rival["over_smet"]["samples"][2], 1 / json["step_seconds"]["samples"][2].get<double>());
  EXPECT_GT(json["resident_bytes"], json["arena_bytes"]);
  auto job = nlohmann::json::parse(rt::readFile(folder / "job.json").value_or("{}"));
  EXPECT_EQ(job["model"]["hidden_size"], model["hidden_size"]);
  EXPECT_EQ(job["seq_len"], 64);
}

TEST_F(BenchTest, TopologyOfAModel) {
  expect("smet-bench topology --model model.json --batch 2 --seq-len 64 --block 8x8 --updates 3 --json out.json", 0,
         {"grow_random", "remap", "an update:", "100 of them between updates"});
  nlohmann::json json = results();
  EXPECT_EQ(json["update_seconds"]["samples"].size(), 3u);
  double parts = 0;
  for (auto &[name, seconds] : json["parts"].items())
    parts += seconds.get<double>();
  EXPECT_LE(parts, 1.01 * json["update_seconds"]["max"].get<double>());
  EXPECT_DOUBLE_EQ(json["share"], json["update_seconds"]["median"].get<double>() /
                                      (100 * json["step_seconds"]["median"].get<double>()));
}

// What smet-bench compiles: entry points as text.
TEST_F(BenchTest, ModuleRequest) {
  auto compile = [&](const nlohmann::json &request, int code, std::initializer_list<std::string_view> parts) {
    writeFile(folder / "request.json", request.dump());
    expect("smet-compile --request request.json -o out.smet", code, parts);
  };
  compile({{"module", "func.func @main() { return }"}}, 0, {"out.smet"});
  compile({{"module", "func.func @"}}, 1, {"the module cannot be parsed", "expected"});
  compile({{"module", 3}}, 1, {"'module' must be a string"});
  compile({{"module", ""}}, 0, {"out.smet"}); // no entry points, and no model either
  compile({{"module", ""}, {"density", 0.5}}, 1, {"'density' is unknown"});
}

} // namespace
