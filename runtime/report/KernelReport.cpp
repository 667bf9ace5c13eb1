//===- KernelReport.cpp - what the compiler knows of GPU kernels ----------===//

#include "runtime/report/KernelReport.h"

#include "runtime/program/Program.h"
#include "runtime/support/MappedFile.h"

#include <algorithm>
#include <cstring>
#include <elf.h>

namespace smet::rt {

using nlohmann::json;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// The bytes of a section of a 64-bit ELF file; empty where there is none, or the file is something else.
static std::string_view section(std::string_view file, std::string_view name) {
  Elf64_Ehdr header;
  if (file.size() < sizeof(header))
    return {};
  std::memcpy(&header, file.data(), sizeof(header));
  auto headerOf = [&](uint64_t index) {
    Elf64_Shdr section{};
    uint64_t at = header.e_shoff + index * sizeof(section);
    if (index < header.e_shnum && at <= file.size() && file.size() - at >= sizeof(section))
      std::memcpy(&section, file.data() + at, sizeof(section));
    return section;
  };
  auto bytesOf = [&](const Elf64_Shdr &section) -> std::string_view {
    if (section.sh_type == SHT_NOBITS || section.sh_offset > file.size() ||
        section.sh_size > file.size() - section.sh_offset)
      return {};
    return file.substr(section.sh_offset, section.sh_size);
  };
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
    return {};
  std::string_view names = bytesOf(headerOf(header.e_shstrndx));
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr candidate = headerOf(i);
    if (candidate.sh_name < names.size() &&
        names.substr(candidate.sh_name).substr(0, name.size() + 1) == std::string(name) + '\0')
      return bytesOf(candidate);
  }
  return {};
}

static std::map<int64_t, int64_t> widths(const json &object) {
  std::map<int64_t, int64_t> counts;
  for (const auto &[width, count] : object.items())
    counts[std::strtoll(width.c_str(), nullptr, 10)] = count.get<int64_t>();
  return counts;
}

static Expected<KernelReport> parse(std::string_view text) {
  json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object() || !object.contains("kernel"))
    return fail("'{}' is no report of a kernel", text);
  KernelReport kernel;
  kernel.kernel = object.value("kernel", "");
  kernel.callee = kernel.kernel.substr(0, kernel.kernel.find('.'));
  kernel.chip = object.value("chip", "");
  kernel.threads = object.value("threads", int64_t(0));
  kernel.assembled = object.contains("registers");
  kernel.registers = object.value("registers", int64_t(0));
  kernel.sharedBytes = object.value("shared_bytes", int64_t(0));
  kernel.stackBytes = object.value("stack_bytes", int64_t(0));
  kernel.spillStoreBytes = object.value("spill_store_bytes", int64_t(0));
  kernel.spillLoadBytes = object.value("spill_load_bytes", int64_t(0));
  kernel.globalLoads = widths(object.value("global_loads", json::object()));
  kernel.globalStores = widths(object.value("global_stores", json::object()));
  kernel.asyncCopies = widths(object.value("async_copies", json::object()));
  kernel.localAccesses = object.value("local_accesses", int64_t(0));
  kernel.mma = object.value("mma", int64_t(0));
  return kernel;
}

Expected<std::vector<KernelReport>> readKernelReports(const std::filesystem::path &program) {
  if (Status whole = Program::check(program); !whole)
    return std::unexpected(whole.error());
  auto file = MappedFile::open(program);
  if (!file)
    return std::unexpected(file.error());
  std::span<const std::byte> bytes = file->bytes();
  std::string_view texts = section({reinterpret_cast<const char *>(bytes.data()), bytes.size()}, ".smet.report");
  std::vector<KernelReport> kernels;
  while (!texts.empty()) {
    std::string_view text = texts.substr(0, texts.find('\0'));
    texts.remove_prefix(std::min(texts.size(), text.size() + 1));
    if (text.empty()) // between sections of objects
      continue;
    auto kernel = parse(text);
    if (!kernel)
      return fail("'{}': {}", program.string(), kernel.error().message);
    kernels.push_back(std::move(*kernel));
  }
  if (kernels.empty())
    return fail("'{}' has no report of GPU kernels; compile it with --target cuda", program.string());
  std::ranges::sort(kernels, {}, &KernelReport::kernel);
  return kernels;
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

std::map<int64_t, int64_t> KernelReport::loads() const {
  std::map<int64_t, int64_t> all = globalLoads;
  for (auto [width, count] : asyncCopies)
    all[width] += count;
  return all;
}

std::optional<double> occupancy(const KernelReport &kernel, const GPU &gpu) {
  if (!kernel.assembled || kernel.threads < 1)
    return std::nullopt;
  auto roundUp = [](int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; };
  int64_t warps = (kernel.threads + 31) / 32;
  int64_t registers = roundUp(std::max<int64_t>(kernel.registers, 1) * 32, 256) * warps; // a warp's, by 256
  int64_t shared = roundUp(kernel.sharedBytes + 1024, 128);                              // 1 KiB is the system's
  int64_t blocks =
      std::min({gpu.blocks, gpu.registers / registers, gpu.sharedBytes / shared, gpu.threads / (warps * 32)});
  return double(blocks * warps * 32) / double(gpu.threads);
}

double CallTime::seconds() const { return std::max({memory, cache, shared, compute}); }

std::string_view CallTime::bound() const {
  double most = seconds();
  return most == 0 ? "" : most == compute ? "compute" : most == memory ? "memory" : most == cache ? "L2" : "shared";
}

CallTime modelTime(const CallInfo &call, const std::vector<const KernelReport *> &kernels, const GPU &gpu) {
  auto any = [&](auto has) { return std::ranges::any_of(kernels, [&](const KernelReport *k) { return has(*k); }); };
  bool tensorCores = any([](const KernelReport &k) { return k.mma > 0; });
  bool copies = any([](const KernelReport &k) { return !k.asyncCopies.empty(); });
  CallTime time{};
  time.memory = double(call.bytes) / gpu.memoryBandwidth;
  time.cache = double(call.cacheBytes) / gpu.cacheBandwidth;
  time.compute = double(call.flops) / (tensorCores ? gpu.bf16 : gpu.f32);
  time.shared = copies ? 2 * double(call.cacheBytes) / gpu.sharedBandwidth() : 0; // there and back
  return time;
}

//===----------------------------------------------------------------------===//
// Presentation
//===----------------------------------------------------------------------===//

namespace {

/// Calls of one kernel module in an entry point.
struct CalleeTime {
  std::string op;
  int64_t calls = 0;
  CallInfo sum;
  CallTime last{};
  double seconds = 0;
};

} // namespace

static std::map<std::string, CalleeTime> timesOf(const std::vector<CallInfo> &calls,
                                                 const std::vector<KernelReport> &kernels, const GPU &gpu) {
  std::map<std::string, std::vector<const KernelReport *>> launched;
  for (const KernelReport &kernel : kernels)
    launched[kernel.callee].push_back(&kernel);
  std::map<std::string, CalleeTime> times;
  for (const CallInfo &call : calls) {
    auto found = launched.find(call.callee);
    if (found == launched.end()) // a routine
      continue;
    CalleeTime &time = times[call.callee];
    time.op = call.op;
    ++time.calls;
    time.sum.flops += call.flops;
    time.sum.bytes += call.bytes;
    time.sum.cacheBytes += call.cacheBytes;
    time.last = modelTime(call, found->second, gpu);
    time.seconds += time.last.seconds();
  }
  return times;
}

/// "16 B x 4, 4 B x 2".
static std::string widthsText(const std::map<int64_t, int64_t> &counts) {
  std::string text;
  for (auto it = counts.rbegin(); it != counts.rend(); ++it)
    text += fmt::format("{}{} B x {}", text.empty() ? "" : ", ", it->first, it->second);
  return text.empty() ? "-" : text;
}

std::string reportText(const Manifest &manifest, const std::vector<KernelReport> &kernels, const GPU &gpu) {
  std::string text = fmt::format("{} kernels for {}; occupancy and times are those of an {}\n\n", kernels.size(),
                                 kernels.front().chip, gpu.name);
  size_t nameWidth = 0, loadsWidth = 0;
  for (const KernelReport &k : kernels) {
    nameWidth = std::max(nameWidth, k.kernel.size());
    loadsWidth = std::max(loadsWidth, widthsText(k.loads()).size());
  }
  text += fmt::format("{:<{}} {:>7} {:>9} {:>8} {:>7} {:>9} {:>4}  {:<{}}  {}\n", "kernel", nameWidth, "threads",
                      "registers", "shared B", "spill B", "occupancy", "mma", "loads", loadsWidth, "stores");
  for (const KernelReport &k : kernels) {
    auto known = [&](int64_t value) { return k.assembled ? std::to_string(value) : "?"; };
    auto share = occupancy(k, gpu);
    text += fmt::format("{:<{}} {:>7} {:>9} {:>8} {:>7} {:>9} {:>4}  {:<{}}  {}\n", k.kernel, nameWidth, k.threads,
                        known(k.registers), known(k.sharedBytes), known(k.spillBytes()),
                        share ? fmt::format("{:.0f} %", 100 * *share) : "?", k.mma, widthsText(k.loads()), loadsWidth,
                        widthsText(k.globalStores));
  }
  for (const std::string &entry : manifest.entryPoints) {
    auto times = timesOf(manifest.calls.at(entry), kernels, gpu);
    if (times.empty())
      continue;
    std::vector<std::pair<std::string, CalleeTime>> sorted(times.begin(), times.end());
    std::ranges::stable_sort(sorted, std::greater{}, [](auto &item) { return item.second.seconds; });
    double total = 0;
    size_t width = 0;
    for (auto &[callee, time] : sorted) {
      total += time.seconds;
      width = std::max(width, callee.size());
    }
    text += fmt::format("\n{}: at least {:.1f} us\n{:<{}} {:>6} {:>10} {:>10} {:>10} {:>10}  {}\n", entry, total * 1e6,
                        "", width, "calls", "MB", "MB of L2", "GFLOP", "us", "bound by");
    for (auto &[callee, time] : sorted)
      text += fmt::format("{:<{}} {:>6} {:>10.2f} {:>10.2f} {:>10.3f} {:>10.1f}  {}\n", callee, width, time.calls,
                          double(time.sum.bytes) / 1e6, double(time.sum.cacheBytes) / 1e6, double(time.sum.flops) / 1e9,
                          time.seconds * 1e6, time.last.bound());
  }
  return text;
}

json reportJson(const Manifest &manifest, const std::vector<KernelReport> &kernels, const GPU &gpu) {
  auto widthsJson = [](const std::map<int64_t, int64_t> &counts) {
    json object = json::object();
    for (auto [width, count] : counts)
      object[std::to_string(width)] = count;
    return object;
  };
  json list = json::array(), entries = json::object();
  for (const KernelReport &k : kernels) {
    json &item = list.emplace_back(json{{"kernel", k.kernel},
                                        {"chip", k.chip},
                                        {"threads", k.threads},
                                        {"global_loads", widthsJson(k.globalLoads)},
                                        {"global_stores", widthsJson(k.globalStores)},
                                        {"async_copies", widthsJson(k.asyncCopies)},
                                        {"local_accesses", k.localAccesses},
                                        {"mma", k.mma}});
    if (k.assembled)
      item.update({{"registers", k.registers},
                   {"shared_bytes", k.sharedBytes},
                   {"stack_bytes", k.stackBytes},
                   {"spill_store_bytes", k.spillStoreBytes},
                   {"spill_load_bytes", k.spillLoadBytes}});
    if (auto share = occupancy(k, gpu))
      item["occupancy"] = *share;
  }
  for (const std::string &entry : manifest.entryPoints) {
    json calls = json::array();
    for (auto &[callee, time] : timesOf(manifest.calls.at(entry), kernels, gpu))
      calls.push_back({{"callee", callee},
                       {"op", time.op},
                       {"calls", time.calls},
                       {"bytes", time.sum.bytes},
                       {"cache_bytes", time.sum.cacheBytes},
                       {"flops", time.sum.flops},
                       {"modelled_seconds", time.seconds},
                       {"bound", time.last.bound()}});
    entries[entry] = std::move(calls);
  }
  return {{"gpu", gpu.name}, {"kernels", std::move(list)}, {"entry_points", std::move(entries)}};
}

} // namespace smet::rt
