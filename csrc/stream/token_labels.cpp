// Two counts run beside each other. The way in counts the bytes that tokens bring; the way out
// counts the bytes whose fate the audit has told. A token's label is that of its first byte, as
// soon as all its bytes have a fate:
//
//   tokens   <tool_call> | \n | {"name": " | get | _weather | ", "arguments": …
//   begin    0             11   12           22    25         33
//   fates    markup ──────────────────────►   name ─────────►   markup
//   labels   markup        markup markup      name  name        markup
//
// A token may end inside a region, so its later bytes may have another label: it is `mixed`, and
// `runs_` has the exact borders. Special tokens at the end wait: only the end of the output tells
// whether one of them ended the answer or was left out.
#include "stream/token_labels.h"

#include <algorithm>

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
    // Malformed text is content too, if it is outside calls.
    case Fate::malformed: return label.call < 0 ? LabelRegion::content : LabelRegion::markup;
    case Fate::tool_call:
    case Fate::marker:
    case Fate::whitespace: break;
  }
  return LabelRegion::markup;
}

}  // namespace

void TokenLabels::begin_tokens(std::uint64_t count, bool is_special, std::size_t ahead) {
  while (regions_.size() + pending_.size() < count) {
    const bool is_last = regions_.size() + pending_.size() + 1 == count;
    // Text that arrived before its ids has been counted already.
    add({read_ - ahead, false, is_special && is_last});
  }
}

void TokenLabels::put(const ByteLabel& byte, std::size_t bytes) {
  const TokenLabel label{region_of(byte), byte.call, byte.path};
  // One stretch per change, not per byte: a long argument is one entry.
  if (fates_.empty() || fates_.back().label != label) fates_.push_back({fated_, label});
  fated_ += bytes;
}

void TokenLabels::settle(bool is_whole) {
  while (plain_count_ > 0) {  // special tokens at the end may end the answer
    const Token& token = pending_.front();
    const bool is_last = pending_.size() == 1;
    // The text that follows may be its own: its end is not known.
    if (is_last && !is_whole && !token.is_skipped) return;
    const std::uint64_t end = is_last ? read_ : pending_[1].begin;
    // A token without bytes of its own belongs to the following character or text.
    const std::uint64_t needed = std::max(end, token.begin + 1);
    if (!token.is_skipped && fated_ < needed) return;
    add_token(token, end);
    if (!token.is_special) --plain_count_;
    pending_.pop_front();
  }
}

void TokenLabels::finish(std::uint64_t count, bool stopped) {
  settle(false);
  for (std::size_t i = 0; i < pending_.size(); ++i) finish_token(i, stopped);
  pending_.clear();
  // Every token has a label, also those that never reached the parser.
  while (regions_.size() < count) add_token({read_, true, false}, read_);
  is_final_ = true;
}

// If only special tokens follow, the first one has ended the answer, unless an earlier one has.
void TokenLabels::finish_token(std::size_t i, bool stopped) {
  Token token = pending_[i];
  if (!token.is_special) --plain_count_;
  const bool is_first = token.is_special && plain_count_ == 0 && !has_ended_;
  has_ended_ |= is_first;
  const bool is_end =
      stopped && is_first && (regions_.empty() || regions_.back() != LabelRegion::end);
  // Its text was held to the end and dropped, so there is no fate.
  token.is_skipped |= token.begin >= fated_;
  add_token(token, i + 1 < pending_.size() ? pending_[i + 1].begin : read_,
            is_end ? LabelRegion::end : LabelRegion::skipped);
}

// `left_out`: the region of a token that is not part of the message.
void TokenLabels::add_token(const Token& token, std::uint64_t end, LabelRegion left_out) {
  bool is_mixed = false;
  TokenLabel first;
  if (!token.is_skipped) {
    // Tokens come in order, so stretches before this one are not needed again: memory stays flat.
    while (fates_.size() > 1 && fates_[1].begin <= token.begin) fates_.pop_front();
    first = fates_.front().label;
  }
  // The end token is part of the audit as text that was left out.
  if (first.region == LabelRegion::skipped) first.region = left_out;
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

void TokenLabels::visit(Archive& archive) {
  archive.given(paths_);
  archive(read_, fated_, pending_, plain_count_, fates_, calls_, mixed_, runs_, has_ended_);
  archive(is_final_);
  std::size_t count = regions_.size();
  archive(count);
  archive.expect(count == calls_.size() && count == mixed_.size());
  regions_.resize(count);
  for (LabelRegion& region : regions_) archive.choice(region, LabelRegion::skipped);
  if (!archive.is_reading()) return;
  const auto plain = std::count_if(pending_.begin(), pending_.end(),
                                   [](const Token& token) { return !token.is_special; });
  // `settle` and `add_token` rely on both: a forged state would read from an empty queue.
  archive.expect(std::cmp_equal(plain, plain_count_) && (fated_ == 0 || !fates_.empty()));
  for (const Run& run : runs_) archive.expect(run.token <= count);
}

}  // namespace unspool
