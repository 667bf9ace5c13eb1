//===- CudaDevice.cpp -----------------------------------------------------===//
#include "runtime/cuda/CudaDevice.h"

#include "runtime/cuda/Fit.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace smet::rt::cuda {

//===----------------------------------------------------------------------===//
// Taking and giving back
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<CudaDevice>> CudaDevice::create(const Manifest &manifest, char *host) {
  auto driver = Driver::open();
  if (!driver)
    return std::unexpected(driver.error());
  auto cards = findCards(*driver);
  if (!cards)
    return std::unexpected(cards.error());
  std::unique_ptr<CudaDevice> device(new CudaDevice(manifest, host, *driver, cards->front()));
  if (Status opened = device->open(); !opened)
    return std::unexpected(opened.error());
  return device;
}

CudaDevice::CudaDevice(const Manifest &manifest, char *host, Driver driver, Card card)
    : manifest(manifest), host(host), driver(driver), card(std::move(card)) {
  const char *wish = std::getenv("SMET_CUDA_SYNC");
  waitForEach = wish && std::string_view(wish) == "1";
}

Status CudaDevice::open() {
  auto step = [&](Result result, std::string_view what) { return call(result, what); };
  if (Status made = step(driver.contextRetain(&context, card.id), "cannot be used"); !made)
    return made;
  if (Status entered = enter(); !entered)
    return entered;
  auto free = currentMemory(driver);
  if (!free)
    return std::unexpected(free.error());
  if (Status fits = checkFits(manifest, card, *free); !fits)
    return fits;
  auto size = size_t(std::max<int64_t>(manifest.arenaBytes, 1));
  if (Status taken = step(driver.memAlloc(&memory, size), fmt::format("memory for {} bytes", size)); !taken)
    return taken;
  if (Status made = step(driver.streamCreate(&stream, kNonBlocking), "making a stream"); !made)
    return made;
  int64_t inputBytes = 0, outputBytes = 0;
  inputs = partsOf(Role::Input, inputBytes);
  outputs = partsOf(Role::Output, outputBytes);
  void *place = nullptr;
  pinnedBytes = std::max<int64_t>({inputBytes, outputBytes, SMET_ALIGNMENT});
  if (Status taken = step(driver.memHostAlloc(&place, size_t(pinnedBytes), 0), "pinned memory for inputs and outputs");
      !taken)
    return taken;
  pinned = static_cast<char *>(place);
  modules.emplace(driver, card);
  queue.emplace(driver, stream);
  if (Status zeroed = step(driver.memset(memory, 0, size, stream), "zeroing the arena"); !zeroed)
    return zeroed;
  return finish();
}

CudaDevice::~CudaDevice() {
  if (!context)
    return;
  driver.contextSetCurrent(context);
  queue.reset();
  modules.reset();
  if (pinned)
    driver.memFreeHost(pinned);
  if (stream)
    driver.streamDestroy(stream);
  if (memory)
    driver.memFree(memory);
  driver.contextSetCurrent(nullptr);
  driver.contextRelease(card.id);
}

std::vector<CudaDevice::Part> CudaDevice::partsOf(Role role, int64_t &bytes) const {
  std::vector<const TensorInfo *> tensors;
  for (const TensorInfo &tensor : manifest.tensors)
    if (tensor.role == role)
      tensors.push_back(&tensor);
  std::ranges::sort(tensors, {}, &TensorInfo::offset);
  std::vector<Part> parts;
  for (const TensorInfo *tensor : tensors) {
    if (parts.empty() || tensor->offset - parts.back().offset - parts.back().bytes >= SMET_ALIGNMENT)
      parts.push_back({tensor->offset, 0, 0});
    parts.back().bytes = tensor->offset + tensor->bytes - parts.back().offset;
  }
  for (Part &part : parts) {
    part.pinned = bytes;
    bytes += part.bytes;
  }
  return parts;
}

//===----------------------------------------------------------------------===//
// Calls of the driver
//===----------------------------------------------------------------------===//

Status CudaDevice::call(Result result, std::string_view what) const {
  return result == kSuccess ? Status() : driver.check(result, fmt::format("{}: {}", card.name, what));
}

/// A context is current in a thread.
Status CudaDevice::settle() {
  Status entered = enter();
  return entered ? finish() : entered;
}

Status CudaDevice::enter() const { return call(driver.contextSetCurrent(context), "cannot be used"); }

Status CudaDevice::finish() {
  if (Status flushed = queue->flush(); !flushed)
    return flushed;
  if (Status good = call(driver.streamSynchronize(stream), "a kernel or a copy failed"); !good)
    return fail("{}; this process cannot use the card any more{}", good.error().message,
                waitForEach ? "" : ". With SMET_CUDA_SYNC=1 the message names the kernel");
  return {};
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Of blocks or threads, as the driver takes them.
static Expected<std::array<unsigned, 3>> sizesOf(const smet_kernel &kernel, const int64_t (&sizes)[3]) {
  std::array<unsigned, 3> result;
  for (int i = 0; i < 3; ++i) {
    if (sizes[i] < 0 || sizes[i] > INT32_MAX)
      return fail("kernel '{}': a launch of {} x {} x {}", kernel.name, sizes[0], sizes[1], sizes[2]);
    result[i] = unsigned(sizes[i]);
  }
  return result;
}

Expected<QueuedLaunch> CudaDevice::queued(const smet_kernel &kernel, const smet_launch &launch) {
  auto function = modules->function(kernel, launch.shared_bytes);
  if (!function)
    return std::unexpected(function.error());
  auto grid = sizesOf(kernel, launch.grid), block = sizesOf(kernel, launch.block);
  if (!grid || !block)
    return std::unexpected((grid ? block : grid).error());
  QueuedLaunch result{kernel.name, *function, *grid, *block, unsigned(launch.shared_bytes), {}};
  for (int64_t i = 0; i < launch.num_arguments; ++i) {
    int64_t bytes = launch.bytes[i] < 0 ? -launch.bytes[i] : int64_t(sizeof(void *));
    if (bytes > int64_t(sizeof(uint64_t)))
      return fail("kernel '{}': argument {} has {} bytes, and values of at most 8 can be passed", kernel.name, i,
                  bytes);
    std::memcpy(&result.arguments.emplace_back(0), launch.arguments[i], size_t(bytes));
  }
  return result;
}

Status CudaDevice::launch(const smet_kernel &kernel, const smet_launch &launch, ThreadPool &) {
  auto next = queued(kernel, launch);
  if (!next)
    return std::unexpected(next.error());
  if (std::ranges::find(next->grid, 0u) != next->grid.end())
    return {}; // no blocks: an error for the driver
  queue->add(std::move(*next));
  if (!waitForEach)
    return {};
  if (Status done = finish(); !done)
    return fail("kernel '{}': {}", kernel.name, done.error().message);
  return {};
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

Status CudaDevice::begin(std::string_view entry, bool traced) {
  if (Status entered = enter(); !entered)
    return entered;
  queue->begin(entry, /*graphs=*/!traced && !waitForEach);
  for (const Part &part : inputs) {
    std::memcpy(pinned + part.pinned, host + part.offset, size_t(part.bytes));
    if (Status copied =
            call(driver.memcpyToDevice(memory + Address(part.offset), pinned + part.pinned, size_t(part.bytes), stream),
                 "copying inputs");
        !copied)
      return copied;
  }
  return {};
}

/// The pinned memory is free again for outputs: what was launched, behind the copies of inputs, is done.
Status CudaDevice::end() {
  if (Status done = finish(); !done)
    return done;
  for (const Part &part : outputs)
    if (Status copied =
            call(driver.memcpyToHost(pinned + part.pinned, memory + Address(part.offset), size_t(part.bytes), stream),
                 "copying outputs");
        !copied)
      return copied;
  if (Status done = finish(); !done)
    return done;
  for (const Part &part : outputs)
    std::memcpy(host + part.offset, pinned + part.pinned, size_t(part.bytes));
  return {};
}

Status CudaDevice::read(void *to, const void *array, int64_t bytes) {
  if (Status flushed = queue->flush(); !flushed)
    return flushed;
  auto *next = static_cast<char *>(to);
  auto from = reinterpret_cast<Address>(array);
  for (int64_t part; bytes > 0; bytes -= part, next += part, from += Address(part)) {
    part = std::min(bytes, pinnedBytes);
    if (Status copied = call(driver.memcpyToHost(pinned, from, size_t(part), stream), "reading"); !copied)
      return copied;
    if (Status done = finish(); !done)
      return done;
    std::memcpy(next, pinned, size_t(part));
  }
  return {};
}

/// The largest tensor there: those of the workspace may begin at the same place.
int64_t CudaDevice::bytesAt(int64_t offset) const {
  int64_t bytes = 0;
  for (const TensorInfo &tensor : manifest.tensors)
    if (tensor.offset == offset)
      bytes = std::max(bytes, tensor.bytes);
  return bytes;
}

Status CudaDevice::toHost(std::span<const int64_t> offsets) {
  if (Status done = settle(); !done)
    return done;
  for (int64_t offset : offsets)
    if (Status copied =
            call(driver.memcpyToHost(host + offset, memory + Address(offset), size_t(bytesAt(offset)), stream),
                 "copying to the host");
        !copied)
      return copied;
  return finish();
}

Status CudaDevice::toDevice(std::span<const int64_t> offsets) {
  if (Status done = settle(); !done)
    return done;
  for (int64_t offset : offsets)
    if (Status copied =
            call(driver.memcpyToDevice(memory + Address(offset), host + offset, size_t(bytesAt(offset)), stream),
                 "copying to the card");
        !copied)
      return copied;
  return finish();
}

} // namespace smet::rt::cuda
