// What a parser says, in the order in which the model wrote it.
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
  dropped,  // a call that was read and, as the request wants it, is not sent
  finish,
  call_text,  // a call as the model wrote it, markers included: only a CallFilter sees it
};

/// How a call ended.
enum class CallStatus : std::uint8_t { complete, incomplete, malformed };

/// Why generation ended, as the API says it.
enum class FinishReason : std::uint8_t { stop, length, tool_calls, error, cancelled };

/// Whether the model ended its output, and nothing cut it off.
constexpr bool ended_itself(FinishReason reason) {
  return reason == FinishReason::stop || reason == FinishReason::tool_calls;
}

std::string_view to_string(EventKind kind);
std::string_view to_string(CallStatus status);
std::string_view to_string(FinishReason reason);

}  // namespace unspool
