// Serializes the parser's state with an Archive.
#include <algorithm>
#include <vector>

#include "parser/parser.h"

namespace unspool {

namespace {

// A cursor points into one of the format's automata. A state has its number in this list, whose
// order therefore must not change within a version.
std::vector<const MarkerSet*> sets_of(const MarkerTable& table) {
  std::vector<const MarkerSet*> sets = {&table.content,
                                        &table.inside,
                                        &table.after_call,
                                        &table.inside_cut_reasoning,
                                        &table.after_cut_reasoning,
                                        &table.after_reasoning,
                                        &table.for_user,
                                        &table.reasoning,
                                        &table.rehearsal,
                                        &table.rehearsed_section,
                                        &table.malformed,
                                        &table.openers};
  for (const MarkerSet& header : table.headers) sets.push_back(&header);
  for (const CallMarkers& call : table.calls) sets.push_back(&call.header);
  return sets;
}

std::uint64_t fingerprint_of(const ValueSchema& value, std::uint64_t hash) {
  // Every step depends on the one before it, so that two schemas with swapped parts differ.
  hash = unspool::fingerprint_of({}, hash + value.types.bits());
  for (const ValueSchema& item : value.items) hash = fingerprint_of(item, hash + 1);
  for (const auto& [name, inner] : value.properties)
    hash = fingerprint_of(inner, unspool::fingerprint_of(name, hash));
  return hash;
}

std::uint64_t fingerprint_of(const ToolSchema& tool, std::uint64_t hash) {
  for (const auto& [name, value] : tool.parameters)
    hash = fingerprint_of(value, unspool::fingerprint_of(name, hash));
  for (const std::string& name : tool.required) hash = unspool::fingerprint_of(name, hash + 1);
  return hash;
}

// Whether an output can lead to this state.
bool is_sound(const Place& at, const Program& program) {
  const std::size_t calls = program.calls.size();
  const bool needs_call = at.is_in_call() || at.may_chain || at.closer_pending ||
                          at.state == Place::State::fence || at.state == Place::State::malformed ||
                          at.bare_candidate >= 0;
  const bool has_label = at.label_read != std::string::npos;
  // The parser asks for the last call's kind in places where none is open. Formats without calls
  // have no valid index.
  if (needs_call || calls > 0 ? at.call >= calls : at.call > 0) return false;
  if (at.bare_candidate < -1 || !std::cmp_less(at.bare_candidate, calls)) return false;
  if (at.state == Place::State::markup ? at.markup >= program.markup.size()
                                       : at.markup > program.markup.size()) {
    return false;
  }
  // Inline markup stands within text, or within reasoning, and returns to it.
  if (at.markup_return != Place::State::content && at.markup_return != Place::State::reasoning)
    return false;
  // The host may begin in reasoning that the format does not have. No marker is searched for there.
  const bool needs_reasoning = at.reasoning_is_cut || at.markup_return == Place::State::reasoning;
  if (needs_reasoning && !program.reasoning) return false;
  if (at.headed == Place::Headed::for_user && !program.has_texts_for_user()) return false;
  return !has_label || (program.reasoning && at.label_read < program.reasoning->label.size());
}

// Whether a marker can have been tried there. Elsewhere the parser would go back into a call that
// the trial's end has reset.
bool begins_trial(const Place& at, const Format& format) {
  return at.state == Place::State::content ||
         (at.state == Place::State::reasoning && format.program().reasoning) ||
         (at.state == Place::State::opening && !format.openers().empty());
}

}  // namespace

void know_tools(Archive& archive, const ToolSchemas* tools) {
  archive.known.clear();
  // Pointers to schemas are written as numbers of this list.
  archive.same("list of tools", tools != nullptr);
  if (tools == nullptr) return;
  std::uint64_t hash = 0;
  for (const auto& [name, schema] : tools->tools) {
    archive.known.push_back(&schema);
    hash = fingerprint_of(schema, unspool::fingerprint_of(name, hash));
  }
  archive.same("list of tools", hash);
}

void Place::visit(Archive& archive) {
  archive.choice(state, State::malformed);
  archive.choice(markup_return, State::malformed);
  archive.choice(boundary, Boundary::after_markup);
  archive.choice(line, Line::inside);
  archive.choice(headed, Headed::for_user);
  archive(call, markup, bare_candidate, last_byte, in_section, in_fence, closer_pending);
  archive(closer_is_calls, may_chain, has_slip, reasoning_is_empty, has_content);
  archive(reasoning_is_cut, reasoning_is_assumed, skip_is_reasonings, has_mention, quotes,
          label_read, space, idle);
  archive(stray_begin, stray_end);
  archive.expect(stray_begin <= idle.size() && stray_end <= idle.size() &&
                 (stray_end == 0 || stray_begin < stray_end));
  archive.view(skip);
}

void Trial::visit(Archive& archive) {
  archive(is_on_, number_);
  if (!is_on_) return;  // the next trial sets all of this
  archive.scratch(outcome, problem, replay_left, replays_quote, has_read_rest);
  if (!kept_) kept_ = std::make_unique<Kept>();
  archive(is_amid_line, tries_call, opens_section, is_word, quotes, is_quoted, follows_call,
          has_call_markup, rehearsed_bytes, call_at, closed_at, *kept_);
  archive.expect(closed_at <= kept_->input.size());
}

void Trial::Kept::visit(Archive& archive) {
  archive.scratch(closer);
  archive(start, marker, is_token, input, pieces, events);
  for (const Piece& piece : pieces) {
    archive.expect(piece.begin <= piece.end && piece.end <= input.size());
    archive.expect(piece.symbol == kText || piece.symbol == kSpecial ||
                   (piece.symbol >= kFirstTokenSymbol && piece.symbol < archive.symbol_end));
  }
}

void ParserCore::visit(Archive& archive) {
  archive.given(format_, program_, minds_quotes_);
  // Set at the beginning of every put.
  archive.scratch(events_, callers_, token_end, reads_turn_, tries);
  archive(options_.by_id, at, trial);
  archive.part(turn_, [this] { return std::make_unique<Turn>(Turn{.before = calls}); });
  archive.part(audit_trail_, [] { return std::make_unique<AuditTrail>(); });
  archive.expect(audit_trail_ || (!options_.audit && !turn_));
  archive.expect(is_sound(at, program_));
  archive.expect(!trial.is_on() || (is_sound(trial.start().place, program_) &&
                                    begins_trial(trial.start().place, *format_)));
  cursor.visit(archive, sets_of(markers()));
  archive(echo, calls, raw, specials);
  if (labels) archive(*labels);
}

void CallReader::visit(Archive& archive) {
  archive.given(parser_);
  archive.choice(begun_, Begun::call);
  archive(opener_, opener_bytes_, repairs_, has_closer_, malformed_is_empty_);
  archive(section_is_malformed_, closer_read_, name_, pending_text_, body_call_);
  if (!body_.is_begun()) seek_reasoning_closer();
  bool is_sought = sought_closer() != nullptr;
  archive(is_sought);
  if (archive.is_reading())
    is_sought ? seek_reasoning_closer() : void(reasoning_closer_.emplace<1>());
  std::visit([&](auto& closer) { archive(closer); }, reasoning_closer_);
  archive.expect(answer() == nullptr || (at_.state == State::body && core_.program().reasoning));
  archive.literal(problem_);
  const std::size_t openers = core_.format().openers().size();
  archive.expect(opener_ < std::max<std::size_t>(openers, 1));
  // After an opener, its calls are looked up without another check.
  archive.expect(at_.state != State::opening || opener_ < openers);
  bool has_body = body_.is_begun();
  archive(has_body);
  archive.expect(has_body || at_.state != State::body);
  if (archive.is_reading()) {
    body_.reset();
    if (has_body) {
      archive.expect(body_call_ < core_.program().calls.size());
      // The body of this kind of call, into which its state is read.
      build_body({}, false);
    }
  }
  if (!has_body) return;
  body_->visit(archive);
  if (archive.is_reading()) body_->link(core_.marks());
}

void Parser::visit(Archive& archive) {
  const ParserOptions& options = core_.options();
  archive.same("choice of options", kParser, options.audit, options.label_paths != nullptr,
               options.call_text, options.repair, options.calls_in_fences, options.limits.max_calls,
               options.limits.max_argument_bytes, options.limits.max_depth,
               options.limits.max_held_bytes);
  know_tools(archive, core_.tools());
  archive.given(echo_, content_, trial_, turn_);
  archive.symbol_end =
      static_cast<std::uint32_t>(kFirstTokenSymbol + core_.format().symbols().size());
  archive(core_, call_, header_);
}

}  // namespace unspool
