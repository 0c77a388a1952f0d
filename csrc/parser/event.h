// The parser's events, in the order of the output.
#pragma once

#include <cstdint>
#include <string_view>

namespace unspool {

enum class EventKind : std::uint8_t {
  content,
  reasoning,
  tool_call_begin,
  tool_call_arguments,
  tool_call_end,
  malformed,
  dropped,  // a call that is not emitted because of the request's options
  finish,
  call_text,  // a call's source text, with its markers; only for a CallFilter
};

/// How a call ended.
enum class CallStatus : std::uint8_t { complete, incomplete, malformed };

/// Why generation ended, in the API's words.
enum class FinishReason : std::uint8_t { stop, length, tool_calls, error, cancelled };

/// Whether the model ended its output itself.
constexpr bool ended_itself(FinishReason reason) {
  return reason == FinishReason::stop || reason == FinishReason::tool_calls;
}

std::string_view to_string(EventKind kind);
std::string_view to_string(CallStatus status);
std::string_view to_string(FinishReason reason);

}  // namespace unspool
