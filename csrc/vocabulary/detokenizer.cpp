// The path of an id that is not plain; a plain one is appended as it is (`put` in the header):
//
//   put_raw    the token's text: as the first one, in the middle, or held as the last one
//   utf8_      bytes of several tokens become characters; an unfinished one is held
//   strip      characters at both ends of the whole text; those that may be the end are held
//   cleanup_   spaces before punctuation, if the tokenizer's option asks for it
//   stop_      a stop string ends the text
//
// `is_quiet_` says that none of them holds anything or has a rule for the next token. It is true
// for nearly all tokens of nearly all models, and then a token costs a look-up and an append.
#include "vocabulary/detokenizer.h"

#include <algorithm>

#include "text/common_prefix.h"
#include "text/error.h"

namespace unspool {

namespace {

// Rules for a first token look back at most this far.
constexpr std::size_t kContextTokens = 64;

}  // namespace

Detokenizer::Detokenizer(std::shared_ptr<const Vocabulary> vocabulary, DetokenizerOptions options)
    // SentencePiece itself decodes a run of bytes eagerly.
    : vocabulary_(std::move(vocabulary)),
      skip_special_tokens_(options.skip_special_tokens),
      exact_(options.exact && !vocabulary_->is_sentencepiece_),
      utf8_(vocabulary_->joins_bytes_ ? Replacement::per_subpart : Replacement::per_byte) {
  read_context(options.context);
  if (options.clean_up_spaces) cleanup_ = std::make_unique<SpaceCleanup>();
  if (!options.stop.empty())
    stop_ = std::make_unique<StopStrings>(options.stop, options.include_stop);
  if (options.tracks_pieces) pieces_ = std::make_unique<Pieces>();
  update_quiet();
}

void Detokenizer::read_context(std::span<const TokenId> ids) {
  is_first_ = true;
  utf8_.end(raw_);
  run_.clear();
  held_in_middle_ = held_at_end_ = {};
  strip_left_ = vocabulary_->strip_start_;
  // A prompt may have 100,000 tokens. What is before these can no longer be at the beginning.
  const std::size_t from = ids.size() - std::min(ids.size(), kContextTokens);
  for (const TokenId id : ids.subspan(from)) {
    raw_.clear();
    put_raw(id, raw_);
    strip(raw_);
  }
  // The first of them was treated as the first token, which it is not.
  if (from > 0) {
    is_first_ = false;
    strip_left_ = 0;
  }
  tail_.clear();
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
  if (pieces_) pieces_->add(id, std::string_view(out).substr(before));
}

void Detokenizer::put_read(TokenId id, std::string& out) {
  // For this token alone.
  const bool skips = std::exchange(skip_special_tokens_, false);
  put_slow(id, out);
  skip_special_tokens_ = skips;
}

// The decoder chain, up to the point where the text is joined.
void Detokenizer::put_raw(TokenId id, std::string& out) {
  if (!vocabulary_->is_known(id)) {
    if (vocabulary_->unknown_ == UnknownId::ignored) return;
    throw ArgumentError(unknown_id_message(id, *vocabulary_));
  }
  const Vocabulary::Entry& entry = vocabulary_->entries_[id];
  const bool breaks =
      vocabulary_->special_breaks_text_ && (entry.flags & Vocabulary::kSpecial) != 0;
  // Some tokenizers decode the text between special tokens by itself.
  if (breaks) utf8_.end(out);
  if (skip_special_tokens_ && (entry.flags & Vocabulary::kSkipped) != 0) return;
  // Another token follows, so the last one was not the last.
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
  // A token may be a part of a character, so it is never text by itself.
  if (vocabulary_->joins_bytes_) {
    utf8_.put(text, out);
    return;
  }
  end_run(out);
  // A last token may lose a space, or a suffix such as `</w>`. Only what differs is held.
  const std::string_view last = vocabulary_->slice(entry.last);
  if (entry.last == entry.text) {
    out += text;
    return;
  }
  const std::size_t same = common_prefix(text, last);
  out += text.substr(0, same);
  held_in_middle_ = text.substr(same);
  held_at_end_ = last.substr(same);
}

// Ends a run of byte tokens.
void Detokenizer::end_run(std::string& out) {
  utf8_.end(out);
  if (run_.empty()) return;
  if (is_valid_utf8(run_)) {
    out += run_;
  } else {
    // As the library does: one invalid byte makes the whole run invalid.
    for (std::size_t i = 0; i < run_.size(); ++i) out += kReplacementCharacter;
  }
  run_.clear();
}

// Removes characters at the text's beginning, and holds those that may be its end.
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
  // The characters that were held come before the new text.
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
  std::string cleaned;
  if (cleanup_) {
    cleanup_->put(text, cleaned);
    std::swap(text, cleaned);
  }
  if (stop_) {
    stop_->put(text, out);
  } else {
    out += text;
  }
}

// No text follows that could continue what the filters hold.
void Detokenizer::flush_filters(std::string& out) {
  if (cleanup_) {
    std::string cleaned;
    cleanup_->flush(cleaned);
    if (stop_) {
      stop_->put(cleaned, out);
    } else {
      out += cleaned;
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
  // A marker follows: this is not the end of the text.
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
  if (pieces_) pieces_->end(std::string_view(out).substr(before));
}

void Detokenizer::visit(Archive& archive) {
  archive.same("vocabulary", vocabulary_->fingerprint());
  archive.same("choice of options", skip_special_tokens_, exact_, cleanup_ != nullptr,
               stop_ != nullptr, pieces_ != nullptr);
  archive.scratch(raw_);
  archive(is_first_, is_quiet_, utf8_, run_, strip_left_, tail_);
  archive.view(held_in_middle_);
  archive.view(held_at_end_);
  if (cleanup_) archive(*cleanup_);
  if (stop_) archive(*stop_);
  if (pieces_) archive(*pieces_);
  if (!archive.is_reading()) return;
  const bool is_quiet = is_quiet_;
  update_quiet();
  // A forged state could be quiet with text held, which would then never be emitted.
  archive.expect(is_quiet_ == is_quiet);
}

}  // namespace unspool
