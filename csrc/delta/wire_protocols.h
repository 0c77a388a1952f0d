// The six writers; `make_wire_writer` selects one.
#pragma once

#include <memory>

#include "delta/wire_writer.h"

namespace unspool {

/// OpenAI chat completions: `chat.completion.chunk`.
std::unique_ptr<WireWriter> make_chat_chunks(WireOptions options);

/// OpenAI completions: only content, because the protocol has no reasoning or calls.
std::unique_ptr<WireWriter> make_text_completions(WireOptions options);

/// OpenAI responses: numbered events around items.
std::unique_ptr<WireWriter> make_responses_events(WireOptions options);

/// Anthropic messages: events around content blocks.
std::unique_ptr<WireWriter> make_anthropic_events(WireOptions options);

/// Google's generateContent: candidates with parts.
std::unique_ptr<WireWriter> make_google_chunks(WireOptions options);

/// Open Inference Protocol v2: one InferenceResponse per step.
std::unique_ptr<WireWriter> make_oip_responses(WireOptions options);

}  // namespace unspool
