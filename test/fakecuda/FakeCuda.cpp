//===- FakeCuda.cpp - the stand-in of NVIDIA's driver ---------------------===//

#include "FakeCuda.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <utility>
#include <vector>

namespace {

using Result = int;
using Address = unsigned long long;

constexpr Result success = 0, invalidValue = 1, outOfMemory = 2, noDevice = 100, invalidImage = 200,
                 invalidContext = 201, noBinary = 209, notFound = 500, illegalAddress = 700;

struct Work {
  std::function<void()> run;
  bool isKernel = false;
};
using GraphWork = std::vector<Work>;

struct FakeStream {
  std::vector<Work> queue;
  GraphWork *capture = nullptr;
};

struct FakeFunction {
  const fake_function *function;
  int dynamicShared = 48 << 10;
};

struct FakeModule {
  std::map<std::string, FakeFunction> functions;
};

/// A device of one process.
struct FakeDriver {
  std::map<std::string, int64_t> settings;
  std::map<Address, size_t> memory; ///< of the device: base, bytes
  std::map<char *, size_t> pinned;
  int64_t used = 0, contexts = 0;
  Result sticky = success; ///< what every call answers from now on
  fake_counts counts = {};
  bool current = false;

  int64_t setting(const char *name, int64_t otherwise) const {
    auto found = settings.find(name);
    return found == settings.end() ? otherwise : found->second;
  }

  void start() {
    settings.clear();
    counts = {0, 0, 0, 0, 0, counts.live};
    sticky = success;
    const char *text = std::getenv("SMET_FAKE_CUDA");
    for (std::string rest = text ? text : ""; !rest.empty();) {
      std::string one = rest.substr(0, rest.find(','));
      rest.erase(0, one.size() + 1);
      size_t equals = one.find('=');
      settings[one.substr(0, equals)] = std::strtoll(one.c_str() + equals + 1, nullptr, 10);
    }
  }

  /// Device memory may be touched while the driver runs something.
  void protect(int protection) {
    for (auto [base, bytes] : memory)
      mprotect(reinterpret_cast<void *>(base), bytes, protection);
  }

  bool isDevice(Address at, size_t bytes) const {
    auto after = memory.upper_bound(at);
    if (after == memory.begin())
      return false;
    auto [base, size] = *std::prev(after);
    return at + bytes <= base + size;
  }
  bool isPinned(const void *at) const {
    return std::ranges::any_of(pinned,
                               [&](const auto &range) { return at >= range.first && at < range.first + range.second; });
  }

  Result wait(FakeStream &stream) {
    std::vector<Work> queue = std::move(stream.queue);
    stream.queue.clear();
    protect(PROT_READ | PROT_WRITE);
    for (Work &work : queue) {
      if (sticky != success)
        break;
      if (work.isKernel && ++counts.kernels == setting("fail-launch", 0))
        sticky = illegalAddress;
      else
        work.run();
    }
    protect(PROT_NONE);
    return sticky;
  }

  /// Copies: from and to pinned memory when the stream gets there, other memory is dealt with before the call returns.
  Result copy(FakeStream *stream, void *to, const void *from, size_t bytes, Address device, const void *host) {
    if (!isDevice(device, bytes) || stream->capture)
      return invalidValue;
    bool toDevice = from == host;
    if (isPinned(host) || !toDevice) {
      stream->queue.push_back({[=] { std::memcpy(to, from, bytes); }});
      return isPinned(host) ? success : wait(*stream);
    }
    std::shared_ptr<char[]> staged(new char[std::max<size_t>(bytes, 1)]);
    std::memcpy(staged.get(), from, bytes);
    stream->queue.push_back({[=] { std::memcpy(to, staged.get(), bytes); }});
    return success;
  }
};

FakeDriver driver;

/// What every call but the first ones begins with.
Result ready() { return driver.sticky != success ? driver.sticky : driver.current ? success : invalidContext; }

#define RETURN_UNLESS_READY                                                                                            \
  if (Result result = ready(); result != success)                                                                      \
  return result

} // namespace

extern "C" {

fake_counts fake_cuda_counts_now() { return driver.counts; }

Result cuInit(unsigned) {
  driver.start();
  return Result(driver.setting("init", success));
}

Result cuDriverGetVersion(int *version) {
  driver.start();
  *version = int(driver.setting("version", 12040));
  return success;
}

Result cuGetErrorName(Result result, const char **name) {
  static const std::map<Result, const char *> names = {{invalidValue, "CUDA_ERROR_INVALID_VALUE"},
                                                       {outOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                       {noDevice, "CUDA_ERROR_NO_DEVICE"},
                                                       {invalidImage, "CUDA_ERROR_INVALID_IMAGE"},
                                                       {invalidContext, "CUDA_ERROR_INVALID_CONTEXT"},
                                                       {noBinary, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
                                                       {notFound, "CUDA_ERROR_NOT_FOUND"},
                                                       {illegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                                                       {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"}};
  auto found = names.find(result);
  if (found == names.end())
    return invalidValue;
  *name = found->second;
  return success;
}

Result cuGetErrorString(Result result, const char **text) {
  static const std::map<Result, const char *> texts = {
      {outOfMemory, "out of memory"},
      {illegalAddress, "an illegal memory access was encountered"},
      {803, "system has unsupported display driver / cuda driver combination"}};
  auto found = texts.find(result);
  *text = found == texts.end() ? "no text" : found->second;
  return success;
}

Result cuDeviceGetCount(int *count) {
  *count = int(driver.setting("devices", 1));
  return success;
}

Result cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return ordinal < driver.setting("devices", 1) ? success : 101;
}

Result cuDeviceGetName(char *name, int bytes, int device) {
  std::string text = "Stand-in " + std::to_string(device);
  name[text.copy(name, size_t(bytes) - 1)] = 0;
  return success;
}

Result cuDeviceGetAttribute(int *value, int attribute, int) {
  if (attribute != 75 && attribute != 76)
    return invalidValue;
  *value = int(attribute == 75 ? driver.setting("major", 9) : driver.setting("minor", 0));
  return success;
}

Result cuDevicePrimaryCtxRetain(void **context, int) {
  if (driver.sticky != success)
    return driver.sticky;
  *context = &driver;
  ++driver.counts.live;
  return success;
}

Result cuDevicePrimaryCtxRelease_v2(int) {
  --driver.counts.live;
  return success;
}

Result cuCtxSetCurrent(void *context) {
  driver.current = context;
  return driver.sticky;
}

Result cuMemGetInfo_v2(size_t *free, size_t *total) {
  RETURN_UNLESS_READY;
  *total = size_t(driver.setting("memory", 1 << 30));
  *free = *total - size_t(driver.used);
  return success;
}

Result cuMemAlloc_v2(Address *address, size_t bytes) {
  RETURN_UNLESS_READY;
  if (!bytes)
    return invalidValue;
  if (driver.setting("fail-alloc", 0) || int64_t(bytes) > driver.setting("memory", 1 << 30) - driver.used)
    return outOfMemory;
  void *data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memset(data, 0xAB, bytes);
  mprotect(data, bytes, PROT_NONE);
  *address = reinterpret_cast<Address>(data);
  driver.memory[*address] = bytes;
  driver.used += int64_t(bytes);
  ++driver.counts.live;
  return success;
}

Result cuMemFree_v2(Address address) {
  auto found = driver.memory.find(address);
  if (found == driver.memory.end())
    return invalidValue;
  munmap(reinterpret_cast<void *>(address), found->second);
  driver.used -= int64_t(found->second);
  driver.memory.erase(found);
  --driver.counts.live;
  return driver.sticky;
}

Result cuMemHostAlloc(void **place, size_t bytes, unsigned) {
  RETURN_UNLESS_READY;
  char *data = new char[bytes];
  driver.pinned[data] = bytes;
  *place = data;
  ++driver.counts.live;
  return success;
}

Result cuMemFreeHost(void *place) {
  driver.pinned.erase(static_cast<char *>(place));
  delete[] static_cast<char *>(place);
  --driver.counts.live;
  return driver.sticky;
}

Result cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t bytes, FakeStream *stream) {
  RETURN_UNLESS_READY;
  return driver.copy(stream, reinterpret_cast<void *>(to), from, bytes, to, from);
}

Result cuMemcpyDtoHAsync_v2(void *to, Address from, size_t bytes, FakeStream *stream) {
  RETURN_UNLESS_READY;
  return driver.copy(stream, to, reinterpret_cast<void *>(from), bytes, from, to);
}

Result cuMemsetD8Async(Address to, unsigned char value, size_t bytes, FakeStream *stream) {
  RETURN_UNLESS_READY;
  if (!driver.isDevice(to, bytes))
    return invalidValue;
  stream->queue.push_back({[=] { std::memset(reinterpret_cast<void *>(to), value, bytes); }});
  return success;
}

Result cuStreamCreate(FakeStream **stream, unsigned) {
  RETURN_UNLESS_READY;
  *stream = new FakeStream;
  ++driver.counts.live;
  return success;
}

Result cuStreamDestroy_v2(FakeStream *stream) {
  delete stream;
  --driver.counts.live;
  return driver.sticky;
}

Result cuStreamSynchronize(FakeStream *stream) {
  RETURN_UNLESS_READY;
  return driver.wait(*stream);
}

Result cuModuleLoadData(FakeModule **module, const void *image) {
  RETURN_UNLESS_READY;
  auto *table = static_cast<const fake_image *>(image);
  if (std::memcmp(table->magic, "FAKECUDA", 8) != 0)
    return invalidImage;
  if (table->major && table->major != driver.setting("major", 9))
    return noBinary;
  *module = new FakeModule;
  for (int i = 0; i < table->count; ++i)
    (*module)->functions[table->functions[i].name] = {&table->functions[i]};
  ++driver.counts.modules;
  ++driver.counts.live;
  return success;
}

Result cuModuleUnload(FakeModule *module) {
  delete module;
  --driver.counts.live;
  return driver.sticky;
}

Result cuModuleGetFunction(FakeFunction **function, FakeModule *module, const char *name) {
  RETURN_UNLESS_READY;
  auto found = module->functions.find(name);
  if (found == module->functions.end())
    return notFound;
  *function = &found->second;
  return success;
}

Result cuFuncSetAttribute(FakeFunction *function, int attribute, int value) {
  RETURN_UNLESS_READY;
  if (attribute != 8 || value > 227 << 10)
    return invalidValue;
  function->dynamicShared = value;
  return success;
}

Result cuLaunchKernel(FakeFunction *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                      unsigned bz, unsigned shared, FakeStream *stream, void **arguments, void **) {
  RETURN_UNLESS_READY;
  if (!gx || !gy || !gz || !bx || !by || !bz || bx * by * bz > 1024 || int(shared) > function->dynamicShared)
    return invalidValue;
  const fake_function &kernel = *function->function;
  std::vector<std::vector<char>> values;
  for (int i = 0; i < kernel.count; ++i) {
    auto *value = static_cast<const char *>(arguments[i]);
    values.emplace_back(value, value + kernel.widths[i]);
  }
  fake_launch launch = {{gx, gy, gz}, {bx, by, bz}, shared};
  Work work{[=, &kernel]() mutable {
              std::vector<void *> pointers;
              for (auto &value : values)
                pointers.push_back(value.data());
              kernel.run(&launch, pointers.data());
            },
            true};
  if (!stream->capture)
    ++driver.counts.launches;
  (stream->capture ? *stream->capture : stream->queue).push_back(std::move(work));
  return success;
}

Result cuStreamBeginCapture_v2(FakeStream *stream, int) {
  RETURN_UNLESS_READY;
  stream->capture = new GraphWork;
  ++driver.counts.captures;
  return success;
}

Result cuStreamEndCapture(FakeStream *stream, GraphWork **graph) {
  *graph = std::exchange(stream->capture, nullptr);
  ++driver.counts.live;
  return driver.sticky;
}

Result cuGraphInstantiateWithFlags(GraphWork **exec, GraphWork *graph, unsigned long long) {
  RETURN_UNLESS_READY;
  *exec = new GraphWork(*graph);
  ++driver.counts.live;
  return success;
}

Result cuGraphLaunch(GraphWork *exec, FakeStream *stream) {
  RETURN_UNLESS_READY;
  ++driver.counts.graph_launches;
  stream->queue.insert(stream->queue.end(), exec->begin(), exec->end());
  return success;
}

Result cuGraphDestroy(GraphWork *graph) {
  delete graph;
  --driver.counts.live;
  return driver.sticky;
}

Result cuGraphExecDestroy(GraphWork *exec) { return cuGraphDestroy(exec); }

} // extern "C"
