// The shared settings of streams: a format, options and a prompt.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stream/token_streamer.h"

namespace unspool {

/// The settings from which any number of streams can be created.
struct StreamRecipe {
  std::shared_ptr<const Format> format;
  TokenStreamerOptions options;       // its channel null
  std::optional<std::string> prompt;  // as text, or
  std::optional<std::vector<TokenId>> prompt_ids;
};

/// Gives a new ChunkParser or TokenStreamer the recipe's prompt. Throws ArgumentError for ids
/// without a vocabulary.
template <typename Stream>
void put_prompt(const StreamRecipe& recipe, Stream& stream) {
  if (recipe.prompt) stream.put_prompt(std::string_view(*recipe.prompt));
  if (recipe.prompt_ids) stream.put_prompt(std::span<const TokenId>(*recipe.prompt_ids));
}

}  // namespace unspool
