// Parses output with a response template: regions, each of one field, between openers and closers.
//
// Inside a field it looks only for the field's closer. Outside, it looks for every opener, and for
// the closer of the field that has no opener. The earliest match wins, then the longest, then
// openers before closers, then the field's name.
//
//   {"thinking": {"open": "<think>", "close": "</think>"}, "content": {}}
//   <think>Hm.</think>Hi.      thinking from 0 to 18, then content, the field without an opener
//
// A plain field (content or reasoning as text) is emitted while it arrives. A call is emitted early
// if the template allows it (TemplateCall). Any other region is converted at its end.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parser/call_writer.h"
#include "parser/event_parser.h"
#include "template/response_template.h"
#include "template/template_call.h"
#include "text/archive.h"
#include "text/cloned_ptr.h"

namespace unspool {

class TemplateParser final : public EventParser, private CallSink {
 public:
  TemplateParser(std::shared_ptr<const Format> format, ParserOptions options);

  std::unique_ptr<EventParser> clone() const override {
    return std::make_unique<TemplateParser>(*this);
  }
  void expect_ids() override { by_id_ = true; }
  void put_prompt(std::string_view prompt) override;
  void put_text(std::string_view text, std::uint64_t token_end, Events& out) override;
  void put_token(Symbol symbol, std::uint64_t token_end, Events& out) override;
  void put_special(std::string_view text, std::uint64_t token_end, Events& out) override;
  bool reads_special() const override { return region() == Region::tool_call; }
  void finish(FinishReason reason, std::uint64_t token_end, Events& out) override;
  Region region() const override;
  Progress progress() const override { return {region(), calls_.count(), false}; }
  void add_held(Held& out) const override { add_held(out, calls_.is_over()); }
  void add_held_text(Held& out) const override { add_held(out, true); }
  std::string extra() const override;

  void visit(Archive& archive) override;

 private:
  void visit_watches(Archive& archive);
  void visit_call(Archive& archive);
  void visit_anchor(Archive& archive);

  // A search for one marker, begun where the last one matched.
  struct Watch {
    int field;
    bool opens;
    RegexSearch search;
  };
  using Channel = TemplateField::Channel;

  // CallSink
  bool begin_call(std::string_view name, std::string_view id) override;
  void put_arguments(std::string_view fragment) override;
  void end_call() override;
  const ToolSchemas* tools() const override { return tools_.get(); }

  bool is_prompt() const { return prompt_end_ == kNoPlace; }
  const TemplateField& field() const {
    return template_->fields[static_cast<std::size_t>(current_)];
  }
  // Whether the region's text is emitted as content or reasoning as it arrives.
  bool is_emitted_at_once() const {
    const Channel channel = field().channel;
    return field().is_plain() && (channel == Channel::content || channel == Channel::reasoning);
  }
  std::uint64_t end() const { return begin_ + text_.size(); }
  std::string_view slice(std::uint64_t from, std::uint64_t to) const {
    return std::string_view(text_).substr(from - begin_, to - from);
  }

  void add_held(Held& out, bool as_text) const;
  void watch();
  void process(bool is_end);
  const Watch* pick(std::uint64_t& sure) const;
  void commit(const Watch& watch);
  void release(std::uint64_t to);
  void route(std::string_view text);

  void open(int field, std::string_view marker);
  void begin_region();
  void close(std::string_view marker, bool at_end);
  void reset();

  void put_plain(std::string_view text);
  void put_call(std::string_view text);
  void end_call(CallStatus status);
  void read_call(std::string_view text);
  void close_announced_call(bool at_end);
  void close_call(std::string_view marker, bool at_end);
  void close_value(std::string_view marker);
  std::string arguments_of(const CallValue& call) const;
  void put_calls(const std::vector<CallValue>& calls);
  void put_call_text(Fate fate, std::string_view text);
  bool keeps_call_text() const { return audits_ || calls_.wants_text(); }
  void keep_extra(JsonValue value);
  void put_outside(std::string_view text, bool is_end);
  void emit_outside(std::string_view text);
  void end_outside();
  void emit_defaults();

  void emit(Channel channel, std::string_view text);
  void emit_added(Channel channel, std::string_view text);
  void emit_malformed(std::string_view text, const char* problem);
  void emit_raw(std::string_view marker, const char* problem);
  void audit(Fate fate, std::string_view text);

  std::shared_ptr<const Format> format_;
  std::shared_ptr<const ResponseTemplate> template_;
  std::shared_ptr<const ToolSchemas> tools_;
  bool by_id_;
  bool audits_;
  bool labels_;
  Events* out_ = nullptr;
  std::uint64_t token_end_ = 0;
  FinishReason reason_ = FinishReason::stop;

  // The text of the whole output from `begin_` on: patterns may look ahead, and what they have not
  // decided is read by all of them.
  std::string text_;              // from the held text on
  std::uint64_t begin_ = 0;       // position of its first byte
  std::uint64_t place_ = 0;       // text before it is decided
  std::uint64_t prompt_end_ = 0;  // text before it is never emitted
  char32_t before_ = 0;
  std::uint64_t empty_at_ = kNoPlace;  // an empty marker matched there: no other one may
  bool is_muted_ = false;              // the current text is the prompt's
  std::vector<Watch> watches_;
  bool is_watching_ = false;
  // The region:
  int current_ = -1;  // -1: none, and no field takes the text outside of all fields
  bool is_open_ = false;
  std::string opener_;
  Captures captures_;
  std::string body_;            // if the whole text is needed
  std::size_t muted_body_ = 0;  // how many of its bytes come from the prompt
  bool has_text_ = false;       // more than white space
  std::string space_;           // white space that may surround the value
  ClonedPtr<TemplateCall> call_;
  bool has_tried_ = false;   // it is known whether the call can be emitted early
  bool has_failed_ = false;  // the announced call cannot be parsed further
  const char* problem_ = "";
  // Text outside of all fields, if none takes it.
  std::string outside_;
  std::uint64_t outside_begin_ = 0;
  std::optional<RegexSearch> anchor_;
  std::string outside_space_;
  bool has_outside_ = false;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> tokens_;  // positions of tokens' texts
  // The message:
  std::vector<std::uint32_t> counts_;  // how many regions each field had
  JsonValue extra_ = JsonValue::object();
  CallWriter calls_;
};

}  // namespace unspool
