// Whole outputs, many at a time: each is read by a stream of its own, all made of one recipe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "delta/message.h"
#include "stream/stream_recipe.h"

namespace unspool {

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
  std::string extra;                    // a JSON object; empty where there is none
  std::vector<Events::Audited> audit;   // where the recipe asks for it
  std::unique_ptr<TokenLabels> labels;  // likewise
};

/// Throws ArgumentError, which names the output, for an id that the tokenizer would refuse, and for
/// ids without a vocabulary: their message would be empty.
void check_ids(const StreamRecipe& recipe, std::span<const Output> outputs);

/// Reads every output, in `thread_count` threads at most, the caller's among them. The ids have
/// been checked. Throws only std::bad_alloc.
std::vector<ParsedOutput> parse_batch(const StreamRecipe& recipe, std::span<const Output> outputs,
                                      unsigned thread_count);

}  // namespace unspool
