// A shop with things of which only the kind is seen before they are opened: what a policy sees.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::task {

/// A thing that is sold, or that is wished for.
struct Ware {
  std::string colour, size, kind;
  bool operator==(const Ware&) const = default;
};

struct Shop {
  Ware wish{};
  std::vector<Ware> wares{};  ///< on sale; of the reference only the kinds are set
  std::int64_t open = 0;      ///< number of the ware that is looked at, from 1; 0: the list
  bool operator==(const Shop&) const = default;
};

inline constexpr std::int64_t kDemands = 3;  ///< of a wish: colour, size and kind
/// How many of the demands of a wish a ware meets.
std::int64_t demands_met(const Ware& wish, const Ware& ware);

/// JSON: the state with all members, the reference with `wish` and `kinds`.
std::string text_of(const Shop& shop);
std::string reference_of(const Shop& shop);
/// Nothing for a text that is no state of 1 to 64 wares.
std::optional<Shop> read_shop(std::string_view state);
std::optional<Shop> read_shop_reference(std::string_view reference);
/// Draws colours and sizes: those of the wish for one ware of its kind, and others for all other
/// wares. `shop` is a reference with a ware of that kind.
void stock(Shop& shop, std::uint64_t seed);
/// What a policy sees: the wish, and the list or the open ware, "red huge mug: 1 pot 2 mug>", "red
/// huge mug: 2 mug red tiny>".
std::string view_of(const Shop& shop);

}  // namespace rollcall::task
