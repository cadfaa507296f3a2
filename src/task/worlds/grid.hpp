// Maps made of letters with a marked place: the data of grid worlds, and the policy's view of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::task {

/// The words for the four directions, clockwise.
inline constexpr std::array<std::string_view, 4> kDirections{"up", "right", "down", "left"};

struct Place {
  std::int64_t row = 0, column = 0;
  bool operator==(const Place&) const = default;
};
Place next_to(Place place, std::size_t direction);

/// A rectangle of cells, each a letter.
struct Grid {
  std::vector<std::string> rows;
  std::int64_t height() const { return std::int64_t(rows.size()); }
  std::int64_t width() const { return rows.empty() ? 0 : std::int64_t(rows.front().size()); }
  bool has(Place place) const;
  char& at(Place place) { return rows[std::size_t(place.row)][std::size_t(place.column)]; }
  char at(Place place) const { return rows[std::size_t(place.row)][std::size_t(place.column)]; }
  std::optional<Place> find(char cell) const;  ///< the first one, row by row
  bool operator==(const Grid&) const = default;
};

/// A place on a map. As a string: the rows separated by slashes, then the place's row and column,
/// "..G/#.. 0 1".
struct Position {
  Grid grid;
  Place place;
  bool operator==(const Position&) const = default;
};
std::string text_of(const Position& position);
/// Nothing if the text is not a position on a map of at most 64 by 64 of these cells.
std::optional<Position> read_position(std::string_view text, std::string_view cells);
/// The policy's view: the map with @ at the place, and > after it.
std::string view_of(const Position& position);

/// Steps from each place to `goal` over cells in `passable`, row by row; -1 if there is no way. The
/// goal itself may be any cell.
std::vector<std::int64_t> steps_to(const Grid& grid, Place goal, std::string_view passable);
/// The first direction, in the order of kDirections, that shortens the way from `place`; nothing if
/// none does.
std::optional<std::size_t> shortest_way(const Grid& grid, Place place,
                                        const std::vector<std::int64_t>& steps);

}  // namespace rollcall::task
