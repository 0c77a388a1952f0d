// A match is not final at once: with the stops `ab` and `abc`, the text `ab` waits for the next
// byte.
//
//   held_   the text from the earliest possible match on
//   match_  the best match in it; a longer one that begins at the same place replaces it
//   begin   where a later match could begin; beyond `match_begin_`, the match is certain
#include "vocabulary/stop_strings.h"

#include "text/error.h"

namespace unspool {

StopStrings::StopStrings(const std::vector<std::string>& stops, bool include_stop)
    : include_stop_(include_stop) {
  auto set = std::make_shared<MarkerSet>();
  for (const std::string& stop : stops) {
    if (stop.empty()) throw ArgumentError("a stop string is empty; leave it out");
    MarkerPattern pattern;
    pattern.append_text(stop);
    set->add(pattern, {});
  }
  set->compile();
  set_ = std::move(set);
}

void StopStrings::put(std::string_view text, std::string& out) {
  std::size_t i = 0;
  while (i < text.size() && !is_stopped_) {
    if (state_ == 0 && match_begin_ == std::string::npos) {
      const std::size_t run = set_->skip(text.substr(i));
      out.append(text, i, run);
      i += run;
      if (i == text.size()) return;
    }
    held_ += text[i];
    const MarkerSet::State next = set_->next(state_, static_cast<unsigned char>(text[i]));
    ++i;
    const std::size_t begin = held_.size() - set_->held(next).size();  // of a possible later match
    // No match that begins as early can still grow.
    if (match_begin_ != std::string::npos && begin > match_begin_) {
      accept(out);
      return;
    }
    state_ = next;
    std::size_t length = 0;
    if (set_->match(state_, length) != nullptr) {
      const std::size_t at = held_.size() - length;
      // The one that begins first wins, and at the same place the longer one.
      if (match_begin_ == std::string::npos || at <= match_begin_) {
        match_begin_ = at;
        match_end_ = held_.size();
      }
    }
    if (match_begin_ != std::string::npos) {
      // No stop string continues from here, so nothing is gained by waiting.
      if (begin == match_begin_ && set_->is_leaf(state_)) accept(out);
      continue;
    }
    // Text before any possible match is certain.
    out.append(held_, 0, begin);
    held_.erase(0, begin);
  }
}

void StopStrings::accept(std::string& out) {
  out.append(held_, 0, include_stop_ ? match_end_ : match_begin_);
  stop_reason_.assign(held_, match_begin_, match_end_ - match_begin_);
  held_.clear();
  is_stopped_ = true;
}

void StopStrings::flush(std::string& out) {
  // A longer match will not come.
  if (match_begin_ != std::string::npos && !is_stopped_) return accept(out);
  out += held_;
  held_.clear();
  state_ = 0;
}

void StopStrings::visit(Archive& archive) {
  archive.same("list of stop strings", set_->fingerprint());
  archive.same("choice of options", include_stop_);
  archive(is_stopped_, state_, held_, match_begin_, match_end_, stop_reason_);
  archive.expect(set_->has(state_));
  if (is_stopped_) return;
  archive.expect(held_.size() >= set_->held(state_).size());
  archive.expect(match_begin_ == std::string::npos ||
                 (match_begin_ <= match_end_ && match_end_ <= held_.size()));
}

}  // namespace unspool
