//===- Manifest.cpp - parses and checks the manifest of a program ---------===//

#include "runtime/program/Manifest.h"

#include "runtime/program/Abi.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

namespace smet::rt {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 6> roleNames = {"param", "state", "topology", "input", "output", "workspace"};
constexpr std::array<std::string_view, 7> dtypeNames = {"f32", "f64", "bf16", "i8", "i16", "i32", "i64"};
constexpr std::array<int64_t, 7> dtypeWidths = {4, 8, 2, 1, 2, 4, 8};

/// The enumerator whose name is `text`.
template <typename Enum, size_t N>
std::optional<Enum> fromName(const std::array<std::string_view, N> &names, std::string_view text) {
  auto it = std::ranges::find(names, text);
  if (it == names.end())
    return std::nullopt;
  return Enum(it - names.begin());
}

/// Reads the fields of one JSON object. The first problem is kept; later reads give zeros.
class Reader {
public:
  Reader(const json &object, std::string what) : object(object), what(std::move(what)) {
    if (!object.is_object())
      report("is not an object");
  }

  std::string string(const char *key) { return get<std::string>(key, &json::is_string, "a string"); }
  /// A size, count or offset.
  int64_t integer(const char *key) {
    auto value = get<int64_t>(key, &json::is_number_integer, "an integer");
    if (value < 0)
      report(fmt::format("'{}' is negative", key));
    return value;
  }
  std::vector<int64_t> integers(const char *key) {
    std::vector<int64_t> values;
    for (const json &value : array(key)) {
      if (!value.is_number_integer() || value.get<int64_t>() < 0)
        report(fmt::format("'{}' is not a list of sizes", key));
      else
        values.push_back(value.get<int64_t>());
    }
    return values;
  }
  std::vector<std::string> strings(const char *key) {
    std::vector<std::string> values;
    for (const json &value : array(key)) {
      if (value.is_string())
        values.push_back(value);
      else
        report(fmt::format("'{}' is not a list of names", key));
    }
    return values;
  }
  json array(const char *key) { return get<json>(key, &json::is_array, "a list"); }
  json child(const char *key) { return get<json>(key, &json::is_object, "an object"); }

  void onlyKeys(std::initializer_list<std::string_view> known) {
    if (!error)
      for (const auto &[key, value] : object.items())
        if (std::ranges::find(known, key) == known.end())
          report(fmt::format("has an unknown field '{}'", key));
  }
  void report(std::string_view problem) {
    if (!error)
      error = Error{fmt::format("manifest: {} {}", what, problem)};
  }

  std::optional<Error> error;

private:
  template <typename T> T get(const char *key, bool (json::*is)() const noexcept, std::string_view type) {
    if (error)
      return T();
    auto it = object.find(key);
    if (it == object.end())
      report(fmt::format("lacks '{}'", key));
    else if (!((*it).*is)())
      report(fmt::format("'{}' is not {}", key, type));
    else
      return it->get<T>();
    return T();
  }

  const json &object;
  std::string what;
};

Expected<TensorInfo> parseTensor(const json &object, size_t index, int64_t arenaBytes) {
  Reader in(object, fmt::format("tensor {}", index));
  TensorInfo t;
  t.name = in.string("name");
  std::string role = in.string("role"), dtype = in.string("dtype");
  t.shape = in.integers("shape");
  t.offset = in.integer("offset");
  t.bytes = in.integer("bytes");
  in.onlyKeys({"name", "role", "dtype", "shape", "offset", "bytes"});
  if (in.error)
    return std::unexpected(*in.error);

  auto knownRole = fromName<Role>(roleNames, role);
  auto knownType = fromName<DType>(dtypeNames, dtype);
  if (!knownRole || !knownType)
    return fail("manifest: tensor '{}' has an unknown role '{}' or dtype '{}'", t.name, role, dtype);
  t.role = *knownRole;
  t.dtype = *knownType;
  int64_t expected = byteWidth(t.dtype);
  for (int64_t size : t.shape)
    if (__builtin_mul_overflow(expected, size, &expected))
      return fail("manifest: the shape of tensor '{}' overflows", t.name);
  if (t.bytes != expected)
    return fail("manifest: tensor '{}' has {} bytes, its shape and dtype say {}", t.name, t.bytes, expected);
  if (t.offset % SMET_ALIGNMENT != 0)
    return fail("manifest: tensor '{}' at offset {} is not aligned to {}", t.name, t.offset, SMET_ALIGNMENT);
  if (t.offset > arenaBytes || t.bytes > arenaBytes - t.offset)
    return fail("manifest: tensor '{}' ends outside the arena of {} bytes", t.name, arenaBytes);
  return t;
}

Expected<SparseLayer> parseLayer(const json &object, size_t index) {
  Reader in(object, fmt::format("layer {}", index));
  SparseLayer l;
  l.name = in.string("name");
  l.id = in.integer("id");
  l.rows = in.integer("rows");
  l.cols = in.integer("cols");
  l.nnz = in.integer("nnz");
  std::vector<int64_t> block = in.integers("block");
  in.onlyKeys({"name", "id", "rows", "cols", "block", "nnz"});
  if (in.error)
    return std::unexpected(*in.error);
  if (block.size() != 2 || block[0] < 1 || block[1] < 1 || l.rows % block[0] != 0 || l.cols % block[1] != 0)
    return fail("manifest: the block of layer '{}' does not divide {} x {}", l.name, l.rows, l.cols);
  l.blockRows = block[0];
  l.blockCols = block[1];
  if (l.nnz > l.blocks())
    return fail("manifest: layer '{}' has {} active blocks of {}", l.name, l.nnz, l.blocks());
  return l;
}

Expected<CallInfo> parseCall(const json &object, std::string_view entry, size_t index) {
  Reader in(object, fmt::format("call {} of '{}'", index, entry));
  CallInfo call;
  call.callee = in.string("callee");
  call.op = in.string("op");
  call.flops = in.integer("flops");
  call.bytes = in.integer("bytes");
  call.cacheBytes = in.integer("cache_bytes");
  in.onlyKeys({"callee", "op", "flops", "bytes", "cache_bytes"});
  if (in.error)
    return std::unexpected(*in.error);
  return call;
}

/// The calls of every entry point, and of nothing else.
Status parseCalls(const json &object, Manifest &manifest) {
  Reader in(object, "'calls'");
  for (const std::string &entry : manifest.entryPoints) {
    std::vector<CallInfo> &calls = manifest.calls[entry];
    for (const json &item : in.array(entry.c_str())) {
      auto call = parseCall(item, entry, calls.size());
      if (!call)
        return std::unexpected(call.error());
      calls.push_back(std::move(*call));
    }
  }
  if (!in.error && object.size() != manifest.calls.size())
    in.report("names something that is no entry point");
  if (in.error)
    return std::unexpected(*in.error);
  return {};
}

/// Names are unique, and nothing overlaps anything but workspace among itself.
Status checkTensors(const std::vector<TensorInfo> &tensors) {
  std::set<std::string_view> names;
  for (const TensorInfo &t : tensors)
    if (!names.insert(t.name).second)
      return fail("manifest: two tensors are named '{}'", t.name);

  std::vector<const TensorInfo *> order;
  for (const TensorInfo &t : tensors)
    if (t.bytes > 0)
      order.push_back(&t);
  std::ranges::sort(order, {}, &TensorInfo::offset);
  const TensorInfo *furthest = nullptr; // of those so far, the one that ends last
  for (const TensorInfo *t : order) {
    if (furthest && t->offset < furthest->offset + furthest->bytes &&
        !(t->role == Role::Workspace && furthest->role == Role::Workspace))
      return fail("manifest: tensors '{}' and '{}' overlap", furthest->name, t->name);
    if (!furthest || t->offset + t->bytes > furthest->offset + furthest->bytes)
      furthest = t;
  }
  return {};
}

Status checkLayers(const Manifest &manifest) {
  for (const SparseLayer &l : manifest.layers) {
    const TensorInfo *values = manifest.find(l.name);
    if (!values || values->role != Role::Param || values->shape != std::vector{l.nnz, l.blockRows, l.blockCols})
      return fail("manifest: layer '{}' has no parameter of its name and shape [{}, {}, {}]", l.name, l.nnz,
                  l.blockRows, l.blockCols);
  }
  return {};
}

Expected<json> parseJson(std::string_view text) {
  try {
    return json::parse(text);
  } catch (const json::exception &e) {
    return fail("manifest: {}", e.what());
  }
}

} // namespace

Expected<Manifest> Manifest::parse(std::string_view text) {
  auto root = parseJson(text);
  if (!root)
    return std::unexpected(root.error());
  Reader in(*root, "the top level");
  Manifest m;
  int64_t abi = in.integer("abi");
  if (!in.error && abi != SMET_ABI_VERSION)
    return fail("manifest: version {}, this runtime reads version {}; compile the program again", abi,
                SMET_ABI_VERSION);
  m.kind = in.string("kind");
  m.target = in.string("target");
  m.cpu = in.string("cpu");
  m.instructionSets = in.strings("instruction_sets");
  m.arenaBytes = in.integer("arena_bytes");
  m.entryPoints = in.strings("entry_points");
  json calls = in.child("calls"), tensors = in.array("tensors"), layers = in.array("layers");
  m.config = in.child("config");
  in.onlyKeys({"abi", "kind", "target", "cpu", "instruction_sets", "arena_bytes", "entry_points", "calls", "tensors",
               "layers", "config"});
  if (in.error)
    return std::unexpected(*in.error);

  if (auto ok = parseCalls(calls, m); !ok)
    return std::unexpected(ok.error());
  for (const json &object : tensors) {
    auto tensor = parseTensor(object, m.tensors.size(), m.arenaBytes);
    if (!tensor)
      return std::unexpected(tensor.error());
    m.tensors.push_back(std::move(*tensor));
  }
  for (const json &object : layers) {
    auto layer = parseLayer(object, m.layers.size());
    if (!layer)
      return std::unexpected(layer.error());
    m.layers.push_back(std::move(*layer));
  }
  if (auto ok = checkTensors(m.tensors); !ok)
    return std::unexpected(ok.error());
  if (auto ok = checkLayers(m); !ok)
    return std::unexpected(ok.error());
  return m;
}

const TensorInfo *Manifest::find(std::string_view name) const {
  auto it = std::ranges::find(tensors, name, &TensorInfo::name);
  return it == tensors.end() ? nullptr : &*it;
}

std::string_view name(Role role) { return roleNames[size_t(role)]; }
std::string_view name(DType dtype) { return dtypeNames[size_t(dtype)]; }
int64_t byteWidth(DType dtype) { return dtypeWidths[size_t(dtype)]; }

} // namespace smet::rt
