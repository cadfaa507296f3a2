// Memory that several ranks of a node may see: implemented by comm, used by whoever holds something
// once a node.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace rollcall {

struct SharedMemory {
  std::span<std::byte> bytes{};                 ///< zero at first, on a page boundary
  std::shared_ptr<const void> owner = nullptr;  ///< keeps this rank's view of them

  /// Elements from byte `first` on.
  template <class T>
  std::span<T> view(std::size_t first, std::size_t count) const {
    return {reinterpret_cast<T*>(bytes.data() + first), count};
  }
};

}  // namespace rollcall
