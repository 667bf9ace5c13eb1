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
      0,
      {"a training step of model.json, method dense in f32, compiled for host, 2 x 64 tokens", "nn.linear_grad_weight",
       "roofline"});
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
  expect(
      linear + "--block 15x18", 1,
      {"blocks of 15x18 do not divide a 64x96 matrix; the nearest blocks that divide all: 8x16, 8x24, 16x16, 16x24"});
  expect(linear + "--block 16", 1, {"'16' is not of the form 16x16"});
  expect(linear + "--density 0", 1, {"--density"});
  expect(linear + "--baseline nowhere.so", 1, {"nowhere.so", "NAME=COMMAND"});
  expect(linear + "--baseline text.txt", 1, {"cannot open text.txt"});
  expect(linear + "--baseline 'gone=exit 1'", 1, {"gone ended"});
  expect(linear + "--baseline 'broken=read job; echo error: no such library'", 1, {"broken", "no such library"});
  expect(linear + "--baseline 'odd=read job; echo ready; read a; echo soon'", 1, {"expected a number, got 'soon'"});
  expect("smet-bench layer --model nothing", 1, {"--model nothing: neither a preset"});
  expect("smet-bench layer --model 1b", 1, {"do not divide a 5461x2048 matrix", "that divide all: 1x1\n"});
  for (const char *density : {"nan", "-1", "1.01", "inf", "0.1x"})
    for (std::string command : {linear, std::string("smet-bench layer --model model.json ")})
      expect(command + "--density=" + density, 1, {"--density: must be in (0, 1], got "});
  for (std::string option : {"rounds", "tokens"})
    expect(linear + "--" + option + " 0", 1, {"--" + option + ": Value 0 not in range 1 to 1000000"});
  expect("smet-bench step --steps 0", 1, {"--steps: Value 0 not in range 1 to 1000000"});
  for (std::string command : {linear, std::string("smet-bench step "), std::string("smet-bench topology ")})
    expect(command + "--threads 99999", 1, {"--threads: must be in [0, ", " processors, got 99999"});
  expect(linear + "--cpu z80", 1, {"z80"});
  expect("smet-bench fly", 2, {"there is no command 'fly'; there are linear, layer, step, topology\n"});
}

// What would only show at the end, or not at all, is told before anything is measured.
TEST_F(BenchTest, RefusedBeforeMeasuring) {
  writeModel("heads.json", {{"head_dim", -8}});
  for (const char *command :
       {"linear --baseline none --baseline f32", "linear --baseline onednn --baseline nowhere.so",
        "linear --json nowhere/out.json", "linear --json .", "step --model model.json --json nowhere/out.json",
        "step --model model.json --baseline onednn", "step --model model.json --baseline none",
        "step --model model.json --method dense --block 7x7", "topology --model model.json --threads -1",
        "linear --baseline onednn --baseline onednn", "linear --json /proc/out.json",
        "step --model model.json --threads 1 --baseline 1-thread", "layer --model heads.json",
        "linear --shape 9223372036854775807x16"}) {
    EXPECT_EQ(run(fmt::format("smet-bench {}", command)), 1) << command << "\n" << output;
    EXPECT_TRUE(output.starts_with("smet-bench: error: ")) << command << "\n" << output;
    EXPECT_EQ(std::ranges::count(output, '\n'), 1) << command << "\n" << output;
  }
  expect("smet-bench step --model model.json --baseline onednn", 1, {"NAME=COMMAND", "torch_step.py", "f32"});
  expect("smet-bench step --model model.json --method dense --density 0.5", 1,
         {"--density means nothing with --method dense; leave it out"});
  expect("smet-bench linear --baseline onednn --baseline onednn", 1, {"two --baseline are named 'onednn'"});
  expect("smet-bench linear --json /proc/out.json", 1, {"--json: cannot write '/proc/out.json'"});
  expect("smet-bench step --model model.json --threads 1 --baseline 1-thread", 1, {"--threads"});
  expect("smet-bench layer --model heads.json", 1, {"heads of -8", "must be positive"});
  expect("smet-bench linear --shape 9223372036854775807x16", 1, {"at most 2147483647 rows and columns"});
  expect("smet-bench linear --shape 1000000x1000000", 1,
         {"has 62500 x 62500 blocks of 16x16, more than a 32-bit index can count"});
}

// Peers that do not answer, or do not end, do not keep us.
TEST_F(BenchTest, PeersThatStay) {
  const std::string linear = "smet-bench linear --shape 64x96 --tokens 64 --baseline ";
  expect(linear + "'half=read job; echo ready; read a; printf 0.5; sleep 1000'", 1,
         {"half: the line '0.5' was not ended within 5 seconds"});
  expect(linear + "'deaf=trap \"\" TERM; sleep 1000 & echo $! $$ > ids; echo error: no data; wait'", 1,
         {"deaf: error: no data"});
  std::istringstream ids(rt::readFile(folder / "ids").value_or(""));
  int count = 0;
  for (std::string id; ids >> id; ++count) {
    auto runs = [&] { return !rt::readFile("/proc/" + id + "/cmdline").value_or("").empty(); };
    for (int i = 0; i < 400 && runs(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_FALSE(runs()) << id << " goes on";
  }
  EXPECT_EQ(count, 2);
}

TEST_F(BenchTest, LibrariesServeOnlyTheirJobs) {
  auto serve = [&](const std::string &job, std::string_view message) {
    expect("echo '" + job + "' | smet-bench serve --library onednn", 1, {"smet-bench: error: ", message});
  };
  for (const char *job : {"{", "[]", R"({"model": {}, "batch": 2})", R"({"tokens": "2", "layers": []})"})
    serve(job, "the job is not one of smet-bench linear or layer");
  for (const char *layers : {"3", "[[2]]", "[[2, -1]]", "[{}]"})
    serve(fmt::format(R"({{"tokens": 2, "layers": {}}})", layers), "a layer that is no [rows, columns]");
}

// Code for another processor, on as many threads as there are.
TEST_F(BenchTest, ProcessorAndThreads) {
  int64_t processors = std::thread::hardware_concurrency();
  std::string common = "--cpu x86-64-v3 --threads 0 --json out.json ";
  expect("smet-bench linear --shape 64x96 --tokens 64 --rounds 1 --baseline 'known=sh peer.sh' " + common, 0,
         {"compiled for x86-64-v3"});
  EXPECT_EQ(results()["cpu"], "x86-64-v3");
  EXPECT_EQ(results()["job"]["threads"], processors);
  for (std::string command : {"step --steps 1", "topology --updates 1"}) {
    expect(fmt::format("smet-bench {} --model model.json --batch 2 --seq-len 64 {}", command, common), 0,
           {"compiled for x86-64-v3"});
    EXPECT_EQ(results()["cpu"], "x86-64-v3");
    EXPECT_EQ(results()["threads"], processors);
  }
}

// Programs where those of smet are.
TEST_F(BenchTest, CompilesAsSmetDoes) {
  useOwnCache();
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
  EXPECT_EQ(rival["peak_bytes"], 3e8);
  EXPECT_DOUBLE_EQ(rival["over_smet"]["samples"][2], 1 / json["step_seconds"]["samples"][2].get<double>());
  // Not with the array that the machine's bandwidth was measured on, of 256 MiB at least.
  double arena = json["arena_bytes"], peak = json["peak_bytes"];
  EXPECT_GT(peak, arena);
  EXPECT_LT(peak, arena + 100e6);
  auto job = nlohmann::json::parse(rt::readFile(folder / "job.json").value_or("{}"));
  EXPECT_EQ(job["model"]["hidden_size"], model["hidden_size"]);
  EXPECT_EQ(job["seq_len"], 64);
}

// The same program on one thread, in turn: its calls and operations are ours.
TEST_F(BenchTest, StepBesideOneThread) {
  expect("smet-bench step --model model.json --batch 2 --seq-len 64 --threads 2 --steps 2 --json out.json "
         "--baseline 1-thread",
         0, {"smet on 1 thread"});
  nlohmann::json json = results(), &rival = json["rivals"][0];
  EXPECT_EQ(rival["machine"]["threads"], 1);
  EXPECT_EQ(json["machine"]["threads"], 2);
  EXPECT_EQ(rival["peak_bytes"], json["peak_bytes"]);
  EXPECT_EQ(rival["step_seconds"]["samples"].size(), 2u);
  std::map<std::string, nlohmann::json> ours;
  for (const nlohmann::json &op : json["ops"])
    ours[op["op"]] = op;
  EXPECT_EQ(rival["ops"].size(), ours.size());
  for (const nlohmann::json &op : rival["ops"])
    for (const char *count : {"calls", "flops", "bytes"})
      EXPECT_EQ(op[count], ours[op["op"]][count]) << op["op"];
  double inOps = rival["ops"].back()["seconds"], slowest = rival["step_seconds"]["max"];
  EXPECT_GT(inOps, 0);
  EXPECT_LE(inOps, 1.01 * slowest);
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
