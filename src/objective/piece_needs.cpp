// Needs are kept as functions of the settings and evaluated when they are asked for.
#include "objective/piece_needs.hpp"

#include <algorithm>
#include <utility>

namespace rollcall::objective {

void PieceNeeds::enter(std::string_view family, std::string_view piece) {
  family_ = family;
  piece_ = piece;
}

void PieceNeeds::column(std::string name) {
  column([] { return true; }, std::move(name));
}
void PieceNeeds::column(std::function<bool()> needed, std::string name) {
  columns([needed = std::move(needed), name = std::move(name)] {
    return std::vector<std::string>(needed() ? 1 : 0, name);
  });
}
void PieceNeeds::column(std::function<std::string()> name) {
  columns([name = std::move(name)] { return std::vector<std::string>{name()}; });
}
void PieceNeeds::columns(std::function<std::vector<std::string>()> names) {
  columns_.push_back({family_, piece_, std::move(names)});
}

std::vector<std::string> PieceNeeds::column_names() const {
  std::vector<std::string> names;
  for (const auto& need : columns_) {
    for (auto& name : need.names()) {
      if (std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(std::move(name));
    }
  }
  return names;
}

bool PieceNeeds::names(const std::string& column, const OfPiece& left_out) const {
  return std::any_of(columns_.begin(), columns_.end(), [&](const Columns& need) {
    const auto own = need.names();
    return std::find(own.begin(), own.end(), column) != own.end() &&
           !left_out(need.family, need.piece);
  });
}

std::vector<std::string> PieceNeeds::column_names(std::string_view family,
                                                  std::string_view piece) const {
  std::vector<std::string> names;
  for (const auto& need : columns_) {
    if (need.family != family || need.piece != piece) continue;
    for (auto& name : need.names()) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace rollcall::objective
