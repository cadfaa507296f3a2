// HDF5 identifiers that close themselves, and a check that throws with HDF5's own message. Private
// to io.
#pragma once

#include <hdf5.h>

#include <mutex>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace rollcall::io {

/// A fault inside one file, without the file's name. The public functions know the name, so they
/// catch it and throw StorageError.
struct FileFault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The file is not damaged, but a newer program wrote it. It becomes an EnvironmentError.
struct NewerSchema : FileFault {
  using FileFault::FileFault;
};

/// The file system refuses to read the file, so nothing is known about it. It becomes an
/// UnreadableError.
struct UnreadableFault : FileFault {
  using FileFault::FileFault;
};

/// A lock that every public function takes before it calls HDF5. The library is not thread-safe,
/// and ranks are threads of one process in some tests.
std::unique_lock<std::mutex> enter_hdf5();

/// Throws FileFault "cannot <action> <subject>: <innermost HDF5 message>"; UnreadableFault with the
/// message of errno if HDF5 names one.
[[noreturn]] void hdf5_failure(const char* action, std::string_view subject);
inline void check(herr_t status, const char* action, std::string_view subject = {}) {
  if (status < 0) hdf5_failure(action, subject);
}

/// Throws FileFault unless the attribute holds one value. Reading more values into one variable
/// would overwrite other memory.
void check_scalar(hid_t attribute, std::string_view name);

/// Owns one identifier of any kind (file, dataset, space, type, property list, attribute).
class Handle {
 public:
  Handle() = default;
  Handle(hid_t id, const char* action, std::string_view subject = {}) : id_(id) {
    if (id < 0) hdf5_failure(action, subject);
  }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~Handle() {
    if (id_ >= 0) H5Idec_ref(id_);
  }
  operator hid_t() const { return id_; }
  /// Closes the identifier, and throws if that fails, so that a failed flush is noticed.
  void close(const char* action) {
    check(H5Idec_ref(std::exchange(id_, H5I_INVALID_HID)) < 0 ? -1 : 0, action);
  }
  /// Returns the identifier and no longer owns it.
  void release() { id_ = H5I_INVALID_HID; }

 private:
  hid_t id_ = H5I_INVALID_HID;
};

}  // namespace rollcall::io
