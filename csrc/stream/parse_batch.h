// Parses many whole outputs; each has its own stream, all from one recipe.
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

/// The result of parsing an output.
struct ParsedOutput {
  Message message;
  TokenCounts token_counts;
  std::string extra;                    // a JSON object; may be empty
  std::vector<Events::Audited> audit;   // if the recipe requests it
  std::unique_ptr<TokenLabels> labels;  // if the recipe requests them
};

/// Throws ArgumentError, with the index of the output, for an id that the tokenizer rejects, and
/// for ids without a vocabulary, whose message would be empty.
void check_ids(const StreamRecipe& recipe, std::span<const Output> outputs);

/// Parses every output with at most `thread_count` threads, including the caller's. The ids must
/// have been checked. Throws only std::bad_alloc.
std::vector<ParsedOutput> parse_batch(const StreamRecipe& recipe, std::span<const Output> outputs,
                                      unsigned thread_count);

}  // namespace unspool
