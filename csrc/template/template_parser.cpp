// The rules are those of transformers, which parses a whole text. Here the text arrives in pieces,
// and the result must be the same. So a match counts only when no other can come before it:
//
//   each put   every watch (an opener or a closer) advances over the new text
//   pick       the best match that is decided and has no rival that may still match earlier
//   commit     text before it belongs to the open region; the marker opens or closes one
//   release    without a match: text that no rival can claim belongs to the open region
//
// Positions are those of the whole output. `text_` begins at `begin_`; text before `place_` is
// decided and may be dropped.
//
//   text_      ……… decided ………|……… may be part of a marker ………
//              begin_         place_                          end()
//
// States: no region (`current_` < 0 or not open), or one of a field. A field without an opener is
// the region between all others.
#include "template/template_parser.h"

#include <algorithm>
#include <tuple>

#include "text/code_point.h"

namespace unspool {

namespace {

// A template defines how its values are read: nothing is repaired.
ParserOptions unrepaired(ParserOptions options) {
  options.repair = false;
  return options;
}

}  // namespace

TemplateParser::TemplateParser(std::shared_ptr<const Format> format, ParserOptions options)
    : format_(std::move(format)),
      template_(format_->response_template()),
      tools_(std::move(options.tools)),
      by_id_(options.by_id),
      audits_(options.audit),
      labels_(options.label_paths != nullptr),
      counts_(template_->fields.size()),
      calls_(format_->program().call_ids, unrepaired(options)) {
  for (const auto& [name, value] : template_->defaults) {
    // The role is the API's, not the model's. Other defaults are emitted at the end, if still
    // missing.
    if (channel_of(name) == Channel::extra && name != "role") extra_.set(name, value);
  }
  reset();
  // The first reasoning field is opened, as if its opener had been read.
  if (!options.starts_in_reasoning.value_or(false)) return;
  for (std::size_t i = 0; i < template_->fields.size(); ++i) {
    if (template_->fields[i].channel != Channel::reasoning) continue;
    open(static_cast<int>(i), {});
    break;
  }
}

void TemplateParser::reset() {
  current_ = template_->implicit;
  is_open_ = false;
  captures_.clear();
  opener_.clear();
  body_.clear();
  muted_body_ = 0;
  call_.reset();
  has_failed_ = has_tried_ = false;
}

Region TemplateParser::region() const {
  if (current_ < 0 || !is_open_) return Region::content;
  switch (field().channel) {
    case Channel::reasoning: return Region::reasoning;
    case Channel::tool_calls: return Region::tool_call;
    case Channel::content:
    case Channel::extra: break;
  }
  return Region::content;
}

void TemplateParser::add_held(Held& out, bool as_text) const {
  // In the order of the input.
  out.add(HeldReason::space, outside_space_);
  out.add(HeldReason::header, outside_);
  out.add(HeldReason::space, space_);
  if (calls_.is_open() && as_text) {
    out.add(HeldReason::closing_tag, body_);
  } else if (calls_.is_open()) {
    if (!has_failed_) call_->add_held(out);
  } else {
    out.add(HeldReason::value, opener_);
    out.add(HeldReason::value, std::string_view(body_).substr(std::min(muted_body_, body_.size())));
  }
  out.add(HeldReason::marker, slice(std::max(place_, std::min(prompt_end_, end())), end()));
}

// The prompt's part of this message determines where the output begins; it is not emitted.
void TemplateParser::put_prompt(std::string_view prompt) {
  Events unused;
  out_ = &unused;
  // All text is the prompt's until this is set to its end.
  prompt_end_ = kNoPlace;
  // Earlier messages may contain openers that nothing closes.
  text_ += template_->message_part(prompt);
  process(false);
  prompt_end_ = end();
}

void TemplateParser::put_text(std::string_view text, std::uint64_t token_end, Events& out) {
  out_ = &out;
  token_end_ = token_end;
  text_ += text;
  process(false);
}

void TemplateParser::put_token(Symbol symbol, std::uint64_t token_end, Events& out) {
  const std::string_view literal = format_->symbol_text(symbol);
  // Text outside of all fields is malformed, but a special token there is markup.
  if (by_id_ && template_->implicit < 0) tokens_.emplace_back(end(), end() + literal.size());
  put_text(literal, token_end, out);
}

void TemplateParser::put_special(std::string_view text, std::uint64_t token_end, Events& out) {
  // Elsewhere a special token that is skipped is no text of a field.
  if (reads_special()) put_text(text, token_end, out);
}

void TemplateParser::finish(FinishReason reason, std::uint64_t token_end, Events& out) {
  out_ = &out;
  token_end_ = token_end;
  reason_ = reason;
  process(true);
  // No field takes the text outside of fields, so what is held of it is reported now.
  if (template_->implicit < 0) put_outside({}, true);
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (!template_->fields[i].is_optional && counts_[i] == 0)
      // transformers raises. Bad output of a model is no exception here.
      emit_malformed({}, "a field that the template requires is missing");
  }
  emit_defaults();
  out.add_finish(calls_.reason(reason), token_end_);
}

void TemplateParser::watch() {
  watches_.clear();
  const int implicit = template_->implicit;
  const bool is_inside = current_ >= 0 && current_ != implicit;
  // An empty match at one place counts once, or it would match there for ever.
  const bool forbids_empty = !is_inside && place_ == empty_at_;
  const auto add = [&](int index, bool opens, const std::shared_ptr<const Regex>& marker) {
    if (marker != nullptr)
      watches_.push_back({index, opens, RegexSearch(marker, place_, before_, forbids_empty)});
  };
  if (is_inside) {
    add(current_, false, field().close);
  } else {
    for (std::size_t i = 0; i < template_->fields.size(); ++i)
      add(static_cast<int>(i), true, template_->fields[i].open);
    if (implicit >= 0)
      add(implicit, false, template_->fields[static_cast<std::size_t>(implicit)].close);
  }
  is_watching_ = true;
}

void TemplateParser::process(bool is_end) {
  for (;;) {
    if (!is_watching_) watch();
    const TextWindow window{text_, begin_, is_end};
    for (Watch& watch : watches_) watch.search.advance(window);
    // Every undecided watch lowers it.
    std::uint64_t sure = end();
    const Watch* best = pick(sure);
    if (best == nullptr) {
      release(sure);
      break;
    }
    commit(*best);
  }
  if (is_end) close({}, true);
  // Decided text is dropped, in large pieces.
  const auto done = static_cast<std::size_t>(place_ - begin_);
  // Half at a time, so that a byte is moved once on average.
  if (done > text_.size() / 2) {
    // `\b` needs the letter before the place.
    before_ = last_code_point(std::string_view(text_).substr(0, done)).value;
    text_.erase(0, done);
    begin_ = place_;
  }
}

// The next marker that is certain; null if none is. Only text before `sure` is then certain not to
// be part of a marker.
const TemplateParser::Watch* TemplateParser::pick(std::uint64_t& sure) const {
  const auto key = [this](const Watch& watch) {
    const RegexMatch& match = watch.search.match();
    // The order of transformers: earliest, longest, openers before closers, then by name.
    return std::tuple(
        match.begin, ~(match.end - match.begin), !watch.opens,
        std::string_view(template_->fields[static_cast<std::size_t>(watch.field)].name));
  };
  const Watch* best = nullptr;
  for (const Watch& watch : watches_) {
    if (!watch.search.is_decided()) {
      sure = std::min(sure, watch.search.earliest());
    } else if (watch.search.match().begin != kNoPlace &&
               (best == nullptr || key(watch) < key(*best))) {
      best = &watch;
    }
  }
  if (best == nullptr) return nullptr;
  const bool is_rivalled = std::any_of(watches_.begin(), watches_.end(), [&](const Watch& watch) {
    return !watch.search.is_decided() && watch.search.earliest() <= best->search.match().begin;
  });
  // A rival that began earlier may still match, and would win.
  if (!is_rivalled) return best;
  sure = std::min(sure, best->search.match().begin);
  return nullptr;
}

void TemplateParser::commit(const Watch& watch) {
  const RegexMatch match = watch.search.match();
  const int index = watch.field;
  const bool opens = watch.opens;
  // Before the region changes: the text belongs to the open one.
  release(match.begin);
  const std::string_view marker = slice(match.begin, match.end);
  if (opens) {
    const auto& groups = template_->fields[static_cast<std::size_t>(index)].open->groups();
    Captures captures;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const std::uint64_t to = match.slots[2 * i + 1];
      // A group that did not take part has no value, which a transform reports.
      if (to != kNoPlace) captures.emplace_back(groups[i], slice(match.slots[2 * i], to));
    }
    close({}, false);
    captures_ = std::move(captures);
    open(index, marker);
  } else {
    close(marker, false);
  }
  const bool was_implicit = !opens && index == template_->implicit;
  if (marker.empty() && (opens || was_implicit)) empty_at_ = match.end;
  place_ = match.end;
  if (place_ > begin_) before_ = last_code_point(slice(begin_, place_)).value;
  is_watching_ = false;
}

// Text outside markers belongs to the open region.
void TemplateParser::release(std::uint64_t to) {
  while (place_ < to) {
    std::uint64_t cut = to;
    is_muted_ = place_ < prompt_end_;
    // A region may begin in the prompt and go on in the output; only the output's part is emitted.
    if (is_muted_) cut = std::min(cut, prompt_end_);
    if (current_ < 0 && !tokens_.empty()) {
      if (tokens_.front().second <= place_) {
        tokens_.erase(tokens_.begin());
        continue;
      }
      const bool is_token = tokens_.front().first <= place_;
      cut = std::min(cut, is_token ? tokens_.front().second : tokens_.front().first);
      if (is_token) {
        put_outside({}, true);
        audit(Fate::marker, slice(place_, cut));
        place_ = cut;
        continue;
      }
    }
    const std::string_view text = slice(place_, cut);
    place_ = cut;
    route(text);
  }
  is_muted_ = false;
}

void TemplateParser::route(std::string_view text) {
  if (current_ < 0) {
    if (!is_muted_) put_outside(text, false);
    return;
  }
  // The field without an opener begins with its first text.
  if (!is_open_) begin_region();
  if (is_emitted_at_once()) return put_plain(text);
  if (field().channel == Channel::tool_calls) return put_call(text);
  body_ += text;
  if (is_muted_) muted_body_ = body_.size();
}

void TemplateParser::open(int index, std::string_view marker) {
  if (template_->implicit < 0) put_outside({}, true);
  current_ = index;
  begin_region();
  // Markers of a plain region are certain at once. Those of other regions wait, since a region that
  // cannot be read is reported with its markers.
  if (is_emitted_at_once()) {
    audit(Fate::marker, marker);
  } else if (!is_prompt()) {
    opener_ = marker;
  }
  // The name may be in the opener: then the call is announced before its first argument.
  if (field().channel == Channel::tool_calls && !is_prompt()) put_call({});
}

void TemplateParser::begin_region() {
  is_open_ = true;
  has_text_ = false;
  space_.clear();
  const std::uint32_t count = ++counts_[static_cast<std::size_t>(current_)];
  if (is_prompt() || !field().join || !is_emitted_at_once()) return;
  const auto& defaults = template_->defaults;
  const auto it = std::find_if(defaults.begin(), defaults.end(),
                               [&](const auto& item) { return item.first == field().name; });
  const bool has_default = it != defaults.end() && it->second.is(JsonValue::Kind::string);
  if (count == 1 && has_default) emit_added(field().channel, it->second.text);
  // The text between two regions, which the model has not written.
  if (count > 1 || has_default) emit_added(field().channel, *field().join);
}

void TemplateParser::close(std::string_view marker, bool at_end) {
  if (current_ >= 0 && is_open_ && !is_prompt()) {
    if (is_emitted_at_once()) {
      audit(Fate::whitespace, space_);
      space_.clear();
      audit(Fate::marker, marker);
    } else if (field().channel == Channel::tool_calls) {
      close_call(marker, at_end);
    } else {
      close_value(marker);
    }
  } else {
    audit(Fate::marker, marker);
  }
  reset();
}

void TemplateParser::put_plain(std::string_view text) {
  // Then white space at the ends is part of the value.
  if (!field().content.strips) return emit(field().channel, text);
  if (!has_text_) {
    const std::size_t lead = leading_space(text);
    audit(Fate::whitespace, text.substr(0, lead));
    text.remove_prefix(lead);
    if (text.empty()) return;
    has_text_ = true;
  }
  const std::size_t trail = trailing_space(text);
  const std::string_view core = text.substr(0, text.size() - trail);
  if (!core.empty()) {
    emit(field().channel, space_);
    space_.clear();
    emit(field().channel, core);
  }
  // White space after text waits: if the region ends, it is not part of the value.
  if (!is_muted_) space_ += text.substr(core.size());
}

void TemplateParser::close_value(std::string_view marker) {
  auto value = read_region(field(), body_, captures_);
  const bool is_text = value && value->is(JsonValue::Kind::string);
  if (!value || (field().join && !is_text)) {
    return emit_raw(marker, "the region cannot be read as its field says");
  }
  audit(Fate::marker, opener_);
  // The audit has the text as written, the event its value.
  audit(field().channel == Channel::reasoning ? Fate::reasoning : Fate::content, body_);
  audit(Fate::marker, marker);
  if (field().channel == Channel::extra) return keep_extra(std::move(*value));
  std::string text;
  if (field().join && counts_[static_cast<std::size_t>(current_)] > 1) text = *field().join;
  if (is_text) {
    text += value->text;
  } else if (!value->is(JsonValue::Kind::null)) {
    append_json(*value, text);
  }
  emit_added(field().channel, text);
}

void TemplateParser::keep_extra(JsonValue value) {
  JsonValue* old = extra_.find(field().name);
  if (field().join) {
    // The first region has nothing before it to join with.
    if (old != nullptr && old->is(JsonValue::Kind::string))
      value.text = old->text + *field().join + value.text;
  } else if (field().repeats) {
    JsonValue list;
    list.kind = JsonValue::Kind::array;
    if (old != nullptr && old->is(JsonValue::Kind::array)) list = std::move(*old);
    list.items.push_back(std::move(value));
    value = std::move(list);
  }
  extra_.set(field().name, std::move(value));
}

std::string TemplateParser::extra() const {
  JsonValue kept = JsonValue::object();
  for (const auto& [name, value] : extra_.members) {
    const auto& defaults = template_->defaults;
    const bool is_default = std::any_of(defaults.begin(), defaults.end(),
                                        [&](const auto& item) { return item.first == name; });
    // transformers drops empty values, but not those that a default names.
    if (is_default || !value.is_empty()) kept.set(name, value);
  }
  std::string text;
  if (!kept.members.empty()) append_json(kept, text);
  return text;
}

// Fields that the output did not write get the template's defaults.
void TemplateParser::emit_defaults() {
  for (const auto& [name, value] : template_->defaults) {
    const auto it = std::find_if(template_->fields.begin(), template_->fields.end(),
                                 [&](const TemplateField& f) { return f.name == name; });
    const bool is_written = it != template_->fields.end() &&
                            counts_[static_cast<std::size_t>(it - template_->fields.begin())] > 0;
    if (is_written) continue;
    const Channel channel = channel_of(name);
    std::vector<CallValue> calls;
    if (channel == Channel::tool_calls && find_calls(value, calls)) put_calls(calls);
    const bool is_text = channel == Channel::content || channel == Channel::reasoning;
    if (is_text && value.is(JsonValue::Kind::string)) emit_added(channel, value.text);
  }
}

void TemplateParser::emit(Channel channel, std::string_view text) {
  if (is_muted_) return;
  emit_added(channel, text);
  audit(channel == Channel::reasoning ? Fate::reasoning : Fate::content, text);
}

// Text that the template adds, or that replaces what was written.
void TemplateParser::emit_added(Channel channel, std::string_view text) {
  if (is_prompt() || text.empty()) return;
  const bool is_reasoning = channel == Channel::reasoning;
  out_->add_text(is_reasoning ? EventKind::reasoning : EventKind::content, -1, text, token_end_);
}

void TemplateParser::audit(Fate fate, std::string_view text) {
  if (audits_ && !is_muted_ && !is_prompt()) out_->add_audit({.fate = fate}, text);
}

}  // namespace unspool
