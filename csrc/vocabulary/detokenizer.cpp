#include "vocabulary/detokenizer.h"

#include <algorithm>

#include "text/error.h"
#include "text/scratch.h"

namespace unspool {

namespace {

// Rules for a first token look no further back than this.
constexpr std::size_t kContextTokens = 64;
constexpr std::size_t kMaxPieces = 4096;

}  // namespace

Detokenizer::Detokenizer(std::shared_ptr<const Vocabulary> vocabulary, DetokenizerOptions options)
    : vocabulary_(std::move(vocabulary)),
      skip_special_tokens_(options.skip_special_tokens),
      exact_(options.exact && !vocabulary_->is_sentencepiece_),
      tracks_pieces_(options.tracks_pieces),
      utf8_(vocabulary_->joins_bytes_ ? Replacement::per_subpart : Replacement::per_byte),
      strip_left_(vocabulary_->strip_start_) {
  const auto& context = options.context;
  const std::size_t from = context.size() - std::min(context.size(), kContextTokens);
  for (std::size_t i = from; i < context.size(); ++i) {
    raw_.clear();
    put_raw(context[i], raw_);
    strip(raw_);
  }
  if (from > 0) {
    is_first_ = false;
    strip_left_ = 0;
  }
  tail_.clear();
  if (options.clean_up_spaces) cleanup_.emplace();
  if (!options.stop.empty()) stop_.emplace(options.stop, options.include_stop);
  update_quiet();
}

void Detokenizer::update_quiet() {
  is_quiet_ = !is_first_ && !cleanup_ && !stop_ && utf8_.held().empty() && run_.empty() &&
              held_in_middle_.empty() && held_at_end_.empty() && strip_left_ == 0 &&
              vocabulary_->strip_stop_ == 0;
}

void Detokenizer::put(std::span<const TokenId> ids, std::string& out) {
  for (const TokenId id : ids) put(id, out);
}

void Detokenizer::put_slow(TokenId id, std::string& out) {
  if (is_stopped()) return;
  const std::size_t before = out.size();
  raw_.clear();
  put_raw(id, raw_);
  strip(raw_);
  filter(raw_, out);
  update_quiet();
  if (tracks_pieces_) track(id, std::string_view(out).substr(before));
}

void Detokenizer::put_read(TokenId id, std::string& out) {
  const bool skips = std::exchange(skip_special_tokens_, false);
  put_slow(id, out);
  skip_special_tokens_ = skips;
}

// The decoder chain, up to where text has been joined.
void Detokenizer::put_raw(TokenId id, std::string& out) {
  if (!vocabulary_->is_known(id)) {
    if (vocabulary_->unknown_ == UnknownId::ignored) return;
    throw ArgumentError(unknown_id_message(id, *vocabulary_));
  }
  const Vocabulary::Entry& entry = vocabulary_->entries_[id];
  const bool breaks =
      vocabulary_->special_breaks_text_ && (entry.flags & Vocabulary::kSpecial) != 0;
  if (breaks) utf8_.end(out);
  if (skip_special_tokens_ && (entry.flags & Vocabulary::kSkipped) != 0) return;
  if (!held_in_middle_.empty()) out += held_in_middle_;
  held_in_middle_ = held_at_end_ = {};
  const bool is_first = std::exchange(is_first_, false);
  std::string_view text = vocabulary_->slice(is_first ? entry.first : entry.text);
  if ((entry.flags & Vocabulary::kByte) != 0) {
    if (exact_) {
      run_ += text;
    } else {
      utf8_.put(text, out);
    }
    return;
  }
  if (vocabulary_->joins_bytes_) {
    utf8_.put(text, out);
    return;
  }
  end_run(out);
  const std::string_view last = vocabulary_->slice(entry.last);
  if (entry.last == entry.text) {
    out += text;
    return;
  }
  const auto same = static_cast<std::size_t>(
      std::mismatch(text.begin(),
                    text.begin() + static_cast<std::ptrdiff_t>(std::min(text.size(), last.size())),
                    last.begin())
          .first -
      text.begin());
  out += text.substr(0, same);
  held_in_middle_ = text.substr(same);
  held_at_end_ = last.substr(same);
}

// A run of byte tokens is over.
void Detokenizer::end_run(std::string& out) {
  utf8_.end(out);
  if (run_.empty()) return;
  if (is_valid_utf8(run_)) {
    out += run_;
  } else {
    for (std::size_t i = 0; i < run_.size(); ++i) out += kReplacementCharacter;
  }
  run_.clear();
}

// Cuts characters off the text's beginning, and holds those that may be its end.
void Detokenizer::strip(std::string& text) {
  const std::string& content = vocabulary_->strip_;
  if (content.empty()) return;
  while (strip_left_ > 0 && !text.empty()) {
    if (!text.starts_with(content)) {
      strip_left_ = 0;
      break;
    }
    text.erase(0, content.size());
    --strip_left_;
  }
  if (vocabulary_->strip_stop_ == 0 || text.empty()) return;
  text.insert(0, tail_);
  std::size_t count = 0;
  while (
      count < vocabulary_->strip_stop_ &&
      std::string_view(text).substr(0, text.size() - count * content.size()).ends_with(content)) {
    ++count;
  }
  tail_ = text.substr(text.size() - count * content.size());
  text.resize(text.size() - tail_.size());
}

void Detokenizer::filter(std::string& text, std::string& out) {
  std::string* current = &text;
  if (cleanup_) {
    cleaned_.clear();
    cleanup_->put(text, cleaned_);
    current = &cleaned_;
  }
  if (stop_) {
    stop_->put(*current, out);
  } else {
    out += *current;
  }
}

// No text comes to continue what the filters hold.
void Detokenizer::flush_filters(std::string& out) {
  if (cleanup_) {
    cleaned_.clear();
    cleanup_->flush(cleaned_);
    if (stop_) {
      stop_->put(cleaned_, out);
    } else {
      out += cleaned_;
    }
  }
  if (stop_) stop_->flush(out);
}

void Detokenizer::end_raw(std::string& out) {
  end_run(out);
  out += held_at_end_;
  held_in_middle_ = held_at_end_ = {};
}

void Detokenizer::break_text(std::string& out) {
  if (is_quiet_) return;
  raw_.clear();
  end_run(raw_);
  raw_ += held_in_middle_;
  held_in_middle_ = held_at_end_ = {};
  strip(raw_);
  raw_ += tail_;
  tail_.clear();
  filter(raw_, out);
  flush_filters(out);
  update_quiet();
}

void Detokenizer::end(std::string& out) {
  const std::size_t before = out.size();
  raw_.clear();
  end_raw(raw_);
  strip(raw_);
  filter(raw_, out);
  flush_filters(out);
  const std::string_view text = std::string_view(out).substr(before);
  const std::size_t ended = piece_ends_.empty() ? 0 : piece_ends_.back().id;
  if (tracks_pieces_ && (!text.empty() || piece_ids_.size() > ended)) end_piece(text);
}

// The ids since the last piece made this text.
void Detokenizer::end_piece(std::string_view text) {
  if (piece_ends_.size() == kMaxPieces) {  // no one asks for them: forget the older half
    const PieceEnd cut = piece_ends_[kMaxPieces / 2 - 1];
    piece_text_.erase(0, cut.text);
    piece_ids_.erase(piece_ids_.begin(), piece_ids_.begin() + static_cast<std::ptrdiff_t>(cut.id));
    piece_ends_.erase(piece_ends_.begin(), piece_ends_.begin() + kMaxPieces / 2);
    for (PieceEnd& end : piece_ends_) end = {end.text - cut.text, end.id - cut.id};
  }
  piece_text_ += text;
  piece_ends_.push_back({piece_text_.size(), piece_ids_.size()});
}

std::vector<Detokenizer::Piece> Detokenizer::take_pieces() {
  std::vector<Piece> pieces;
  PieceEnd begin;
  for (const PieceEnd& end : piece_ends_) {
    pieces.push_back(
        {piece_text_.substr(begin.text, end.text - begin.text),
         std::vector<TokenId>(piece_ids_.begin() + static_cast<std::ptrdiff_t>(begin.id),
                              piece_ids_.begin() + static_cast<std::ptrdiff_t>(end.id))});
    begin = end;
  }
  // Ids that have made no text yet stay for the next piece.
  piece_text_.clear();
  piece_ids_.erase(piece_ids_.begin(), piece_ids_.begin() + static_cast<std::ptrdiff_t>(begin.id));
  piece_ends_.clear();
  shrink_scratch(piece_text_, piece_ids_, piece_ends_);
  return pieces;
}

}  // namespace unspool
