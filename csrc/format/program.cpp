#include "format/program.h"

#include <string_view>

namespace unspool {

// All that a tokenizer could have as a token of its own, and that a stop string must not cut.
std::vector<std::string_view> CallRegion::texts() const {
  std::vector<std::string_view> all{name.id_open, name.id_close};
  const auto add = [&](const std::vector<std::string>& texts) {
    all.insert(all.end(), texts.begin(), texts.end());
  };
  for (const MarkerTexts* marker : {&open, &close, &next, &name.close}) add(marker->texts);
  if (const auto* literal = body_as<LiteralSlot>()) add(literal->quotes.texts);
  if (const auto* elements = body_as<ElementsSlot>()) add(elements->open.texts);
  if (const auto* slot = body_as<ParametersSlot>()) {
    for (const MarkerTexts* marker :
         {&slot->open, &slot->key_close, &slot->close, &slot->json_open, &slot->json_close}) {
      add(marker->texts);
    }
    add(slot->key_end);
    all.emplace_back(slot->value_open);
  }
  std::erase(all, std::string_view{});
  return all;
}

}  // namespace unspool
