// Numbers names, and refuses unknown filters and tests at once or when they are reached.
#include "text/jinja/syntax/parser_state.hpp"

#include <algorithm>

namespace rollcall::text::jinja {

SymbolTable::SymbolTable() {
  for (const char* name : {"loop", "caller", "varargs", "kwargs"}) number(name);
}

int SymbolTable::number(const std::string& name) {
  return numbers_.try_emplace(name, int(numbers_.size())).first->second;
}

std::vector<std::string> SymbolTable::names() const {
  std::vector<std::string> names(numbers_.size());
  for (const auto& [name, number] : numbers_) names[std::size_t(number)] = name;
  return names;
}

void UnknownRows::soften(std::size_t from) {
  all_.erase(std::remove_if(all_.begin() + std::ptrdiff_t(from), all_.end(),
                            [](const Unknown& unknown) { return !unknown.hard; }),
             all_.end());
}

void UnknownRows::harden(std::size_t from) {
  for (std::size_t i = from; i < all_.size(); ++i) all_[i].hard = true;
}

void UnknownRows::refuse_first() const {
  if (!all_.empty()) throw all_.front().fault;
}

}  // namespace rollcall::text::jinja
