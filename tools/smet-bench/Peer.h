//===- Peer.h - other programs that do the same work ------------*- C++ -*-===//
//
// A peer is a child process, so that its threads and libraries are its own. It reads the job (Job::toJson, one line)
// from stdin and answers "ready"; then for every line "LAYER OP" ("3 dx") it does this product once, on data of its
// own, and answers the seconds that it took. A line that begins with "error" ends it, with the reason behind.
// benchmarks/peers has those of other frameworks; dense GEMM libraries are served by smet-bench itself (servePeer).
//
//===----------------------------------------------------------------------===//
#ifndef SMET_TOOLS_BENCH_PEER_H
#define SMET_TOOLS_BENCH_PEER_H

#include "Job.h"

#include "runtime/support/Error.h"

#include <cstdio>
#include <memory>
#include <sys/types.h>

namespace smet::bench {

class Peer {
public:
  /// `what` is "onednn" (the system's), a shared library with dnnl_sgemm or cblas_sgemm, or NAME=COMMAND.
  static rt::Expected<std::unique_ptr<Peer>> start(const std::string &what, const Job &job);
  ~Peer();
  Peer(const Peer &) = delete;

  const std::string &name() const { return theName; }
  /// Seconds of one product; NaN if the peer does not have it.
  rt::Expected<double> run(size_t layer, Op op);

private:
  Peer() = default;
  rt::Expected<std::string> ask(const std::string &line);

  std::string theName;
  pid_t child = 0;
  std::FILE *to = nullptr, *from = nullptr;
};

/// The peer of a dense library: serves stdin until it ends.
rt::Expected<int> servePeer(const std::string &library);

} // namespace smet::bench

#endif // SMET_TOOLS_BENCH_PEER_H
