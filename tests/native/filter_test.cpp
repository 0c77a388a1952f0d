// Each filter alone, after a parser whose events the test writes: unknown tools, parallel calls,
// white space at the ends of texts, stop strings in the content, calls of another family.
//
// Every case is read whole, in two pieces, and byte by byte through a snapshot: the answer is the
// same, what was emitted is not taken back, and every byte has its fate.
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "check.h"
#include "filter/call_filter.h"
#include "filter/content_stop.h"
#include "filter/other_calls.h"
#include "filter/text_trim.h"
#include "format/other_families.h"
#include "format/tool_schemas.h"
#include "formats_for_tests.h"
#include "text/error.h"

using namespace unspool;

// A parser of a small language, one byte after the other:
//
//   ordinary    content
//   (hm)        reasoning, with the brackets as markers
//   #           malformed text outside of calls
//   <f:{}>      a call of f; with a semicolon in place of `>` it is malformed
class Script final : public EventParser {
 public:
  enum class Reads : bool { all, content };
  explicit Script(Reads reads = Reads::all) : reads_(reads) {}

  std::unique_ptr<EventParser> clone() const override { return std::make_unique<Script>(*this); }
  void expect_ids() override {}
  void put_prompt(std::string_view) override {}
  void put_text(std::string_view text, std::uint64_t token_end, Events& out) override {
    for (const char& byte : text) put(std::string_view(&byte, 1), token_end, out);
  }
  void put_token(Symbol, std::uint64_t, Events&) override {}
  void put_special(std::string_view, std::uint64_t, Events&) override {}
  bool reads_special() const override { return false; }
  void finish(FinishReason reason, std::uint64_t token_end, Events& out) override {
    out.add_finish(reason, token_end);
  }
  Region region() const override { return region_; }
  Progress progress() const override { return {.region = region_}; }
  void add_held(Held& out) const override { out.add(HeldReason::name, name_); }

  void visit(Archive& archive) override {
    archive.choice(region_, Region::tool_call);
    archive(has_name_, name_, calls_);
  }

 private:
  void put(std::string_view byte, std::uint64_t token_end, Events& out) {
    if (reads_ == Reads::content) {
      out.add_text(EventKind::content, -1, byte, token_end);
      return out.add_audit({.fate = Fate::content}, byte);
    }
    if (region_ == Region::tool_call) return put_in_call(byte, token_end, out);
    if (byte == "<") {
      region_ = Region::tool_call;
      name_ = byte;
      return;
    }
    const bool is_marker = byte == "(" || byte == ")";
    if (is_marker) {
      region_ = byte == "(" ? Region::reasoning : Region::content;
      return out.add_audit({.fate = Fate::marker}, byte);
    }
    if (byte == "#") {
      out.add_text(EventKind::malformed, -1, byte, token_end, "it is a hash");
      return out.add_audit({.fate = Fate::malformed}, byte);
    }
    const bool is_content = region_ == Region::content;
    out.add_text(is_content ? EventKind::content : EventKind::reasoning, -1, byte, token_end);
    out.add_audit({.fate = is_content ? Fate::content : Fate::reasoning}, byte);
  }

  void put_in_call(std::string_view byte, std::uint64_t token_end, Events& out) {
    if (!has_name_) {
      name_ += byte;
      if (byte != ":") return;
      has_name_ = true;
      const std::string name = name_.substr(1, name_.size() - 2);
      out.add_begin(calls_, name, {}, token_end);
      out.add_text(EventKind::call_text, calls_, name_, token_end);
      return out.add_audit({.fate = Fate::marker, .call = calls_}, name_);
    }
    const bool ends = byte == ">" || byte == ";";
    if (!ends) out.add_text(EventKind::tool_call_arguments, calls_, byte, token_end);
    out.add_text(EventKind::call_text, calls_, byte, token_end);
    out.add_audit({.fate = ends ? Fate::marker : Fate::tool_call, .call = calls_}, byte);
    if (!ends) return;
    out.add_end(calls_++, byte == ">" ? CallStatus::complete : CallStatus::malformed, token_end);
    region_ = Region::content;
    has_name_ = false;
    name_.clear();
  }

  Reads reads_;
  Region region_ = Region::content;
  bool has_name_ = false;
  std::string name_;  // with `<`; held until the colon
  std::int32_t calls_ = 0;
};

// What a client gets: `c` content, `r` reasoning, `!` malformed, `-` dropped; calls by their
// number.
static void put_event(const Event& event, std::string_view text, const Events& events,
                      std::string& out) {
  const std::string number = std::to_string(event.index);
  const auto put = [&](const std::string& what, std::string_view more) {
    const std::string head = "|" + what + ":";
    const std::size_t last = out.rfind('|');
    // More of the same text, in another event.
    if (last == std::string::npos || !std::string_view(out).substr(last).starts_with(head))
      out += head;
    out += more;
  };
  switch (event.kind) {
    case EventKind::content: return put("c", text);
    case EventKind::reasoning: return put("r", text);
    case EventKind::malformed: return put("!", text);
    case EventKind::dropped: return put("-", text);
    case EventKind::tool_call_begin:
      out += "|" + number + " " + std::string(events.name(event));
      if (!text.empty()) out += " as " + std::string(text);
      return;
    case EventKind::tool_call_arguments: return put(number, text);
    case EventKind::tool_call_end:
      out += "|" + number + " " + std::string(to_string(event.status));
      return;
    case EventKind::finish: out += "|" + std::string(to_string(event.finish_reason)); return;
    case EventKind::call_text: return;  // for a CallFilter
  }
}

using Make = std::function<std::unique_ptr<EventParser>()>;

struct Answer {
  std::string events;
  std::string audited;  // every byte that has a fate
  std::string fates;    // a letter for each
};

static void add(Events& events, Answer& answer) {
  for (const Event& event : events.list())
    put_event(event, events.text(event), events, answer.events);
  for (const Events::Audited& piece : events.audit()) {
    answer.audited += piece.text;
    answer.fates.append(piece.text.size(), "crtmw!"[static_cast<int>(piece.fate)]);
  }
  events.clear();
}

static void put(EventParser& parser, std::string_view text, Answer& answer) {
  Events events;
  if (!text.empty()) parser.put_text(text, 1, events);
  add(events, answer);
}

static Answer finished(EventParser& parser, Answer answer) {
  Events events;
  parser.finish(FinishReason::stop, 1, events);
  add(events, answer);
  return answer;
}

static std::string saved(EventParser& parser) {
  std::string out;
  Archive archive(out);
  parser.visit(archive);
  return out;
}

// What states that were read refer to.
static std::vector<std::shared_ptr<const void>> texts;

static std::unique_ptr<EventParser> restored(const Make& make, std::string_view state) {
  std::unique_ptr<EventParser> parser = make();
  Archive archive(state);
  parser->visit(archive);
  archive.end();
  texts.push_back(archive.texts());
  return parser;
}

static void check_same(const Answer& answer, const Answer& expected) {
  CHECK_EQUAL(answer.events, expected.events);
  CHECK_EQUAL(answer.audited, expected.audited);
  CHECK_EQUAL(answer.fates, expected.fates);
}

static Answer read_every_way(const Make& make, std::string_view text) {
  std::unique_ptr<EventParser> parser = make();
  Answer whole;
  put(*parser, text, whole);
  whole = finished(*parser, whole);
  CHECK_EQUAL(whole.audited, text);  // every byte has a fate, in order
  for (std::size_t cut = 1; cut < text.size(); ++cut) {
    parser = make();
    Answer answer;
    put(*parser, text.substr(0, cut), answer);
    CHECK(whole.events.starts_with(answer.events));
    put(*parser, text.substr(cut), answer);
    check_same(finished(*parser, answer), whole);
  }
  parser = make();
  Answer answer;
  for (const char& byte : text) {
    put(*parser, std::string_view(&byte, 1), answer);
    CHECK(whole.events.starts_with(answer.events));
    const std::string state = saved(*parser);
    parser = restored(make, state);
    CHECK_EQUAL(saved(*parser), state);
    parser = parser->clone();
    CHECK_EQUAL(saved(*parser), state);
  }
  check_same(finished(*parser, answer), whole);
  return whole;
}

static void check(const Make& make, std::string_view text, std::string_view events,
                  std::string_view fates) {
  const Answer answer = read_every_way(make, text);
  CHECK_EQUAL(answer.events, events);
  CHECK_EQUAL(answer.fates, fates);
}

static std::shared_ptr<const ToolSchemas> tools() {
  return read_tools(R"([{"type": "function", "function": {"name": "f", "parameters": {
    "type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}}}])");
}

static Make call_filter(const std::function<void(ParserOptions&)>& change) {
  ParserOptions options;
  options.audit = options.call_text = true;
  options.id_seed = 1;
  options.tools = tools();
  change(options);
  return [options] {
    return std::make_unique<CallFilter>(std::make_unique<Script>(), CallIdStyle{}, options);
  };
}

static void unknown_tools() {
  const auto with = [](UnknownTools handling) {
    return call_filter([=](ParserOptions& options) { options.unknown_tools = handling; });
  };
  const std::string_view text = "a<f:1><g:2>b<f:3>";
  check(with(UnknownTools::forward), text,
        "|c:a|0 f|0:1|0 complete|1 g|1:2|1 complete|c:b|2 f|2:3|2 complete|tool_calls",
        "cmmmtmmmmtmcmmmtm");
  // Its text stays where it is, and the calls that are sent are numbered without it.
  check(with(UnknownTools::content), text,
        "|c:a|0 f|0:1|0 complete|c:<g:2>b|1 f|1:3|1 complete|tool_calls", "cmmmtmccccccmmmtm");
  check(with(UnknownTools::drop), text,
        "|c:a|0 f|0:1|0 complete|-:<g:2>|c:b|1 f|1:3|1 complete|tool_calls", "cmmmtm!!!!!cmmmtm");
  // An answer whose calls were all left out does not end with calls.
  check(with(UnknownTools::content), "<g:2>", "|c:<g:2>|stop", "ccccc");
  check(with(UnknownTools::drop), "<g:2;", "|-:<g:2;|stop", "!!!!!");
}

static void parallel_calls() {
  const Make one_call = call_filter([](ParserOptions& options) {
    options.parallel_calls = false;
    options.unknown_tools = UnknownTools::content;
  });
  check(one_call, "<f:1>a<f:2>", "|0 f|0:1|0 complete|c:a|-:<f:2>|tool_calls", "mmmtmc!!!!!");
  // A call of an unknown tool is not the request's one call.
  check(one_call, "<g:1><f:2><f:3>", "|c:<g:1>|0 f|0:2|0 complete|-:<f:3>|tool_calls",
        "cccccmmmtm!!!!!");
  check(one_call, "<f:1;<f:2>", "|0 f|0:1|0 malformed|-:<f:2>|stop", "mmmtm!!!!!");
  const Make two_calls = call_filter([](ParserOptions& options) { options.limits.max_calls = 2; });
  check(two_calls, "<f:1><g:2><f:3>a",
        "|0 f|0:1|0 complete|1 g|1:2|1 complete|!:<f:3>|c:a|tool_calls", "mmmtmmmmtm!!!!!c");
}

static void white_space_at_the_ends() {
  const auto trim = [](bool trims_content, std::size_t most) -> Make {
    return
        [=] { return std::make_unique<TextTrim>(std::make_unique<Script>(), trims_content, most); };
  };
  const Make both = trim(true, 100);
  check(both, " \n a b \n", "|c:a b|stop", "wwwcccww");
  check(both, "( hm )\n a( so \n)b ", "|r:hm|c:a|r:  so|c:b|stop", "mwrrrmwwcmrrrwwmcw");
  check(both, "(  )  ", "|stop", "mwwmww");
  // Clients see malformed text as content, so it may stand between two texts.
  check(both, " a #b # ", "|c:a |!:#|c:b |!:#|stop", "wcc!cc!w");
  check(trim(false, 100), "( hm ) a ", "|r:hm|c: a |stop", "mwrrwmccc");
  // Longer white space is text.
  check(trim(true, 2), "a  b   c  ", "|c:a  b   c|stop", "ccccccccww");
  check(trim(true, 2), "a   ", "|c:a   |stop", "cccc");
}

// What the parser emits, through the stop strings.
static Answer stopped(const std::vector<std::string>& stops, bool include, std::string_view text,
                      std::size_t size, std::string& stop_reason) {
  ContentStop stop(stops, include, true);
  Script parser;
  Answer answer;
  const auto pass = [&](bool ends) {
    Events out;
    stop.pass(out, ends);
    add(out, answer);
    // A copy with its state goes on.
    std::string state;
    Archive writer(state);
    stop.visit(writer);
    stop = ContentStop(stops, include, true);
    Archive reader{std::string_view(state)};
    stop.visit(reader);
    reader.end();
    texts.push_back(reader.texts());
  };
  for (std::size_t i = 0; i < text.size(); i += size) {
    parser.put_text(text.substr(i, size), 1, stop.input());
    pass(false);
  }
  parser.finish(stop.is_stopped() ? FinishReason::stop : FinishReason::length, 1, stop.input());
  pass(true);
  stop_reason = stop.stop_reason();
  return answer;
}

static void stop_strings_in_the_content() {
  struct Case {
    bool include;
    std::string_view text, events, stop_reason;
  };
  const Case cases[] = {
      {false, "abSTOPc", "|c:ab|stop", "STOP"},
      {true, "abSTOPc", "|c:abSTOP|stop", "STOP"},
      {false, "abSTO", "|c:abSTO|length", ""},
      // It matches neither the reasoning nor a call, nor across one of them.
      {false, "(STOP)a", "|r:STOP|c:a|length", ""},
      {false, "ST(x)OP", "|c:ST|r:x|c:OP|length", ""},
      {false, "a<STOP:STOP>b", "|c:a|0 STOP|0:STOP|0 complete|c:b|length", ""},
      // Of what follows nothing passes; a call before it decides the reason.
      {false, "<f:1>xSTOP<f:2>", "|0 f|0:1|0 complete|c:x|tool_calls", "STOP"},
      {false, "aSSTOP", "|c:aS|stop", "STOP"},
  };
  for (const Case& each : cases) {
    for (std::size_t size = 1; size <= each.text.size(); ++size) {
      std::string stop_reason;
      const Answer answer = stopped({"STOP", "never"}, each.include, each.text, size, stop_reason);
      CHECK_EQUAL(answer.events, each.events);
      CHECK_EQUAL(stop_reason, each.stop_reason);
    }
  }
}

// Content, in which other families write calls: in tags, and as one element.
static Make other_calls(const std::function<void(ParserOptions&)>& change) {
  static const auto own = [] {
    Program program;
    program.name = "own";
    const auto others =
        std::make_shared<const OtherFamilies>(std::vector<Program>{test::tagged(), test::bare()});
    return Format::compile(program, {}, MarkerTrust::by_id, others);
  }();
  ParserOptions options;
  options.audit = options.call_text = true;
  options.id_seed = 1;
  options.tools = tools();
  change(options);
  return [options] {
    auto content = std::make_unique<Script>(Script::Reads::content);
    return std::make_unique<OtherCalls>(std::move(content), own, options);
  };
}

// The pattern with `instead` in place of each such letter.
static std::string filled(std::string_view pattern, std::string_view letter,
                          std::string_view instead) {
  std::string out;
  for (const char& each : pattern)
    out += std::string_view(&each, 1) == letter ? instead : std::string_view(&each, 1);
  return out;
}

static void calls_of_other_families() {
  const Make read = other_calls([](ParserOptions&) {});
  const std::string_view call = "<function=f><parameter=a>x</parameter></function>";
  const std::string call_fates = std::string(10, 'm') + std::string(28, 't') + std::string(11, 'm');
  // `@` stands for a whole call, `0` and `1` for the events of one, `*` for the fates of its text.
  struct Case {
    std::string_view text, events, fates;
  };
  const auto event = [](int number) {
    const std::string n = std::to_string(number);
    return "|" + n + " f as tagged|" + n + R"(:{"a": "x"}|)" + n + " complete";
  };
  const Case cases[] = {
      {"a @ b", "|c:a 0|c: b|stop", "cc@cc"},
      // White space between two calls is no content.
      {"@\n@", "01|stop", "@w@"},
      {"@a@", "0|c:a1|stop", "@c@"},
      {"a <function=f> is a tag.", "|c:a <function=f> is a tag.|stop", "cccccccccccccccccccccccc"},
      // Another call may begin in what was no call.
      {"<function=f@", "|c:<function=f0|stop", "ccccccccccc@"},
      {"<<tool_call><function=f><@", "|c:<<tool_call><function=f><0|stop",
       "ccccccccccccccccccccccccc@"},
      // The tool is not offered, lacks what it requires, or is not whole.
      {"<function=g></function>", "|c:<function=g></function>|stop", "ccccccccccccccccccccccc"},
      {"<function=f></function>", "|c:<function=f></function>|stop", "ccccccccccccccccccccccc"},
      {"<function=f><paramet", "|c:<function=f><paramet|stop", "cccccccccccccccccccc"},
      // Prose after a quoted call shows that it is an example.
      {"`@` is text", "|c:`@` is text|stop", "c*ccccccccc"},
      {"```\n@\n```", "|c:```\n0|c:\n```|stop", "cccc@cccc"},
      // Prose before it shows nothing.
      {"So:\n```\n@\n```", "|c:So:\n```\n0|c:\n```|stop", "cccccccc@cccc"},
  };
  for (const Case& each : cases) {
    std::string events = filled(each.events, "@", call);
    events = filled(filled(events, "0", event(0)), "1", event(1));
    const std::string fates = filled(each.fates, "@", call_fates);
    check(read, filled(each.text, "@", call), events,
          filled(fates, "*", std::string(call.size(), 'c')));
  }
}

static std::string held(EventParser& parser) {
  Held held;
  parser.add_held(held);
  return held.text();
}

// Of a text that has no call in it, what was emitted and what is held are all that was read.
static void held_text_follows_what_was_emitted() {
  const std::string_view text = "a <function=f> b <tool_call> <function=f><parameter=a>: tags.";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    const std::unique_ptr<EventParser> parser = other_calls([](ParserOptions&) {})();
    Answer answer;
    for (std::size_t i = 0; i < text.size(); i += size) {
      put(*parser, text.substr(i, size), answer);
      const std::string read = answer.events.empty() ? "|c:" : answer.events;
      CHECK_EQUAL(read + held(*parser), "|c:" + std::string(text.substr(0, i + size)));
    }
  }
}

// No more is held than the limit and a marker, also where openers follow each other.
static void what_is_held_is_bounded() {
  const auto limit = [](ParserOptions& options) { options.limits.max_held_bytes = 40; };
  std::string text = "<function=f><parameter=a>";
  for (int i = 0; i < 100; ++i) text += "<function=f><parameter=a>x";
  const Make read = other_calls(limit);
  const std::unique_ptr<EventParser> parser = read();
  Answer answer;
  for (const char& byte : text) {
    put(*parser, std::string_view(&byte, 1), answer);
    CHECK_AT_MOST(held(*parser).size(), std::size_t{60});
  }
  check_same(finished(*parser, answer), read_every_way(read, text));
}

// A state with any byte changed is refused, or that of a stream that can be read on.
static void a_forged_state_is_refused_or_sound() {
  const Make read = other_calls([](ParserOptions&) {});
  const std::unique_ptr<EventParser> parser = read();
  Answer answer;
  put(*parser, "ab <function=f><function=f><para", answer);
  const std::string state = saved(*parser);
  int refused = 0;
  for (std::size_t i = 0; i < state.size(); ++i) {
    for (const int change : {1, 2, 0x40, 0x80, 0xFF}) {
      std::string forged = state;
      forged[i] = static_cast<char>(forged[i] ^ change);
      try {
        const std::unique_ptr<EventParser> other = restored(read, forged);
        Answer more;
        put(*other, "meter=a>x</parameter></function> b <function=f", more);
        finished(*other, more);
      } catch (const ArgumentError&) {
        ++refused;
      }
    }
  }
  CHECK(refused > 0);
}

int main() {
  unknown_tools();
  parallel_calls();
  white_space_at_the_ends();
  stop_strings_in_the_content();
  calls_of_other_families();
  held_text_follows_what_was_emitted();
  what_is_held_is_bounded();
  a_forged_state_is_refused_or_sound();
  return TEST_RESULT();
}
