// The answer as a list of parts of one meaning each, in the order in which the model wrote them:
// what Responses calls items and Anthropic blocks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "delta/delta.h"
#include "delta/logprobs.h"
#include "text/archive.h"

namespace unspool {

enum class PartKind : std::uint8_t { text, reasoning, call };

struct Part {
  PartKind kind = PartKind::text;
  bool is_open = true;
  CallStatus status = CallStatus::incomplete;  // of text too: incomplete where the end was cut off
  std::string id = {};                         // of a call
  std::string name = {};
  std::string text = {};  // or a call's arguments; empty where the texts are not kept
  std::vector<TokenLogprob> logprobs = {};

  void visit(Archive& archive) {
    archive.choice(kind, PartKind::call);
    archive.choice(status, CallStatus::malformed);
    archive(is_open, id, name, text, logprobs);
  }
};

/// One part is open at a time, at the end of the list. Deltas come in an order that `WireWriter`
/// has checked.
class Parts {
 public:
  explicit Parts(bool keeps_text) : keeps_text_(keeps_text) {}

  /// Whether the open part ends before this delta: another begins, or the call or the output ends.
  bool closes(const Delta& delta) const;
  void close(const Delta& delta);

  /// Whether a part begins with this delta; asked after `close`.
  bool opens(const Delta& delta) const;
  Part& open(const Delta& delta);

  /// The text that the delta adds to the open part; empty for those that add none.
  static std::string_view text_of(const Delta& delta);
  void add(std::string_view text);

  /// All of the above.
  void put(const Delta& delta);

  /// Moves the log-probabilities of a text's delta to its part, which is open; drops those before
  /// it, and those of other deltas.
  void take_logprobs(const Delta& delta, LogprobQueue& queue);

  const std::vector<Part>& list() const { return list_; }
  Part& last();
  std::size_t count() const { return list_.size(); }
  bool has_open() const { return !list_.empty() && list_.back().is_open; }

  void visit(Archive& archive) {
    archive.given(keeps_text_);
    archive(list_);
  }

 private:
  std::vector<Part> list_;
  bool keeps_text_;
};

/// Whether the output was cut off, for whatever reason.
bool is_cut(FinishReason reason);

bool has_part(const std::vector<Part>& parts, PartKind kind);

}  // namespace unspool
