// Reading, showing and measuring maps.
#include "task/worlds/grid.hpp"

#include "base/text/joined.hpp"

#include <fmt/format.h>

#include <charconv>
#include <deque>

namespace rollcall::task {
namespace {

constexpr std::int64_t kLargest = 64;  // most rows, and most columns

std::size_t index_of(const Grid& grid, Place place) {
  return std::size_t(place.row * grid.width() + place.column);
}

/// A number of at most two digits without anything around it.
std::optional<std::int64_t> read_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size() || text.size() > 2 || value < 0 ||
      fmt::format("{}", value) != text)
    return std::nullopt;
  return value;
}

}  // namespace

Place next_to(Place place, std::size_t direction) {
  constexpr std::array<Place, 4> kSteps{Place{-1, 0}, Place{0, 1}, Place{1, 0}, Place{0, -1}};
  const Place step = kSteps.at(direction);
  return {place.row + step.row, place.column + step.column};
}

bool Grid::has(Place place) const {
  return place.row >= 0 && place.row < height() && place.column >= 0 && place.column < width();
}

std::optional<Place> Grid::find(char cell) const {
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (const std::size_t column = rows[row].find(cell); column != std::string::npos)
      return Place{std::int64_t(row), std::int64_t(column)};
  return std::nullopt;
}

std::string text_of(const Position& position) {
  return fmt::format("{} {} {}", joined(position.grid.rows, "/"), position.place.row,
                     position.place.column);
}

std::optional<Position> read_position(std::string_view text, std::string_view cells) {
  const std::size_t first = text.find(' '), second = text.find(' ', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return std::nullopt;
  Position position;
  for (std::string_view rest = text.substr(0, first);;) {
    const std::size_t slash = rest.find('/');
    position.grid.rows.emplace_back(rest.substr(0, slash));
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
  }
  const Grid& grid = position.grid;
  if (grid.height() > kLargest || grid.width() == 0 || grid.width() > kLargest) return std::nullopt;
  for (const std::string& row : grid.rows)
    if (std::int64_t(row.size()) != grid.width() ||
        row.find_first_not_of(cells) != std::string::npos)
      return std::nullopt;
  const auto row = read_number(text.substr(first + 1, second - first - 1)),
             column = read_number(text.substr(second + 1));
  if (!row || !column) return std::nullopt;
  position.place = {*row, *column};
  if (!grid.has(position.place)) return std::nullopt;
  return position;
}

std::string view_of(const Position& position) {
  Grid seen = position.grid;
  seen.at(position.place) = '@';
  return joined(seen.rows, "/") + ">";
}

std::vector<std::int64_t> steps_to(const Grid& grid, Place goal, std::string_view passable) {
  std::vector<std::int64_t> steps(std::size_t(grid.height() * grid.width()), -1);
  steps[index_of(grid, goal)] = 0;
  for (std::deque<Place> open{goal}; !open.empty(); open.pop_front()) {
    const Place from = open.front();
    for (std::size_t direction = 0; direction < kDirections.size(); ++direction) {
      const Place to = next_to(from, direction);
      if (!grid.has(to) || steps[index_of(grid, to)] >= 0 ||
          passable.find(grid.at(to)) == std::string_view::npos)
        continue;
      steps[index_of(grid, to)] = steps[index_of(grid, from)] + 1;
      open.push_back(to);
    }
  }
  return steps;
}

std::optional<std::size_t> shortest_way(const Grid& grid, Place place,
                                        const std::vector<std::int64_t>& steps) {
  const std::int64_t here = steps[index_of(grid, place)];
  for (std::size_t direction = 0; here > 0 && direction < kDirections.size(); ++direction) {
    const Place to = next_to(place, direction);
    if (grid.has(to) && steps[index_of(grid, to)] == here - 1) return direction;
  }
  return std::nullopt;
}

}  // namespace rollcall::task
