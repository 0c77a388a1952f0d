#include "format/other_families.h"

#include <algorithm>
#include <utility>

#include "format/marker_adder.h"
#include "format/markers.h"
#include "text/archive.h"
#include "text/error.h"
#include "text/white_space.h"

namespace unspool {

namespace {

bool announces_calls(const MarkupRegion& markup) {
  return markup.names_tool || !markup.recipient.empty() || !markup.calls.empty();
}

// What it takes to read the family's calls. The reasoning and the content are the stream's own: of
// the reasoning only an empty block before a call counts, as markup.
Program only_calls(Program program) {
  program.turn.clear();
  if (program.has_reasoning_headers()) program.reasoning.reset();
  std::erase_if(program.markup, [](const MarkupRegion& markup) {
    return !markup.has_header() && !announces_calls(markup) && !markup.is_around_call;
  });
  return program;
}

// In the order of preference.
void join(std::vector<OtherFamilies::Index>& to, const std::vector<OtherFamilies::Index>& more) {
  to.insert(to.end(), more.begin(), more.end());
  std::sort(to.begin(), to.end());
  to.erase(std::unique(to.begin(), to.end()), to.end());
}

bool reads_alike(const Program& a, const Program& b) {
  return a.calls == b.calls && a.markup == b.markup && a.ends == b.ends &&
         a.call_ids == b.call_ids && a.section.open == b.section.open &&
         a.section.close == b.section.close;
}

// A header before a call may say nothing of it: an author's name.
std::vector<const MarkerTexts*> openers_of(const Program& program) {
  std::vector<const MarkerTexts*> openers = {&program.section.open};
  for (const CallRegion& call : program.calls) openers.push_back(&call.open);
  for (const MarkupRegion& markup : program.markup) {
    if (announces_calls(markup) || markup.has_header() || markup.is_around_call)
      openers.push_back(&markup.open);
  }
  if (program.reasoning) openers.push_back(&program.reasoning->open);
  return openers;
}

// Of two families that write calls alike, one may have reasoning that the other has not.
void add_reasoning(Program& program, const std::optional<ReasoningRegion>& more) {
  if (!more) return;
  if (!program.reasoning) {
    program.reasoning = more;
    return;
  }
  add_new(program.reasoning->open.texts, more->open.texts);
  add_new(program.reasoning->close.texts, more->close.texts);
}

std::vector<Program> families_of(const std::vector<Program>& programs) {
  std::vector<Program> families;
  for (const Program& each : programs) {
    Program program = only_calls(each);
    if (program.calls.empty()) continue;
    const auto alike = std::find_if(families.begin(), families.end(), [&](const Program& other) {
      return reads_alike(other, program);
    });
    if (alike == families.end()) {
      families.push_back(std::move(program));
    } else {
      add_reasoning(*alike, program.reasoning);
    }
  }
  return families;
}

}  // namespace

OtherFamilies::OtherFamilies(const std::vector<Program>& programs) {
  auto openers = std::make_shared<MarkerSet>();
  std::vector<std::string>& texts = opener_texts_;
  const std::vector<MarkerToken> no_tokens;
  const MarkerAdder adder(no_tokens, MarkerTrust::by_text, true);
  for (Program& program : families_of(programs)) {
    if (formats_.size() == kMost) throw FormatError("also: more than 255 families");
    const auto family = static_cast<Index>(formats_.size());
    for (const MarkerTexts* opener : openers_of(program)) {
      for (const std::string& text : opener->texts) {
        const auto at =
            static_cast<std::size_t>(std::find(texts.begin(), texts.end(), text) - texts.begin());
        if (at == texts.size()) {
          texts.push_back(text);
          families_at_.emplace_back();
          adder.add(*openers, text, opener->before, {}, at);
        }
        join(families_at_[at], {family});
      }
    }
    for (const CallRegion& call : program.calls) {
      if (call.start.place != BarePlace::start && call.start.place != BarePlace::line) continue;
      has_bare_calls_ = true;
      for (std::size_t byte = 0; byte < bare_.size(); ++byte) {
        const auto letter = static_cast<char>(byte);
        if (call.start.letters.find(letter) != std::string::npos ||
            (call.start.fenced && letter == '`'))
          join(bare_[byte], {family});
      }
    }
    add_new(ends_, program.ends);
    for (const std::string_view text : marker_texts(program))
      add_new(marker_texts_, std::string(text));
    fingerprint_ = fingerprint_of(program.name, fingerprint_ + program.fingerprint);
    // By text: the tokens of the stream's vocabulary are another family's.
    formats_.push_back(Format::compile(std::move(program), {}, MarkerTrust::by_text));
  }
  openers->compile();
  openers_ = std::move(openers);
  // What begins alike is read side by side: a longer opener, and an opener at the start of a line.
  for (std::size_t i = 0; i < opener_texts_.size(); ++i) {
    for (std::size_t j = 0; j < opener_texts_.size(); ++j) {
      if (opener_texts_[j].starts_with(opener_texts_[i])) join(families_at_[i], families_at_[j]);
    }
    auto& at_line = bare_[static_cast<unsigned char>(opener_texts_[i].front())];
    if (!at_line.empty()) join(at_line, families_at_[i]);
  }
}

// Any letter may begin a tool's name: which tools there are is known later.
OtherFamilies::OtherFamilies(const OtherFamilies& others, const Program& unmarked)
    : OtherFamilies(others) {
  for (UnmarkedWay& way : unmarked_ways(unmarked)) {
    if (formats_.size() == kMost) throw FormatError("also: more than 255 families");
    const auto family = static_cast<Index>(formats_.size());
    for (std::size_t byte = 0; byte < bare_.size(); ++byte) {
      if (!is_space(static_cast<char>(byte))) join(bare_[byte], {family});
    }
    has_bare_calls_ = true;
    fingerprint_ = fingerprint_of("unmarked", fingerprint_ + way.program.fingerprint);
    formats_.push_back(Format::compile(std::move(way.program), {}, MarkerTrust::by_text));
    unmarked_.push_back(std::move(way));
  }
}

bool OtherFamilies::is_part(std::string_view token, const std::vector<std::string>& texts) const {
  return !contains(ends_, token) &&
         std::any_of(texts.begin(), texts.end(), [&](const std::string& text) {
           return text.find(token) != std::string::npos;
         });
}

}  // namespace unspool
