// How the input of one answer reaches its parser. The first chunk decides for the whole answer:
//
//   input      path of a chunk
//   text       Utf8Stream ─► parser: characters that are split over chunks are joined
//   ids        Detokenizer ─► parser; a marker's token goes past the detokenizer, as a symbol
//   both       the ids predict the text, TextAligner finds each token's place in the host's text
//   both, but no vocabulary: as text, and the ids are only counted
//
// A token goes through four questions, in this order: Is the answer over (a stop string)? Is the id
// a marker of the format (`marker_of`)? Is it a special token that the text omits? Else it is text.
//
//   <think> Hm </think> Hi <|im_end|>      ids, with the format hermes
//   symbol  text symbol text special
//
// Where the parser reads special tokens (headers, names, arguments), they wait in `special_` until
// text follows: those at the end of the output only end the turn, and are not part of a value.
//
// After the parser come, if requested, the content's stop strings, the message, the labels.
#include "stream/chunk_parser.h"

#include <algorithm>
#include <utility>

#include "template/make_event_parser.h"
#include "text/error.h"
#include "text/scratch.h"

namespace unspool {

namespace {

// A long text is read in slices, so that reused buffers stay small.
constexpr std::size_t kSliceBytes = std::size_t{1} << 13;

// A chunk with this many ids is long: its memory is freed afterwards.
constexpr std::size_t kManyIds = 16;

// Maximum number of unreported ids to remember; older ones are only counted.
constexpr std::size_t kMaxUntoldIds = std::size_t{1} << 16;

template <typename Use>
void for_each_slice(std::string_view bytes, Use&& use) {
  while (bytes.size() > kSliceBytes) {
    use(bytes.substr(0, kSliceBytes));
    bytes.remove_prefix(kSliceBytes);
  }
  use(bytes);
}

std::shared_ptr<const Format> checked(std::shared_ptr<const Format> format) {
  if (!format) throw ArgumentError("format is null; pass what read_format gives");
  return format;
}

}  // namespace

ChunkParser::ChunkParser(std::shared_ptr<const Format> format, ChunkParserOptions options)
    : builder_(options.keeps_message),
      format_(checked(format)),
      tools_(options.parser.tools),
      skip_special_tokens_(options.detokenizer.skip_special_tokens),
      stop_in_(options.stop_in),
      start_is_given_(options.parser.starts_in_reasoning.has_value()),
      kept_reasoning_(start_is_given_ ? nullptr : std::move(options.kept_reasoning)) {
  // A label is of a token, and without a vocabulary no byte is known to be of one.
  if (options.labels && !options.vocabulary)
    throw ArgumentError("labels are of token ids; pass tokenizer=");
  const bool audits = options.parser.audit || options.labels;
  make_parser(std::move(format), std::move(options.parser), options.labels);
  repeats_tag_ = kept_reasoning_ && starts_in_reasoning(kept_reasoning_, {});
  DetokenizerOptions& detokenizer = options.detokenizer;
  if (stop_in_ == StopIn::content && !detokenizer.stop.empty()) {
    content_stop_ =
        std::make_unique<ContentStop>(detokenizer.stop, detokenizer.include_stop, audits);
    // Moved to the filter after the parser. The detokenizer matches text before it is parsed, so it
    // would also find a stop string in reasoning, arguments and markup.
    detokenizer.stop.clear();
  }
  if (!options.vocabulary) return;
  texts_ = options.vocabulary->texts().data();
  text_count_ = static_cast<std::uint32_t>(options.vocabulary->size());
  detokenizer_.emplace(std::move(options.vocabulary), std::move(detokenizer));
}

void ChunkParser::put_prompt(std::span<const TokenId> ids) {
  begin(Input::none);
  if (!has_vocabulary())
    throw ArgumentError("a prompt of token ids needs a tokenizer; pass tokenizer=");
  if (has_begun()) throw StreamError("the prompt comes before the output; this stream has begun");
  // The prompt's special tokens are its markers (`<|im_start|>`), so they are not skipped here.
  DetokenizerOptions plain;
  plain.skip_special_tokens = false;
  Detokenizer whole(detokenizer_->vocabulary(), plain);
  std::string prompt;
  whole.put(ids, prompt);
  whole.end(prompt);
  put_prompt(std::string_view(prompt));
  // A tokenizer may strip the space of a text's first token. After a prompt, the output's first
  // token is not the first.
  detokenizer_->read_context(ids);
}

void ChunkParser::put_prompt(std::string_view text) {
  if (has_begun()) throw StreamError("the prompt comes before the output; this stream has begun");
  has_prompt_ = true;
  // Where the output starts is not up to the prompt then. `has_prompt_` is set even so.
  if (start_is_given_) return;
  parser_->put_prompt(text);
  if (kept_reasoning_) repeats_tag_ = starts_in_reasoning(kept_reasoning_, text);
}

// Where the parser's events go.
Events& ChunkParser::parsed_or(Events& out) {
  Events& events = content_stop_ ? content_stop_->input() : out;
  // Before the first event, whatever it is. The prompt has written `<think>`, so the output does
  // not contain it, and content that keeps its reasoning would have only the closing tag.
  if (std::exchange(repeats_tag_, false)) {
    const std::string& tag = kept_reasoning_->program().reasoning->open.texts.front();
    events.add_text(EventKind::content, -1, tag, 0);
    if (content_stop_) content_stop_->leave_out(tag.size());
  }
  return events;
}

// The first chunk decides how markers are matched: by id if there are ids and a vocabulary.
void ChunkParser::begin(Input input) {
  if (is_finished_)
    throw StreamError("this stream has ended; create a new Parser for the next response");
  leave_rest();
  // Text has no token ids, so no marker could count: an error instead of an answer without calls.
  if (input == Input::text && input_ == Input::none && format_->is_strict())
    throw ArgumentError(strict_text_message());
  forget_told();
  // An empty chunk does not decide: hosts send one before the first token.
  if (input_ == Input::none && input != Input::none) {
    input_ = input;
    if (input != Input::text && has_vocabulary()) parser_->expect_ids();
  }
}

// Drops the ids that events have reported; the others wait for their event.
void ChunkParser::forget_told() {
  if (told_ >= ids_begin_ + ids_.size() && ids_.size() <= kManyIds) [[likely]] {
    ids_begin_ += ids_.size();
    ids_.clear();
    return;
  }
  const std::uint64_t told = std::max(told_, ids_begin_) - ids_begin_;
  std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(told, ids_.size()));
  const std::size_t untold = ids_.size() - count;
  // Twice the limit, so that the ids are moved once per 65,536 tokens and not at each of them.
  if (untold > 2 * kMaxUntoldIds) count += untold - kMaxUntoldIds;
  ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(count));
  ids_begin_ += count;
  if (count > kManyIds) shrink_scratch<kManyIds * sizeof(TokenId)>(ids_);
}

void ChunkParser::end_put(Events& out, bool stopped) {
  if (content_stop_) content_stop_->pass(out, is_finished_);
  // Events come in order, so the last one ends where the reported ids end.
  if (!out.is_empty()) told_ = out.list().back().span.end;
  builder_.add(out);
  if (labels_) label(out, stopped);
}

void ChunkParser::label(Events& out, bool stopped) {
  out.for_each_new_fate(
      [this](const ByteLabel& byte, std::size_t bytes) { labels_->put(byte, bytes); });
  if (is_finished_) {
    labels_->finish(token_count_, stopped);
  } else {
    // With ids only, a token has no more bytes once the detokenizer holds nothing. In the other
    // modes the next text may still belong to it.
    labels_->settle(input_ == Input::ids && detokenizer_->is_idle());
  }
}

void ChunkParser::check_ids(std::span<const TokenId> ids, bool has_text) const {
  if (!has_vocabulary()) {
    // A host that sends both may send ids first, and their text later.
    if (ids.empty() || has_text || input_ == Input::both) return;
    throw ArgumentError(lone_ids_message());
  }
  // Before any state changes, for the whole chunk: put_ids would throw halfway.
  if (vocabulary().unknown() == UnknownId::ignored) return;
  for (const TokenId id : ids) {
    if (!vocabulary().is_known(id)) throw ArgumentError(unknown_id_message(id, vocabulary()));
  }
}

void ChunkParser::put_text(std::string_view bytes, Events& out) {
  if (bytes.empty()) {
    begin(Input::none);
    return;
  }
  begin(Input::text);
  // The host has sent ids before, so this text may be theirs.
  if (input_ == Input::both) return put_text_and_ids(bytes, {}, out);
  put_slices(bytes, out);
  end_put(out);
}

void ChunkParser::put_slices(std::string_view bytes, Events& out) {
  for_each_slice(bytes, [&](std::string_view slice) {
    // Slice by slice: a text of many MB would otherwise need as much again for its valid form.
    text_.clear();
    utf8_.put(slice, text_);
    if (!is_stopped()) read_text(text_, token_count_, parsed_or(out), out);
  });
  text_.clear();
  shrink_scratch<kKeptInStream>(text_);
}

// With an audit, nothing that follows a stop string decides the fate of what precedes it, wherever
// the text is split.
void ChunkParser::read_text(std::string_view text, std::uint64_t token_end, Events& parsed,
                            Events& out) {
  if (!content_stop_ || !content_stop_->audits()) return parser_->put_text(text, token_end, parsed);
  while (!text.empty() && !is_stopped()) {
    const std::string_view character = first_bytes(text, 1);
    parser_->put_text(character, token_end, parsed);
    content_stop_->pass(out, false);
    text.remove_prefix(character.size());
  }
}

void ChunkParser::put_ids(std::span<const TokenId> ids, Events& out) {
  if (!has_vocabulary()) return count_ids(ids, out);
  begin(ids.empty() ? Input::none : Input::ids);
  if (input_ == Input::both) {
    const TextAligner::Sink sink = sink_to(out);
    for (const TokenId id : ids) expect_id(id);
    aligner().put({}, sink);
  } else {
    for (const TokenId id : ids) put_id(id, out);
  }
  end_put(out);
  find_rest();
}

// Without a vocabulary, ids are only counted.
void ChunkParser::count_ids(std::span<const TokenId> ids, Events& out) {
  check_ids(ids, false);
  begin(ids.empty() ? Input::none : Input::ids);
  // Ids without text cannot change the region.
  const Region region = parser_->region();
  for (const TokenId id : ids) {
    ids_.push_back(id);
    ++token_count_;
    count(region);
  }
  end_put(out);
}

void ChunkParser::put_text_and_ids(std::string_view bytes, std::span<const TokenId> ids,
                                   Events& out) {
  begin(bytes.empty() && ids.empty() ? Input::none : Input::both);
  if (!has_vocabulary()) {
    const Region before = parser_->region();
    for (const TokenId id : ids) ids_.push_back(id);
    token_count_ += ids.size();
    put_slices(bytes, out);
    for (std::size_t i = 0; i < ids.size(); ++i) count(before);
    end_put(out);
    return;
  }
  const TextAligner::Sink sink = sink_to(out);
  for (const TokenId id : ids) expect_id(id);
  std::string text;
  for_each_slice(bytes, [&](std::string_view slice) {
    text.clear();
    utf8_.put(slice, text);
    aligner().put(text, sink);
  });
  end_put(out);
}

TextAligner& ChunkParser::aligner() {
  if (!aligner_) aligner_ = std::make_unique<TextAligner>();
  return *aligner_;
}

std::optional<Symbol> ChunkParser::marker_of(TokenId id) const {
  // Markers are added tokens, and nine in ten ids are not: one bit decides before the search.
  return vocabulary().is_added(id) ? format_->symbol(id) : std::nullopt;
}

void ChunkParser::put_id(TokenId id, Events& out) {
  if (is_stopped()) {
    // The host may feed tokens after a stop string. They are not part of the answer, but have a
    // label.
    if (labels_) labels_->skip_token(false);
    return;
  }
  // Two copies of the function, so that streams without labels do not even ask.
  labels_ ? read_id<true>(id, parsed_or(out)) : read_id<false>(id, parsed_or(out));
  if (content_stop_) content_stop_->pass(out, false);
}

// `kLabels`: labels are on; without them there is no cost.
template <bool kLabels>
void ChunkParser::read_id(TokenId id, Events& out) {
  const Region before = parser_->region();
  const std::optional<Symbol> symbol = marker_of(id);
  const bool is_skipped = !symbol && skip_special_tokens_ && vocabulary().is_skipped(id);
  // A special token that a marker contains, with trust by text: it must stay in the text, or the
  // marker would never be complete.
  const bool is_spelled = is_skipped && format_->is_spelled(id);
  const bool is_special = is_skipped && !is_spelled;
  text_.clear();
  // A token ends the text before it: bytes of an unfinished character cannot be completed by it,
  // and are emitted first, so that their order stays.
  if (symbol || (is_special && parser_->reads_special())) {
    detokenizer_->break_text(text_);
    if constexpr (kLabels) labels_->read(text_.size());
    if (!text_.empty()) {
      end_special(out);
      parser_->put_text(text_, token_count_, out);
    }
    if constexpr (kLabels) begin_label(is_special);
  } else {
    if constexpr (kLabels) begin_label(is_special);
    if (is_spelled) {
      // Past the option skip_special_tokens.
      detokenizer_->put_read(id, text_);
    } else {
      detokenizer_->put(id, text_);
    }
  }
  ids_.push_back(id);
  ++token_count_;
  if (is_special) {
    put_special(vocabulary().content(id), token_count_, out);
  } else if (symbol || !text_.empty()) {
    if constexpr (kLabels)
      labels_->read(symbol ? format_->symbol_text(*symbol).size() : text_.size());
    end_special(out);
    if (symbol) {
      parser_->put_token(*symbol, token_count_, out);
    } else {
      parser_->put_text(text_, token_count_, out);
    }
  }
  count(before);
}

// A response template's parser does not audit what it omits.
bool ChunkParser::leaves_out_special() const {
  return format_->response_template() != nullptr && !parser_->reads_special();
}

void ChunkParser::begin_label(bool is_special) {
  if (is_special && leaves_out_special()) return labels_->skip_token(true);
  labels_->begin_token(detokenizer_->held_bytes(), is_special);
}

// Special tokens at the end of the output end the turn: no call uses them.
void ChunkParser::put_special(std::string_view text, std::uint64_t token_end, Events& out) {
  if (labels_ && !leaves_out_special()) labels_->read(text.size());
  // In content, the parser itself decides at once.
  if (!parser_->reads_special()) return parser_->put_special(text, token_end, out);
  special_ += text;
  special_end_ = token_end;
}

// The output continues after special tokens.
void ChunkParser::end_special(Events& out) {
  if (special_.empty()) return;
  parser_->put_special(special_, special_end_, out);
  special_.clear();
}

// A token whose text the host has sent or will send.
void ChunkParser::expect_id(TokenId id) {
  text_.clear();
  const std::optional<Symbol> symbol = marker_of(id);
  // Hosts differ in what they write of such a token, so the aligner gets it as optional text.
  const bool is_token = symbol || vocabulary().is_special(id);
  if (is_token) {
    detokenizer_->break_text(text_);
    if (!text_.empty()) expect_text();
  } else {
    detokenizer_->put(id, text_);
  }
  ids_.push_back(id);
  ++token_count_;
  if (symbol) {
    aligner().expect_token(vocabulary().content(id), *symbol, token_count_);
  } else if (is_token) {
    const bool is_text = !skip_special_tokens_ || format_->is_spelled(id);
    aligner().expect_special(vocabulary().content(id), is_text, token_count_);
  } else if (!text_.empty()) {
    expect_text();
  }
}

// The host may have sent the text already.
void ChunkParser::expect_text() {
  const std::size_t ahead = aligner().ahead_bytes();
  // Text that has been passed on already is matched here, and is no longer ahead.
  aligner().expect_text(text_, token_count_);
  if (labels_ && aligner().ahead_bytes() < ahead) labels_->begin_tokens(token_count_, false, ahead);
}

void ChunkParser::read_for(std::uint64_t token_end, std::size_t bytes, bool is_special) {
  if (!labels_) return;
  labels_->begin_tokens(token_end, is_special);
  labels_->read(bytes);
}

TextAligner::Sink ChunkParser::sink_to(Events& out) {
  Events& parsed = parsed_or(out);
  const auto count_to = [this](std::uint64_t token_end, Region before) {
    // A token counts once, however many pieces its text comes in.
    for (; counted_ < token_end; ++counted_) count(before);
  };
  return {[this, &parsed, &out, count_to](std::string_view text, std::uint64_t token_end) {
            const Region before = parser_->region();
            end_special(parsed);
            read_for(token_end, text.size());
            read_text(text, token_end, parsed, out);
            count_to(token_end, before);
          },
          [this, &parsed, count_to](Symbol symbol, std::uint64_t token_end) {
            const Region before = parser_->region();
            end_special(parsed);
            read_for(token_end, format_->symbol_text(symbol).size());
            if (!is_audited_to_stop()) parser_->put_token(symbol, token_end, parsed);
            count_to(token_end, before);
          },
          [this, &parsed, count_to](std::string_view text, std::uint64_t token_end) {
            const Region before = parser_->region();
            read_for(token_end, 0, true);
            if (!is_audited_to_stop()) put_special(text, token_end, parsed);
            count_to(token_end, before);
          }};
}

// A token counts towards its region; a marker towards the region that it opens or closes.
void ChunkParser::count(Region before, std::uint64_t count) {
  // An opener without a name yet: its tokens are those of a call or of content, which is known
  // later.
  const EventParser::Progress progress = parser_->progress();
  if (progress.is_undecided) {
    undecided_ += static_cast<std::uint32_t>(count);
    return;
  }
  const bool has_called = progress.calls != std::exchange(calls_seen_, progress.calls);
  if (undecided_ > 0) [[unlikely]]
    (has_called ? counts_.tool_calls : counts_.content) += std::exchange(undecided_, 0);
  const Region after = has_called ? Region::tool_call : progress.region;
  // From content, a marker counts for what it opens; from elsewhere for what it closes. So
  // `<think>` and `</think>` both count as reasoning.
  switch (before == Region::content ? after : before) {
    case Region::content: counts_.content += count; break;
    case Region::reasoning: counts_.reasoning += count; break;
    case Region::tool_call: counts_.tool_calls += count; break;
  }
}

void ChunkParser::finish(FinishReason reason, Events& out) {
  begin(Input::none);
  text_.clear();
  if (input_ == Input::both && has_vocabulary()) {
    utf8_.end(text_);
    const TextAligner::Sink sink = sink_to(out);
    if (!text_.empty()) aligner().put(text_, sink);
    aligner().end(sink);
  } else {
    utf8_.end(text_);
    // Bytes of an unfinished character become U+FFFD: nothing is lost.
    if (detokenizer_ && input_ == Input::ids) detokenizer_->end(text_);
    Events& target = parsed_or(out);
    // Special tokens before a late text were not the last ones.
    if (!text_.empty() && !(content_stop_ && content_stop_->is_stopped())) {
      end_special(target);
      if (labels_) labels_->read(text_.size());
      parser_->put_text(text_, token_count_, target);
    }
  }
  end_parser(reason, out);
  // No call came of them.
  counts_.content += std::exchange(undecided_, 0);
  is_finished_ = true;
  end_put(out, ended_itself(reason));
}

void ChunkParser::end_parser(FinishReason reason, Events& out) {
  Events& events = parsed_or(out);
  // The filter reports the reason itself.
  if (content_stop_) return parser_->finish(reason, token_count_, events);
  const bool is_cut = is_stopped() && parser_->region() == Region::tool_call;
  if (!is_cut || !ended_itself(reason)) {
    return parser_->finish(reason, token_count_, out);
  }
  // The stop string cut the call off: its missing parts are not assumed.
  Events cut;
  parser_->finish(FinishReason::length, token_count_, cut);
  // Copied one by one: only the finish event differs.
  for (Event event : cut.list()) {
    if (event.kind == EventKind::finish) event.finish_reason = FinishReason::stop;
    out.add(event, cut);
  }
  for (const Events::Audited& piece : cut.audit()) {
    out.add_audit(piece, piece.text);
  }
}

Held ChunkParser::held() const {
  Held held;
  if (!is_finished_) parser_->add_held(held);
  // In the order of the input: what the parser holds is older than what has not reached it.
  held.add(HeldReason::ids, special_);
  if (aligner_) held.add(HeldReason::ids, aligner_->held());
  held.add(HeldReason::character, utf8_.held());
  return held;
}

std::span<const TokenId> ChunkParser::ids_of(const TokenSpan& span) const {
  // A span may begin before the remembered ids, and a restored state may be forged.
  if (span.begin < ids_begin_ || span.end < span.begin || span.end - ids_begin_ > ids_.size())
    return {};
  return {ids_.data() + (span.begin - ids_begin_), static_cast<std::size_t>(span.end - span.begin)};
}

}  // namespace unspool
