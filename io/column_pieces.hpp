// A column as a list of pieces in memory or in mapped files, so that joining shards does not copy
// values before they are written. Private to io.
#pragma once

#include "io/table_file.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace rollcall::io {

struct ColumnPieces {
  Column column;
  ElementType type;
  std::size_t width = 1;  ///< bytes per element
  std::vector<std::span<const std::byte>> pieces{};
  std::size_t bytes = 0;  ///< sum of the sizes of all pieces

  void add(std::span<const std::byte> piece) {
    bytes += piece.size();
    if (!pieces.empty() && pieces.back().data() + pieces.back().size() == piece.data())
      pieces.back() = {pieces.back().data(), pieces.back().size() + piece.size()};
    else if (!piece.empty()) pieces.push_back(piece);
  }
  /// The column's name, type and length, without values.
  ColumnView outline() const { return {column, type, {}, bytes / width}; }
};

/// Returns the bytes of a column in order, from its beginning.
class PiecesReader {
 public:
  explicit PiecesReader(const ColumnPieces& column) : pieces_(column.pieces) {}
  void take(std::span<std::byte> out) {
    while (!out.empty()) {
      const auto rest = pieces_[piece_].subspan(at_);
      const std::size_t n = std::min(rest.size(), out.size());
      std::memcpy(out.data(), rest.data(), n);
      out = out.subspan(n);
      at_ += n;
      if (at_ == pieces_[piece_].size()) ++piece_, at_ = 0;
    }
  }

 private:
  std::span<const std::span<const std::byte>> pieces_;
  std::size_t piece_ = 0, at_ = 0;
};

}  // namespace rollcall::io
