// Whole outputs, many at a time: each is read by a stream of its own, all made of one recipe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "delta/message.h"
#include "stream/token_streamer.h"

namespace unspool {

/// What a stream is made of: it makes any number of them.
struct StreamRecipe {
  std::shared_ptr<const Format> format;
  ChunkParserOptions options;
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

/// One whole output: text, or token ids.
struct Output {
  std::string_view text;
  std::span<const TokenId> ids;
  bool has_ids = false;
  FinishReason finish_reason = FinishReason::stop;
};

/// What an output was read as.
struct ParsedOutput {
  Message message;
  TokenCounts token_counts;
  std::string extra;                   // a JSON object; empty where there is none
  std::vector<Events::Audited> audit;  // where the recipe asks for it
};

/// Throws ArgumentError, which names the output, for an id that the tokenizer would refuse, and for
/// ids without a vocabulary: their message would be empty.
void check_ids(const StreamRecipe& recipe, std::span<const Output> outputs);

/// Reads every output, in `thread_count` threads at most, the caller's among them. The ids have
/// been checked. Throws only std::bad_alloc.
std::vector<ParsedOutput> parse_batch(const StreamRecipe& recipe, std::span<const Output> outputs,
                                      unsigned thread_count);

}  // namespace unspool
