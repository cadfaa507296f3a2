// HDF5 identifiers that close themselves and calls that throw with HDF5's own words. Private to io.
#pragma once

#include <hdf5.h>

#include <mutex>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace rollcall::io {

/// A fault inside one file, without its name: the public functions catch it where the name is known
/// and throw StorageError.
struct FileFault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Not damaged: a newer program wrote the file. Becomes an EnvironmentError.
struct NewerSchema : FileFault {
  using FileFault::FileFault;
};

/// The file system refuses to read: nothing is known of the file. Becomes an UnreadableError.
struct UnreadableFault : FileFault {
  using FileFault::FileFault;
};

/// Entered by every public function that calls HDF5: the library is not thread-safe, and ranks may
/// be threads of one process in tests.
std::unique_lock<std::mutex> enter_hdf5();

/// Throws FileFault "cannot <action> <subject>: <innermost HDF5 message>"; UnreadableFault with the
/// words of errno where HDF5 names one.
[[noreturn]] void hdf5_failure(const char* action, std::string_view subject);
inline void check(herr_t status, const char* action, std::string_view subject = {}) {
  if (status < 0) hdf5_failure(action, subject);
}

/// Throws FileFault unless the attribute holds one value: a read into one would write over what
/// lies behind it.
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
  /// Closes now, so that a failed flush is seen.
  void close(const char* action) {
    check(H5Idec_ref(std::exchange(id_, H5I_INVALID_HID)) < 0 ? -1 : 0, action);
  }
  /// Gives the identifier up without closing it.
  void release() { id_ = H5I_INVALID_HID; }

 private:
  hid_t id_ = H5I_INVALID_HID;
};

}  // namespace rollcall::io
