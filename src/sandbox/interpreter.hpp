// The warm Python interpreter of a worker, which forks for every test (fork_server.py).
#pragma once

#include "sandbox/wire.hpp"
#include "sandbox/worker.hpp"

#include <optional>

namespace rollcall::sandbox {

class Interpreter {
 public:
  Interpreter(const WorkerSetup& setup, int owner) : setup_(&setup), owner_(owner) {}
  ~Interpreter() { stop(); }
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  /// Starts the interpreter on its first use, and again after it failed.
  Outcome run(const Request& request);

 private:
  std::optional<std::string> start();  ///< returns the reason if it could not start
  void stop();

  const WorkerSetup* setup_;
  int owner_;
  int socket_ = -1;
  pid_t pid_ = -1;
};

}  // namespace rollcall::sandbox
