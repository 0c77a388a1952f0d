// Holds log-probabilities until the chunk with their tokens is written.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "text/archive.h"
#include "text/cloned_ptr.h"

namespace unspool {

/// A token and its log-probability; `token` holds its bytes, possibly incomplete characters.
struct Logprob {
  std::string token;
  double logprob = 0;

  void visit(Archive& archive) { archive(token, logprob); }
};

struct TokenLogprob : Logprob {
  std::vector<Logprob> top = {};  // the most likely tokens at this position

  void visit(Archive& archive) {
    Logprob::visit(archive);
    archive(top);
  }
};

/// The log-probabilities of one answer, by position. Entries are removed when they are taken.
class LogprobQueue {
 public:
  /// Adds the entry of the next position.
  void add(TokenLogprob entry);

  /// Moves the available entries of positions before `end` to `taken`.
  void take(std::uint64_t end, std::vector<TokenLogprob>& taken);

  /// Drops the entries of positions before `end`.
  void drop(std::uint64_t end);

  /// Whether any entry was ever added.
  bool is_used() const { return entries_ != nullptr; }

  void visit(Archive& archive) { archive(entries_, next_); }

 private:
  ClonedPtr<std::deque<TokenLogprob>> entries_;  // null: none was ever added
  std::uint64_t next_ = 0;                       // position of the first entry
};

/// The offset of a text in a completion.
struct TextOffset {
  std::uint64_t characters = 0;

  void visit(Archive& archive) { archive(characters); }
};

/// `{"content":[{"token","logprob","bytes","top_logprobs"},…],"refusal":null}` of a chat chunk.
void append_chat_logprobs(const std::vector<TokenLogprob>& entries, std::string& out);

/// `[{"token","bytes","logprob","top_logprobs"},…]`, as in chat and responses.
void append_logprob_list(const std::vector<TokenLogprob>& entries, std::string& out);

/// `{"chosenCandidates":[{"token","logProbability"},…],"topCandidates":[{"candidates"},…]}` of
/// Google's candidates.
void append_google_logprobs(const std::vector<TokenLogprob>& entries, std::string& out);

/// `{"tokens","token_logprobs","top_logprobs","text_offset"}` of a completion; `offset` is the
/// position of the first token in characters, and is advanced.
void append_completion_logprobs(const std::vector<TokenLogprob>& entries, TextOffset& offset,
                                std::string& out);

}  // namespace unspool
