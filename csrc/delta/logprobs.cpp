#include "delta/logprobs.h"

#include <algorithm>
#include <utility>

#include "delta/wire_json.h"
#include "text/json_escape.h"
#include "text/utf8.h"

namespace unspool {

namespace {

// A token's bytes as text; incomplete characters become U+FFFD.
std::string text_of(std::string_view token) {
  if (is_valid_utf8(token)) return std::string(token);
  std::string text;
  Utf8Stream stream;
  stream.put(token, text);
  stream.end(text);
  return text;
}

// A list; `append` writes each item.
template <typename Items, typename Append>
void append_list(const Items& items, std::string& out, Append append) {
  out += '[';
  bool is_first = true;
  for (const auto& item : items) {
    if (!is_first) out += ',';
    is_first = false;
    append(item);
  }
  out += ']';
}

// The members that a token and its alternatives share.
void append_members(const Logprob& entry, std::string& out) {
  out += "\"token\":";
  append_json_line_string(text_of(entry.token), out);
  out += ",\"bytes\":";
  // `bytes` lets a client join characters that are split over tokens, which `token` cannot show.
  append_list(entry.token, out, [&](char byte) {
    append_number(std::int64_t{static_cast<unsigned char>(byte)}, out);
  });
  out += ",\"logprob\":";
  append_number(entry.logprob, out);
}

std::uint64_t count_characters(std::string_view text) {
  return static_cast<std::uint64_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    // Bytes that continue a character do not count.
    return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
  }));
}

}  // namespace

void LogprobQueue::add(TokenLogprob entry) {
  if (!entries_) entries_ = std::make_unique<std::deque<TokenLogprob>>();
  entries_->push_back(std::move(entry));
}

void LogprobQueue::take(std::uint64_t end, std::vector<TokenLogprob>& taken) {
  // Entries may be fewer than tokens: a host may add them late, or only for some positions.
  for (; next_ < end && entries_ && !entries_->empty(); ++next_) {
    taken.push_back(std::move(entries_->front()));
    entries_->pop_front();
  }
}

void LogprobQueue::drop(std::uint64_t end) {
  for (; next_ < end && entries_ && !entries_->empty(); ++next_) entries_->pop_front();
}

void append_logprob_list(const std::vector<TokenLogprob>& entries, std::string& out) {
  append_list(entries, out, [&](const TokenLogprob& entry) {
    out += '{';
    append_members(entry, out);
    out += ",\"top_logprobs\":";
    append_list(entry.top, out, [&](const Logprob& rival) {
      out += '{';
      append_members(rival, out);
      out += '}';
    });
    out += '}';
  });
}

void append_chat_logprobs(const std::vector<TokenLogprob>& entries, std::string& out) {
  out += "{\"content\":";
  append_logprob_list(entries, out);
  out += ",\"refusal\":null}";
}

void append_google_logprobs(const std::vector<TokenLogprob>& entries, std::string& out) {
  const auto append_one = [&](const Logprob& entry) {
    out += "{\"token\":";
    append_json_line_string(text_of(entry.token), out);
    out += ",\"logProbability\":";
    append_number(entry.logprob, out);
    out += '}';
  };
  out += "{\"chosenCandidates\":";
  append_list(entries, out, append_one);
  out += ",\"topCandidates\":";
  append_list(entries, out, [&](const TokenLogprob& entry) {
    out += "{\"candidates\":";
    append_list(entry.top, out, append_one);
    out += '}';
  });
  out += '}';
}

void append_completion_logprobs(const std::vector<TokenLogprob>& entries, TextOffset& offset,
                                std::string& out) {
  out += "{\"tokens\":";
  append_list(entries, out, [&](const TokenLogprob& entry) {
    append_json_line_string(text_of(entry.token), out);
  });
  out += ",\"token_logprobs\":";
  append_list(entries, out, [&](const TokenLogprob& entry) { append_number(entry.logprob, out); });
  out += ",\"top_logprobs\":";
  append_list(entries, out, [&](const TokenLogprob& entry) {
    // One key per text: of tokens with the same text, the most likely one comes first and counts.
    // The sampled token is always included.
    std::vector<std::string> texts;
    const auto append_entry = [&](const Logprob& rival) {
      std::string text = text_of(rival.token);
      if (std::find(texts.begin(), texts.end(), text) != texts.end()) return;
      if (!texts.empty()) out += ',';
      append_json_line_string(text, out);
      out += ':';
      append_number(rival.logprob, out);
      texts.push_back(std::move(text));
    };
    out += '{';
    for (const Logprob& rival : entry.top) append_entry(rival);
    // OpenAI's k most likely tokens may lack the sampled one, but this older list always has it.
    append_entry(entry);
    out += '}';
  });
  out += ",\"text_offset\":";
  append_list(entries, out, [&](const TokenLogprob& entry) {
    append_number(static_cast<std::int64_t>(offset.characters), out);
    offset.characters += count_characters(text_of(entry.token));
  });
  out += '}';
}

}  // namespace unspool
