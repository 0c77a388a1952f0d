#include "stream/token_labels.h"

#include <algorithm>
#include <optional>

namespace unspool {

namespace {

LabelRegion region_of(const ByteLabel& label) {
  switch (label.part) {
    case LabelPart::name: return LabelRegion::name;
    case LabelPart::arguments: return LabelRegion::arguments;
    case LabelPart::end: return LabelRegion::end;
    case LabelPart::left_out: return LabelRegion::skipped;
    case LabelPart::none: break;
  }
  switch (label.fate) {
    case Fate::content: return LabelRegion::content;
    case Fate::reasoning: return LabelRegion::reasoning;
    // What cannot be read is content too, if it is no call's.
    case Fate::malformed: return label.call < 0 ? LabelRegion::content : LabelRegion::markup;
    case Fate::tool_call:
    case Fate::marker:
    case Fate::whitespace: break;
  }
  return LabelRegion::markup;
}

}  // namespace

void TokenLabels::begin_tokens(std::uint64_t count, std::size_t ahead) {
  while (regions_.size() + pending_.size() < count) pending_.push_back({read_ - ahead, false});
}

void TokenLabels::put(std::span<const Events::Audited> audit) {
  for (const Events::Audited& piece : audit) {
    const TokenLabel label{region_of(piece), piece.call, piece.path};
    if (fates_.empty() || fates_.back().label != label) fates_.push_back({fated_, label});
    fated_ += piece.text.size();
  }
}

void TokenLabels::settle(bool is_whole) {
  while (!pending_.empty()) {
    const Token& token = pending_.front();
    const bool is_last = pending_.size() == 1;
    if (is_last && !is_whole && !token.is_skipped) return;
    const std::uint64_t end = is_last ? read_ : pending_[1].begin;
    // A token without bytes of its own is part of the character, or of the text, that follows.
    const std::uint64_t needed = std::max(end, token.begin + 1);
    if (!token.is_skipped && fated_ < needed) return;
    add_token(token, end);
    pending_.pop_front();
  }
}

void TokenLabels::finish(std::uint64_t count) {
  settle(false);
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    Token token = pending_[i];
    token.is_skipped |= token.begin >= fated_;
    add_token(token, i + 1 < pending_.size() ? pending_[i + 1].begin : read_);
  }
  pending_.clear();
  while (regions_.size() < count) add_token({read_, true}, read_);
  is_final_ = true;
}

void TokenLabels::add_token(const Token& token, std::uint64_t end) {
  bool is_mixed = false;
  TokenLabel first;
  if (!token.is_skipped) {
    while (fates_.size() > 1 && fates_[1].begin <= token.begin) fates_.pop_front();
    first = fates_.front().label;
  }
  add_run(first, false);
  if (!token.is_skipped) {
    for (std::size_t i = 1; i < fates_.size() && fates_[i].begin < end; ++i) {
      const TokenLabel& label = fates_[i].label;
      is_mixed |= label.region != first.region || label.call != first.call;
      add_run(label, true);
    }
  }
  regions_.push_back(first.region);
  calls_.push_back(first.call);
  mixed_.push_back(is_mixed ? 1 : 0);
}

void TokenLabels::add_run(const TokenLabel& label, bool is_inside) {
  if (!runs_.empty() && runs_.back().label == label) return;
  runs_.push_back({regions_.size(), is_inside, label});
}

}  // namespace unspool
