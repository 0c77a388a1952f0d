// The threads of a search stand in a list, the first one with the highest priority. For each
// character the list is gone through in order: a thread that accepts it goes on, and all its
// alternatives are added in their order. Two rules make the result that of a backtracking engine,
// in linear time:
//
// - A step is entered once per position (`marks_`). A second thread there could only do what the
// first one does, with lower priority.
// - A thread that matches ends all threads behind it. Those before it go on: they may still win.
//
//   pattern a+?b|ab*, text "aab"
//   after "a"     threads: a+?b wants b, a+?b wants a, ab* wants b; "a" has matched and is kept
//   after "aa"    threads: a+?b wants b, a+?b wants a
//   after "aab"   "aab" has matched, and no thread is before it: decided
//
// A condition on what follows (`$`, `\b`, a look-ahead) may be unknown at the end of a piece. The
// thread then waits in the list, and the search goes no further until the next piece.
#include "text/regex.h"

#include <algorithm>

#include "text/code_point.h"

namespace unspool {

namespace {

using Op = RegexStep::Op;

bool consumes(Op op) { return op == Op::character || op == Op::any || op == Op::one_of; }

bool accepts(const RegexProgram& program, const RegexStep& step, char32_t value) {
  switch (step.op) {
    case Op::character: return step.x == value;
    case Op::any: return true;
    case Op::one_of: return program.classes[step.x].has(value);
    default: return false;
  }
}

Truth truth(bool is_true) { return is_true ? Truth::yes : Truth::no; }

// Whether nothing follows the rest.
Truth ends(const TextWindow& window) { return window.is_end ? Truth::yes : Truth::unknown; }

Truth is_boundary(const TextWindow& window, std::string_view rest, bool was_word) {
  // The next character decides, and has not arrived.
  if (rest.empty() && !window.is_end) return Truth::unknown;
  return truth(was_word != (!rest.empty() && is_word(first_code_point(rest).value)));
}

// Whether the text ends at `place`, or the step's condition on the next character holds.
Truth check_place(const RegexStep& step, const TextWindow& window, std::uint64_t place,
                  char32_t before) {
  const std::string_view rest = window.from(place);
  switch (step.op) {
    case Op::begin: return truth(place == 0);
    case Op::end: return rest.empty() ? ends(window) : Truth::no;
    // As in Python: before the last line break too.
    case Op::line_end: return rest.empty() || rest == "\n" ? ends(window) : Truth::no;
    case Op::boundary: {
      const Truth known = is_boundary(window, rest, place > 0 && is_word(before));
      if (known == Truth::unknown) return known;
      return truth((known == Truth::yes) != (step.x == 1));
    }
    default: return Truth::yes;
  }
}

}  // namespace

// ---- Look-ahead: positions with the same set of threads have the same result.

LookAhead::LookAhead(const RegexProgram& program, std::uint64_t begin, char32_t before)
    : program_(&program),
      next_(begin),
      first_(begin),
      before_(before),
      marks_(program.steps.size()) {}

LookAhead::Entry& LookAhead::root(std::uint64_t place) {
  const auto at = [this](std::uint64_t p) -> Entry& { return entries_[p - first_ + dropped_]; };
  std::uint64_t top = place;
  // A union-find tree: positions with one fate are joined, and the path is shortened on the way.
  while (at(top).place != top) top = at(top).place;
  while (at(place).place != top) {
    const std::uint64_t up = at(place).place;
    at(place).place = top;
    place = up;
  }
  return at(top);
}

Truth LookAhead::at(std::uint64_t place) {
  if (place - first_ + dropped_ >= entries_.size()) return Truth::unknown;
  return root(place).fate;
}

void LookAhead::drop_before(std::uint64_t place, char32_t before) {
  if (place <= first_) return;
  if (place > next_) {  // it waited for a result that is no longer needed
    *this = LookAhead(*program_, place, before);
    return;
  }
  const std::size_t count = std::min<std::size_t>(place - first_, entries_.size() - dropped_);
  dropped_ += count;
  first_ += count;
  // Half at a time, so that an entry is moved once on average.
  if (dropped_ > 256 && dropped_ > entries_.size() / 2) {
    entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(dropped_));
    dropped_ = 0;
  }
}

// Follows a run to the steps that read a character. Returns true if it has matched.
bool LookAhead::follow(Run& run, const TextWindow& window) {
  ++mark_;
  // Order does not matter here, as no thread of a look-ahead has priority: one match is enough.
  stack_.assign(run.steps.rbegin(), run.steps.rend());
  run.steps.clear();
  while (!stack_.empty()) {
    const std::uint32_t index = stack_.back();
    stack_.pop_back();
    if (marks_[index] == mark_) continue;
    marks_[index] = mark_;
    const RegexStep& step = program_->steps[index];
    if (step.op == Op::match) return true;
    if (consumes(step.op)) {
      run.steps.push_back(index);
    } else if (step.op == Op::split) {
      stack_.push_back(step.x);
      stack_.push_back(step.y);
    } else if (step.op == Op::jump) {
      stack_.push_back(step.x);
    } else if (check_place(step, window, next_, before_) == Truth::yes) {
      stack_.push_back(index + 1);
    }
  }
  return false;
}

// Keeps a run, or merges it with one that waits in the same steps.
void LookAhead::keep(Run run, std::vector<Run>& kept) {
  // Sorted, so that two runs in the same steps are equal.
  std::sort(run.steps.begin(), run.steps.end());
  const auto same = std::find_if(kept.begin(), kept.end(),
                                 [&](const Run& other) { return other.steps == run.steps; });
  if (same == kept.end()) {
    kept.push_back(std::move(run));
    return;
  }
  // The older run joins the newer one, because it is dropped first.
  const auto [older, newer] = std::minmax(same->place, run.place);
  root(older).place = newer;
  same->place = newer;
}

// Follows every run, and ends those whose result is decided.
void LookAhead::settle(const TextWindow& window) {
  while (entries_.size() - dropped_ <= next_ - first_)
    entries_.push_back({first_ + entries_.size() - dropped_});
  // A look-ahead may be asked about any position, so one run starts at each.
  runs_.push_back({{0}, next_});
  std::vector<Run> settled;
  for (Run& run : runs_) {
    if (run.place < first_) continue;  // no longer needed
    const bool is_match = follow(run, window);
    if (is_match || run.steps.empty()) {
      root(run.place).fate = truth(is_match);
    } else {
      keep(std::move(run), settled);
    }
  }
  runs_ = std::move(settled);
  is_settled_ = true;
}

void LookAhead::step(char32_t value) {
  for (Run& run : runs_) {
    std::size_t count = 0;
    for (const std::uint32_t index : run.steps) {
      if (accepts(*program_, program_->steps[index], value)) run.steps[count++] = index + 1;
    }
    run.steps.resize(count);
  }
  before_ = value;
  is_settled_ = false;
}

void LookAhead::advance(const TextWindow& window) {
  for (;;) {
    const std::string_view rest = window.from(next_);
    if (!is_settled_) {
      // A condition on the next characters waits for them: at most two, for $.
      const bool is_short = rest.empty() || (rest.size() == 1 && rest[0] == '\n');
      // Its conditions are decided at once below, so the text for them must be there.
      if (program_->peeks && is_short && !window.is_end) return;
      settle(window);
    }
    if (rest.empty()) break;
    const CodePoint point = first_code_point(rest);
    step(point.value);
    next_ += point.size;
  }
  if (!window.is_end) return;
  for (const Run& run : runs_) {
    // The text has ended, and these runs wanted more.
    if (run.place >= first_) root(run.place).fate = Truth::no;
  }
  runs_.clear();
}

// ---- Search.

RegexSearch::RegexSearch(std::shared_ptr<const Regex> regex, std::uint64_t begin, char32_t before,
                         bool forbids_empty)
    : regex_(std::move(regex)),
      program_(&regex_->program()),
      place_(begin),
      forbidden_(forbids_empty ? begin : kNoPlace),
      before_(before),
      slots_(program_->slot_count, kNoPlace),
      marks_(program_->steps.size()) {
  for (const RegexProgram& ahead : program_->looks) looks_.emplace_back(ahead, begin, before);
}

std::uint64_t RegexSearch::earliest() const {
  // Threads are seeded in order of position, so the first one began first.
  if (!now_.list.empty()) return now_.list.front().begin;
  return best_.begin != kNoPlace ? best_.begin : place_;
}

void RegexSearch::begin_list() {
  ++mark_;
  has_pending_ = false;
}

// Follows a thread to steps that wait for a character or a condition. Returns false if no thread of
// lower priority can win any more.
bool RegexSearch::add(std::uint32_t first, std::uint64_t begin, const TextWindow& window,
                      Threads& into) {
  constexpr std::uint32_t kRestore = 1U << 31;
  stack_.clear();
  // An explicit stack: a pattern's depth must not become the machine's.
  stack_.emplace_back(first, 0);
  while (!stack_.empty()) {
    const auto [index, value] = stack_.back();
    stack_.pop_back();
    if ((index & kRestore) != 0) {
      slots_[index & ~kRestore] = value;
      continue;
    }
    if (marks_[index] == mark_) continue;
    const RegexStep& step = program_->steps[index];
    if (step.op == Op::match) {
      // An empty match here has been reported before.
      if (begin == place_ && place_ == forbidden_) continue;
      best_.begin = begin;
      best_.end = place_;
      best_.slots = slots_;
      return false;
    }
    // After the match: a match that was forbidden must not bar the step for another thread.
    marks_[index] = mark_;
    switch (step.op) {
      case Op::split:
        // The first alternative is on top, so it is followed to its end before the second.
        stack_.emplace_back(step.y, 0);
        stack_.emplace_back(step.x, 0);
        break;
      case Op::jump: stack_.emplace_back(step.x, 0); break;
      case Op::save:
        // The slot is undone once everything behind this step is on the list.
        stack_.emplace_back(step.x | kRestore, slots_[step.x]);
        slots_[step.x] = place_;
        stack_.emplace_back(index + 1, 0);
        break;
      default: {
        const Truth known = consumes(step.op) ? Truth::unknown : check(step, window);
        if (known == Truth::yes) stack_.emplace_back(index + 1, 0);
        if (known != Truth::unknown) break;
        has_pending_ |= !consumes(step.op);
        into.list.push_back({index, begin});
        into.slots.insert(into.slots.end(), slots_.begin(), slots_.end());
      }
    }
  }
  return true;
}

Truth RegexSearch::check(const RegexStep& step, const TextWindow& window) {
  if (step.op != Op::look) return check_place(step, window, place_, before_);
  const Truth fate = looks_[step.x].at(place_);
  if (fate == Truth::unknown) return Truth::unknown;
  return (fate == Truth::yes) != (step.y == 1) ? Truth::yes : Truth::no;
}

// Retries conditions that had no result; returns false while there is none.
bool RegexSearch::resolve(const TextWindow& window) {
  for (const Thread& thread : now_.list) {
    const RegexStep& step = program_->steps[thread.step];
    if (!consumes(step.op) && check(step, window) == Truth::unknown) return false;
  }
  // Every thread is added again where it stands: some now have an answer and go on, in order.
  follow(0, window);
  return !has_pending_;
}

// Advances every thread in order to where it waits: past the text read, unless `size` is 0.
void RegexSearch::follow(std::size_t size, const TextWindow& window) {
  const std::size_t count = program_->slot_count;
  const CodePoint point = size == 0 ? CodePoint{0, 0} : first_code_point(window.from(place_));
  next_.clear();
  begin_list();
  if (size > 0) before_ = point.value;
  place_ += size;
  for (std::size_t i = 0; i < now_.list.size(); ++i) {
    const Thread thread = now_.list[i];
    const RegexStep& step = program_->steps[thread.step];
    if (size > 0 && !accepts(*program_, step, point.value)) continue;
    std::copy_n(now_.slots.begin() + static_cast<std::ptrdiff_t>(i * count), count, slots_.begin());
    // A match: the threads after it have lower priority.
    if (!add(thread.step + (size > 0 ? 1 : 0), thread.begin, window, next_)) break;
  }
  std::swap(now_, next_);
}

// Skips text that no match can begin with.
void RegexSearch::skip(const TextWindow& window) {
  if (!now_.list.empty() || is_seeded_ || !program_->has_first) return;
  const std::string_view rest = window.from(place_);
  std::size_t at = 0;
  while (at < rest.size() && !program_->first[static_cast<unsigned char>(rest[at])]) ++at;
  if (at == 0) return;
  before_ = last_code_point(rest.substr(0, at)).value;
  place_ += at;
}

void RegexSearch::advance(const TextWindow& window) {
  if (is_decided_) return;
  for (LookAhead& ahead : looks_) ahead.advance(window);
  for (;;) {
    // Once there is a match, no thread that begins later can win.
    if (best_.begin == kNoPlace) {
      skip(window);
      for (LookAhead& ahead : looks_) ahead.drop_before(place_, before_);
      if (!is_seeded_) {
        // A list that was just read keeps its marks: do not seed what an older thread holds.
        if (now_.list.empty()) begin_list();
        std::fill(slots_.begin(), slots_.end(), kNoPlace);
        add(0, place_, window, now_);
        is_seeded_ = true;
      }
    }
    if (has_pending_ && !resolve(window)) return;
    // No thread of higher priority is left.
    if (now_.list.empty() && best_.begin != kNoPlace) {
      is_decided_ = true;
      return;
    }
    const std::string_view rest = window.from(place_);
    if (rest.empty()) break;
    follow(first_code_point(rest).size, window);
    is_seeded_ = false;
    for (LookAhead& ahead : looks_) ahead.drop_before(place_, before_);
  }
  if (!window.is_end) return;
  now_.clear();
  is_decided_ = true;
}

// ---- The state of both.

void LookAhead::visit(Archive& archive) {
  archive.given(program_);
  archive.scratch(stack_, marks_, mark_);
  archive(next_, first_, dropped_, entries_, runs_, is_settled_, before_);
  if (!archive.is_reading()) return;
  archive.expect(dropped_ <= entries_.size());
  const std::size_t known = entries_.size() - dropped_;
  constexpr std::size_t kLongest = 4;  // bytes of a code point that was read later
  archive.expect(next_ >= first_ && next_ - first_ <= known + kLongest);
  for (std::size_t i = dropped_; i < entries_.size(); ++i) {  // each leads to itself or a newer one
    const std::uint64_t place = entries_[i].place - first_;
    archive.expect(place < known && place >= i - dropped_);
  }
  for (const Run& run : runs_) {
    archive.expect(run.place < first_ || run.place - first_ < known);
    for (const std::uint32_t step : run.steps) archive.expect(step < program_->steps.size());
  }
}

void RegexSearch::visit(Archive& archive) {
  archive.given(regex_, program_);
  archive.scratch(next_, slots_, stack_);
  archive(place_, forbidden_, before_, is_seeded_, has_pending_, is_decided_, now_, best_);
  // Of the marks, only those of the last list count.
  std::vector<std::uint32_t> marked;
  for (std::uint32_t i = 0; i < marks_.size(); ++i) {
    if (mark_ != 0 && marks_[i] == mark_) marked.push_back(i);
  }
  archive(marked);
  for (LookAhead& ahead : looks_) archive(ahead);
  if (!archive.is_reading()) return;
  mark_ = 1;
  marks_.assign(program_->steps.size(), 0);
  for (const std::uint32_t step : marked) {
    archive.expect(step < marks_.size());
    marks_[step] = mark_;
  }
  archive.expect(now_.slots.size() == now_.list.size() * program_->slot_count);
  for (const Thread& thread : now_.list) archive.expect(thread.step < program_->steps.size());
  archive.expect(best_.slots.size() == (best_.begin == kNoPlace ? 0 : program_->slot_count));
}

}  // namespace unspool
