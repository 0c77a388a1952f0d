// JSON helpers of the wire protocols: numbers, fields, usage.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace unspool {

/// Token counts of a request. Missing counts are derived from the deltas' spans (completion) or the
/// options (prompt).
struct Usage {
  std::optional<std::uint64_t> prompt_tokens = {};
  std::optional<std::uint64_t> completion_tokens = {};
  std::optional<std::uint64_t> cached_tokens = {};     // of the prompt
  std::optional<std::uint64_t> reasoning_tokens = {};  // of the completion
  std::string extra = {};  // more members as JSON, each with a comma before it

  std::uint64_t prompt() const { return prompt_tokens.value_or(0); }
  std::uint64_t completion() const { return completion_tokens.value_or(0); }
};

void append_number(std::int64_t number, std::string& out);

/// A finite number, as the shortest text that reads back the same; other numbers become -9999.0, as
/// OpenAI writes the log of 0.
void append_number(double number, std::string& out);

/// `,"name":` and the text as a string.
void append_field(std::string_view name, std::string_view text, std::string& out);
void append_field(std::string_view name, std::int64_t number, std::string& out);

/// The usage object of OpenAI's chat completions and completions.
void append_openai_usage(const Usage& usage, std::string& out);

/// The usage object of OpenAI's responses.
void append_responses_usage(const Usage& usage, std::string& out);

/// The usage object of Anthropic messages, whose input tokens exclude those read from a cache.
void append_anthropic_usage(const Usage& usage, std::string& out);

/// The usage object of Google's generateContent, whose candidates' tokens exclude thoughts.
void append_google_usage(const Usage& usage, std::string& out);

/// Appends `json` as an object on one line. False if it is none; nothing is appended then.
bool append_json_object(std::string_view json, std::string& out);

/// `{"message":…,"type":…,"param":null,"code":…}`, OpenAI's error; an empty code is null.
void append_openai_error(std::string_view message, std::string_view type, std::string_view code,
                         std::string& out);

}  // namespace unspool
