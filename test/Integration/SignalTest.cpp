//===- SignalTest.cpp - Ctrl-C, SIGTERM and a crash of the compiler -------===//

#include "Tools.h"

using namespace smet::test;
using namespace smet::rt;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

namespace {

class SignalTest : public Tools {
protected:
  /// Sends a signal and waits for the end; its exit code.
  int signal(Process &process, int number) {
    kill(process.id, number);
    return process.wait(output);
  }

  /// The files below a folder of the caches.
  std::vector<std::string> cached(std::string_view kind) {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto &entry : fs::recursive_directory_iterator(folder / "cache/smet" / kind, error))
      names.push_back(entry.path().filename().string());
    return names;
  }

  static constexpr std::string_view endless = "exec smet train --config small.toml --steps 100000000 ";
};

/// The process that `parent` has started, when it runs `program`; 0 when there is none.
pid_t childOf(pid_t parent, std::string_view program) {
  std::string children = readFile(fmt::format("/proc/{}/task/{}/children", parent, parent)).value_or("");
  pid_t child = std::atoi(children.c_str());
  return child && readFile(fmt::format("/proc/{}/comm", child)).value_or("") == fmt::format("{}\n", program) ? child
                                                                                                             : 0;
}

TEST_F(SignalTest, TrainingSaysAtOnceThatItFinishesTheStepAndSaves) {
  for (auto [number, name] : {std::pair(SIGINT, "Ctrl-C"), {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}}) {
    Process process = start(fmt::format("{} --out {}", endless, name));
    ASSERT_TRUE(process.waitFor("step 10/")) << process.printed();
    EXPECT_EQ(signal(process, number), 128 + number) << output;
    std::string answer = fmt::format("smet: {}: finishing the step and saving; a second one ends at once\n", name);
    std::string end = fmt::format("stopped by {} after step ", name);
    ASSERT_THAT(output, HasSubstr(answer));
    ASSERT_THAT(output, HasSubstr(end));
    EXPECT_LT(output.find(answer), output.find(end));
    int64_t step = std::atoll(output.c_str() + output.find(end) + end.size());
    EXPECT_TRUE(fs::exists(checkpoint(name, step) / "state.json")) << output;
    expect(fmt::format("smet train --resume --out {} --stop-after {}", name, step + 1), 0,
           {fmt::format("resumed from {}/step-{:08}", name, step)});
  }
}

// A step of a minute or so is in progress: the first signal is answered, the second one ends the process.
TEST_F(SignalTest, ASecondSignalEndsAtOnce) {
  Process process = start(std::string(endless) + "--target reference --batch-size 1000");
  ASSERT_TRUE(process.waitUntil([&] { return fs::exists(folder / "run/metrics.jsonl"); })) << process.printed();
  kill(process.id, SIGINT);
  ASSERT_TRUE(process.waitFor("finishing the step and saving")) << process.printed();
  EXPECT_TRUE(process.running());
  EXPECT_EQ(signal(process, SIGINT), 130);
  EXPECT_THAT(output, Not(HasSubstr("stopped by")));
  EXPECT_FALSE(fs::exists(checkpoint("run", 1)));
}

TEST_F(SignalTest, WhileCompiling) {
  useOwnCache();
  Process process = start(std::string(endless));
  pid_t compiler = 0;
  ASSERT_TRUE(process.waitUntil([&] { return (compiler = childOf(process.id, "smet-compile")) != 0; }));
  EXPECT_EQ(signal(process, SIGTERM), 128 + SIGTERM);
  EXPECT_EQ(output, "smet: SIGTERM: stopping; a second one ends at once\nsmet: stopped by SIGTERM while compiling\n");
  EXPECT_EQ(kill(compiler, 0), -1) << "the compiler goes on";
  EXPECT_THAT(cached("programs"), testing::IsEmpty());
  EXPECT_FALSE(fs::exists(folder / "run"));
}

// The real compiler, killed as by a fault of its own.
TEST_F(SignalTest, ACrashOfTheCompilerIsAMessage) {
  useOwnCache();
  Process process = start(std::string(endless));
  pid_t compiler = 0;
  ASSERT_TRUE(process.waitUntil([&] { return (compiler = childOf(process.id, "smet-compile")) != 0; }));
  kill(compiler, SIGSEGV);
  EXPECT_EQ(process.wait(output), 1);
  EXPECT_TRUE(output.starts_with("smet: error: the compiler crashed with signal 11 (Segmentation fault); this is a bug "
                                 "in smet, not in your input. Please report it with the request and the log that are "
                                 "kept in "))
      << output;
  EXPECT_EQ(std::ranges::count(output, '\n'), 1) << output;
  EXPECT_THAT(cached("programs"), testing::Contains("request.json"));
  EXPECT_EQ(train("--steps 1"), 0) << output; // the next call works
}

TEST_F(SignalTest, WhileTokenizingAndEvaluating) {
  useOwnCache();
  std::string text = makeText(600), longer;
  for (int i = 0; i < 200; ++i)
    longer += text;
  writeFile(folder / "long.txt", longer);
  ASSERT_EQ(train("--steps 1"), 0) << output; // compiled
  auto tokens = cached("tokens").size();
  Process process = start("exec smet train --config small.toml --data long.txt --steps 2 --eval-every 1 --out long");
  ASSERT_TRUE(process.waitUntil([&] { return cached("tokens").size() > tokens; })) << process.printed();
  EXPECT_EQ(signal(process, SIGINT), 130);
  EXPECT_EQ(output, "smet: Ctrl-C: stopping; a second one ends at once\nsmet: stopped by Ctrl-C while tokenizing\n");
  EXPECT_EQ(cached("tokens").size(), tokens);

  process = start("exec smet train --config small.toml --data long.txt --steps 2 --eval-every 1 --out long");
  ASSERT_TRUE(process.waitFor("step 1/2")) << process.printed();
  EXPECT_EQ(signal(process, SIGINT), 130);
  EXPECT_THAT(output, HasSubstr("step 1: no validation, it was cut short\nstopped by Ctrl-C after step 1, saved in"));
  EXPECT_TRUE(fs::exists(checkpoint("long", 1)));

  process = start("exec smet eval --checkpoint long --whole-text");
  auto compiles = [&] { return childOf(process.id, "smet-compile") != 0; };
  ASSERT_TRUE(process.waitUntil(compiles) && process.waitUntil([&] { return !compiles(); })) << process.printed();
  EXPECT_EQ(signal(process, SIGTERM), 143);
  EXPECT_THAT(output, HasSubstr("smet: stopped by SIGTERM while evaluating\n"));
}

// Nothing is left: neither the compiler's folder nor a peer, which neither reads its input nor ends by itself.
TEST_F(SignalTest, WhileMeasuring) {
  useOwnCache();
  const std::string linear = "exec smet-bench linear --shape 64x96 --tokens 64 --baseline ";
  Process process = start(linear + "none");
  ASSERT_TRUE(process.waitUntil([&] { return childOf(process.id, "smet-compile") != 0; })) << process.printed();
  EXPECT_EQ(signal(process, SIGTERM), 128 + SIGTERM);
  EXPECT_THAT(output, HasSubstr("smet-bench: stopped by SIGTERM while compiling\n"));
  EXPECT_THAT(cached("programs"), testing::IsEmpty());

  process = start(linear + "'busy=echo ready; sleep 1000 & echo $! > busy.id; wait'");
  auto peer = [&] { return std::atoi(readFile(folder / "busy.id").value_or("").c_str()); };
  ASSERT_TRUE(process.waitUntil([&] { return peer() != 0; })) << process.printed();
  pid_t id = peer();
  EXPECT_EQ(signal(process, SIGINT), 130);
  EXPECT_THAT(output, HasSubstr("stopped by Ctrl-C while measuring\n"));
  auto runs = [&] { return !readFile(fmt::format("/proc/{}/cmdline", id)).value_or("").empty(); };
  for (int i = 0; i < 400 && runs(); ++i) // it has been sent its signal
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(runs()) << "the peer goes on";
}

TEST_F(SignalTest, ASecondProcessKeepsOutOfTheRun) {
  Process process = start(std::string(endless));
  ASSERT_TRUE(process.waitFor("step 10/")) << process.printed();
  expect("smet train --config small.toml --resume", 1, {"another process works in 'run'"});
  EXPECT_EQ(signal(process, SIGKILL), 128 + SIGKILL);
  EXPECT_EQ(train("--steps 1"), 0) << output; // a killed process leaves no lock
}

TEST_F(SignalTest, TheOutputsReaderMayGoAway) {
  EXPECT_EQ(run("smet train --config small.toml --log-every 1 2>errors | head -1"), 0);
  EXPECT_TRUE(fs::exists(checkpoint("run", 40)));
  EXPECT_EQ(train("--steps 1 --out closed >&-"), 0) << output;
}

} // namespace
