// Log-probabilities on their way from the sampler to the chunk that shows their tokens.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "text/archive.h"
#include "text/cloned_ptr.h"

namespace unspool {

/// One token and how likely it was; `token` are its bytes, which need not be whole characters.
struct Logprob {
  std::string token;
  double logprob = 0;

  void visit(Archive& archive) { archive(token, logprob); }
};

struct TokenLogprob : Logprob {
  std::vector<Logprob> top = {};  // the likeliest tokens of this place

  void visit(Archive& archive) {
    Logprob::visit(archive);
    archive(top);
  }
};

/// One answer's, by position, in order. What was taken is forgotten.
class LogprobQueue {
 public:
  /// That of the next position.
  void add(TokenLogprob entry);

  /// Moves to `taken` those of the positions before `end` that have come and were not taken.
  void take(std::uint64_t end, std::vector<TokenLogprob>& taken);

  /// Forgets those of the positions before `end`.
  void drop(std::uint64_t end);

  /// Whether there ever was one.
  bool is_used() const { return entries_ != nullptr; }

  void visit(Archive& archive) { archive(entries_, next_); }

 private:
  ClonedPtr<std::deque<TokenLogprob>> entries_;  // null: there never was one
  std::uint64_t next_ = 0;                       // position of the first entry
};

/// What a chunk of completions says of the text before it.
struct TextOffset {
  std::uint64_t characters = 0;

  void visit(Archive& archive) { archive(characters); }
};

/// `{"content":[{"token","logprob","bytes","top_logprobs"},…],"refusal":null}` of a chat chunk.
void append_chat_logprobs(const std::vector<TokenLogprob>& entries, std::string& out);

/// `[{"token","bytes","logprob","top_logprobs"},…]`, as chat and responses have it.
void append_logprob_list(const std::vector<TokenLogprob>& entries, std::string& out);

/// `{"tokens","token_logprobs","top_logprobs","text_offset"}` of a completion; `offset` is where
/// the first token stands, in characters, and is moved on.
void append_completion_logprobs(const std::vector<TokenLogprob>& entries, TextOffset& offset,
                                std::string& out);

}  // namespace unspool
