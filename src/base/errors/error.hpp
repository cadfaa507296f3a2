// Typed errors and the always-on check `require`. Every message reads "problem (why it matters);
// what to do".
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace rollcall {

/// The kind of failure that ended the job. The value is the exit code of the whole job
/// (jobs/README.md lists them).
enum class ExitCode : int {
  done = 0,           ///< the run file is fulfilled
  misconfigured = 2,  ///< flags, run file, input files or environment: a requeue would fail again
  failed = 3,         ///< the run itself failed: non-finite loss, broken protocol, I/O failure
  requeue = 75,  ///< stopped on request with a checkpoint; start again with --resume (EX_TEMPFAIL
                 ///< of sysexits.h)
};

/// Base of all errors thrown by Rollcall. `what()` is one complete message.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

struct ConfigError : Error {  ///< flags or run file
  explicit ConfigError(const std::string& m) : Error(ExitCode::misconfigured, m) {}
};
struct InputError : Error {  ///< a file of the user is missing, unreadable or malformed
  explicit InputError(const std::string& m) : Error(ExitCode::misconfigured, m) {}
};
struct EnvironmentError : Error {  ///< rank count, folder lock, device, launcher
  explicit EnvironmentError(const std::string& m) : Error(ExitCode::misconfigured, m) {}
};
struct StorageError : Error {  ///< a write or a durable read failed: full disk, corrupt file
  explicit StorageError(const std::string& m) : Error(ExitCode::failed, m) {}
};
struct ProtocolError : Error {  ///< an unexpected message, or one that never arrived
  explicit ProtocolError(const std::string& m) : Error(ExitCode::failed, m) {}
};
struct NumericsError : Error {  ///< non-finite loss or gradient beyond what the run file tolerates
  explicit NumericsError(const std::string& m) : Error(ExitCode::failed, m) {}
};

/// Assembles the house message: problem (why); suggestion.
std::string error_message(std::string_view problem, std::string_view why,
                          std::string_view suggestion);

/// Throws `E` with the house message unless `ok`. For input, files and return codes; always on.
template <class E = InputError>
void require(bool ok, std::string_view problem, std::string_view why, std::string_view suggestion) {
  if (!ok) throw E(error_message(problem, why, suggestion));
}

/// Checks a contract between functions of Rollcall, which only a bug can break. Throws a
/// std::logic_error that names the place.
void expect(bool ok, const char* condition);

}  // namespace rollcall
