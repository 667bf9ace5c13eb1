//===- Peer.h - other programs that do the same work ------------*- C++ -*-===//
//
// A peer is a child process, so that its threads and libraries are its own. It reads the job (one line of JSON) from
// stdin and answers "ready"; then for every line "LAYER OP" ("3 dx") it does this work once, on data of its own, and
// answers the seconds that it took, or "none" if it does not have it. A line that begins with "error" ends it, with the
// reason behind. Jobs and ops:
//
//   linear, layer   Job::toJson                                              fwd, dx, dw of every layer
//   step            {"model": a Hugging Face config, "batch", "seq_len",     of layer 0: step; memory, whose answer is
//                    "threads"}                                              the bytes of memory that were resident at
//                    most
//
// benchmarks/peers has those of other frameworks; dense GEMM libraries are served by smet-bench itself (servePeer).
//
//===----------------------------------------------------------------------===//
#ifndef SMET_TOOLS_BENCH_PEER_H
#define SMET_TOOLS_BENCH_PEER_H

#include "runtime/support/Error.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace smet::bench {

class Peer {
public:
  /// `what` is "onednn" (the system's), a shared library with dnnl_sgemm or cblas_sgemm, or NAME=COMMAND. A signal
  /// (rt::Interrupt) ends this and every other wait.
  static rt::Expected<std::unique_ptr<Peer>> start(const std::string &what, const nlohmann::json &job);
  /// Whether `what` is one of these, before time is spent on measuring.
  static rt::Status check(const std::string &what);
  /// Refuses two of one name, whose results could not be told apart.
  static rt::Status checkNames(const std::vector<std::string> &baselines);
  /// Ends it and what it has started, by force if it does not end in a second.
  ~Peer();
  Peer(const Peer &) = delete;

  const std::string &name() const { return theName; }
  /// The answer for one op, seconds mostly; NaN if the peer does not have it.
  rt::Expected<double> run(size_t layer, std::string_view op);

private:
  Peer() = default;
  /// Waits as long as it works, but not in the middle of a line.
  rt::Expected<std::string> readLine() const;
  rt::Expected<std::string> ask(const std::string &line);

  std::string theName;
  pid_t child = 0;
  std::FILE *to = nullptr;
  int from = -1;
};

/// The peer of a dense library: serves stdin until it ends.
rt::Expected<int> servePeer(const std::string &library);

} // namespace smet::bench

#endif // SMET_TOOLS_BENCH_PEER_H
