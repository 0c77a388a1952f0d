#include "delta/wire_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "text/json_escape.h"
#include "text/json_value.h"

namespace unspool {

void append_number(std::int64_t number, std::string& out) {
  std::array<char, 24> text;
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc()) out.append(text.data(), end);
}

void append_number(double number, std::string& out) {
  std::array<char, 32> text;
  // JSON has no infinity, and a probability of 0 has one as its logarithm.
  if (!std::isfinite(number)) number = -9999.0;
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc()) out.append(text.data(), end);
}

void append_field(std::string_view name, std::string_view text, std::string& out) {
  out.append(",\"").append(name).append("\":");
  append_json_line_string(text, out);
}

void append_field(std::string_view name, std::int64_t number, std::string& out) {
  out.append(",\"").append(name).append("\":");
  append_number(number, out);
}

namespace {

void append_count(std::string_view name, std::uint64_t count, std::string& out) {
  append_field(name, static_cast<std::int64_t>(count), out);
}

}  // namespace

void append_openai_usage(const Usage& usage, std::string& out) {
  out += "{\"prompt_tokens\":";
  append_number(static_cast<std::int64_t>(usage.prompt()), out);
  append_count("completion_tokens", usage.completion(), out);
  append_count("total_tokens", usage.prompt() + usage.completion(), out);
  if (usage.cached_tokens) {
    out += ",\"prompt_tokens_details\":{\"cached_tokens\":";
    append_number(static_cast<std::int64_t>(*usage.cached_tokens), out);
    out += '}';
  }
  if (usage.reasoning_tokens) {
    out += ",\"completion_tokens_details\":{\"reasoning_tokens\":";
    append_number(static_cast<std::int64_t>(*usage.reasoning_tokens), out);
    out += '}';
  }
  out.append(usage.extra).append("}");
}

void append_responses_usage(const Usage& usage, std::string& out) {
  out += "{\"input_tokens\":";
  append_number(static_cast<std::int64_t>(usage.prompt()), out);
  // The SDK's type requires the details, also if nothing is known of them.
  out += ",\"input_tokens_details\":{\"cache_write_tokens\":0";
  append_count("cached_tokens", usage.cached_tokens.value_or(0), out);
  out += '}';
  append_count("output_tokens", usage.completion(), out);
  out += ",\"output_tokens_details\":{\"reasoning_tokens\":";
  append_number(static_cast<std::int64_t>(usage.reasoning_tokens.value_or(0)), out);
  out += '}';
  append_count("total_tokens", usage.prompt() + usage.completion(), out);
  out.append(usage.extra).append("}");
}

void append_anthropic_usage(const Usage& usage, std::string& out) {
  const std::uint64_t cached = usage.cached_tokens.value_or(0);
  out += "{\"input_tokens\":";
  append_number(static_cast<std::int64_t>(usage.prompt() - std::min(cached, usage.prompt())), out);
  // Here cached tokens are counted beside the input tokens, and not among them.
  if (usage.cached_tokens) append_count("cache_read_input_tokens", cached, out);
  append_count("output_tokens", usage.completion(), out);
  out.append(usage.extra).append("}");
}

void append_google_usage(const Usage& usage, std::string& out) {
  const std::uint64_t thoughts = std::min(usage.reasoning_tokens.value_or(0), usage.completion());
  out += "{\"promptTokenCount\":";
  append_number(static_cast<std::int64_t>(usage.prompt()), out);
  if (usage.cached_tokens) append_count("cachedContentTokenCount", *usage.cached_tokens, out);
  append_count("candidatesTokenCount", usage.completion() - thoughts, out);
  if (usage.reasoning_tokens) append_count("thoughtsTokenCount", thoughts, out);
  append_count("totalTokenCount", usage.prompt() + usage.completion(), out);
  out.append(usage.extra).append("}");
}

bool append_json_object(std::string_view json, std::string& out) {
  const auto value = parse_json(json);
  if (!value || !value->is(JsonValue::Kind::object)) return false;
  std::string written;
  append_json(*value, written);
  append_json_as_line(written, out);
  return true;
}

void append_openai_error(std::string_view message, std::string_view type, std::string_view code,
                         std::string& out) {
  out += "{\"message\":";
  append_json_line_string(message, out);
  append_field("type", type, out);
  out += ",\"param\":null,\"code\":";
  if (code.empty()) {
    out += "null}";
    return;
  }
  append_json_line_string(code, out);
  out += '}';
}

}  // namespace unspool
