// Memory that several ranks of a node may share. comm implements it; it is used when a node needs
// only one copy of something.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace rollcall {

struct SharedMemory {
  std::span<std::byte> bytes{};                 ///< zero at first; begins on a page boundary
  std::shared_ptr<const void> owner = nullptr;  ///< keeps this rank's view of the memory

  /// A view of `count` elements of type T from byte `first` on.
  template <class T>
  std::span<T> view(std::size_t first, std::size_t count) const {
    return {reinterpret_cast<T*>(bytes.data() + first), count};
  }
};

}  // namespace rollcall
