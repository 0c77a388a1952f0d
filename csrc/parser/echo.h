// Detects a call that the model repeats directly after the first. The text is compared as it
// arrives and held only as long as it is equal.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "text/archive.h"
#include "text/cloned_ptr.h"
#include "text/letters.h"
#include "text/white_space.h"

namespace unspool {

// Two examples: in `{"name": "f"}</tool_call>{"name": "f"}</tool_call>` the second body has no
// opener, so it would be content, with a stray closer. In
// `<tool_call>{"name": "f"}<tool_call>{"name": "f"}</tool_call>` the model has restarted the call,
// which would run twice. Only an exact repetition counts: anything else may be text that the model
// means, or another call.
class Echo {
 public:
  /// A call's body begins.
  void begin(std::string_view opener) {
    kept_ = std::make_unique<Kept>();
    // White space before an echo is read as usual.
    kept_->before = opener.substr(std::min(opener.find_first_not_of(kSpace), opener.size()));
    state_ = State::records;
  }
  /// What follows is the arguments, one object, which may be repeated on its own.
  void begin_arguments() { kept_->arguments = kept_->text.size(); }
  bool records() const { return state_ == State::records; }
  /// The call is over, and other text has been emitted: what follows is no repetition.
  void on_other_text() {
    if (state_ == State::records) [[unlikely]]
      stop();
  }
  void add(std::string_view text) {
    std::string& whole = kept_->text;
    // White space before the body is compared only in a restarted call.
    if (whole.empty()) {
      const std::size_t space = std::min(text.find_first_not_of(kSpace), text.size());
      kept_->before += text.substr(0, space);
      text.remove_prefix(space);
    }
    if (kept_->before.size() + whole.size() + text.size() > kMaxBytes) {
      stop();
    } else {
      whole += text;
    }
  }
  /// The call's closer has been read, as a token or as text.
  void wait(bool is_token) {
    if (state_ != State::records || kept_->text.empty()) return;
    ends_with_token_ = is_token;
    state_ = State::waits;
  }
  /// The body has ended before the call's closer: the call may be restarted.
  void wait_for_restart() {
    if (state_ != State::records || kept_->text.empty()) return;
    kept_->text.resize(kept_->text.find_last_not_of(kSpace) + 1);
    if (kept_->arguments > 0) {
      const std::size_t begin = kept_->text.find_first_not_of(kSpace, kept_->arguments);
      kept_->arguments = begin == std::string::npos ? 0 : begin + kept_->before.size();
    }
    kept_->text.insert(0, kept_->before);
    state_ = State::waits_for_restart;
  }
  /// Whether a text begins as the call itself does: the model has restarted the call.
  bool begins(std::string_view text) const {
    if (!records()) return false;
    const std::string whole = kept_->before + kept_->text;
    return trim(text).starts_with(trim(whole));
  }
  bool is_expected() const { return state_ > State::records; }
  bool is_begun() const { return is_expected() && !kept_->held.is_empty(); }
  bool is_restart() const { return state_ == State::waits_for_restart; }

  /// Before an echo: the letter decides whether the whole call is restarted, or its arguments are
  /// written again.
  void choose(const Letter& letter) {
    const bool is_whole_call = kept_->text.starts_with(letter.text);
    kept_->from = is_restart() && !is_whole_call ? kept_->arguments : 0;
  }
  /// Whether the echo can continue with this letter.
  bool fits(const Letter& letter) const {
    const std::string_view rest = expected().substr(kept_->held.size());
    const bool is_last = rest.size() == letter.text.size();
    // A closer that was a token is repeated as a token; its spelling would be text.
    return rest.starts_with(letter.text) &&
           (!is_last || is_restart() || ends_with_token_ == (letter.symbol != 0));
  }
  void put(const Letter& letter) { kept_->held.put(letter); }
  bool is_whole() const { return kept_->held.size() == expected().size(); }
  std::string_view held() const { return kept_ ? kept_->held.text() : std::string_view{}; }

  /// The echo is complete. Another one may follow.
  void accept() { kept_->held.clear(); }
  /// No echo follows: returns the held text, to be read again.
  Letters give_up() {
    Letters held = kept_ ? std::exchange(kept_->held, {}) : Letters{};
    // The call's closer may follow, and then its echo.
    is_restart() ? wait_for_closer() : stop();
    return held;
  }

  void visit(Archive& archive) {
    archive.choice(state_, State::waits_for_restart);
    archive(ends_with_token_, kept_);
    archive.expect((kept_ != nullptr) == (state_ != State::off));
  }

 private:
  void wait_for_closer() {
    kept_->text.erase(0, kept_->before.size());
    kept_->arguments = kept_->from = 0;
    state_ = State::records;
  }

  // The text of a longer call is not kept; this bounds the memory of a stream.
  static constexpr std::size_t kMaxBytes = 4096;

  enum class State : std::uint8_t { off, records, waits, waits_for_restart };
  struct Kept {
    std::string before;  // the opener, and white space
    std::string text;
    std::size_t arguments = 0;  // where they begin in the text, if they may be repeated
    std::size_t from = 0;       // where the echo begins in it
    Letters held;

    void visit(Archive& archive) {
      archive(before, text, arguments, from, held);
      archive.expect(arguments <= text.size() && from <= text.size() &&
                     held.size() <= text.size() - from);
    }
  };
  std::string_view expected() const { return std::string_view(kept_->text).substr(kept_->from); }
  void stop() {
    state_ = State::off;
    kept_.reset();
  }

  State state_ = State::off;
  bool ends_with_token_ = false;
  ClonedPtr<Kept> kept_;  // null while it is off
};

}  // namespace unspool
