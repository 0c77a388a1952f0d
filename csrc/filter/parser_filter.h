// A parser that passes on another parser's events, changed as the request wants.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "parser/event_parser.h"
#include "text/archive.h"
#include "text/cloned_ptr.h"

namespace unspool {

// Each filter is a parser itself, so that filters can follow each other and a stream needs to know
// only one interface. A request without filters has none of their cost.
class ParserFilter : public EventParser {
 public:
  explicit ParserFilter(std::unique_ptr<EventParser> inner) : inner_(std::move(inner)) {}

  void write_paths_to(std::shared_ptr<CallPaths> paths) override {
    inner_->write_paths_to(std::move(paths));
  }
  void expect_ids() override { inner_->expect_ids(); }
  void put_prompt(std::string_view prompt) override { inner_->put_prompt(prompt); }
  void put_text(std::string_view text, std::uint64_t token_end, Events& out) override {
    inner_->put_text(text, token_end, events_);
    pass_all(token_end, out);
  }
  void put_token(Symbol symbol, std::uint64_t token_end, Events& out) override {
    inner_->put_token(symbol, token_end, events_);
    pass_all(token_end, out);
  }
  void put_special(std::string_view text, std::uint64_t token_end, Events& out) override {
    inner_->put_special(text, token_end, events_);
    pass_all(token_end, out);
  }
  bool reads_special() const override { return inner_->reads_special(); }
  void finish(FinishReason reason, std::uint64_t token_end, Events& out) override {
    inner_->finish(reason, token_end, events_);
    pass_all(token_end, out);
  }
  std::string_view held_at_rest() const override { return inner_->held_at_rest(); }
  void hear(PassedLine before, std::string_view text, Rest& rest) override {
    inner_->hear(before, text, rest);
  }
  void pass_over(const Passed& passed) override {
    events_.pass_over(passed.token_end);
    inner_->pass_over(passed);
  }
  Region region() const override { return inner_->region(); }
  Progress progress() const override { return inner_->progress(); }
  void add_held(Held& out) const override { inner_->add_held(out); }
  void add_held_text(Held& out) const override { inner_->add_held_text(out); }
  std::string extra() const override { return inner_->extra(); }

  void visit(Archive& archive) override {
    events_.visit_place(archive);
    inner_->visit(archive);
  }

 protected:
  /// Passes on the events of one put; `token_end`: number of tokens in the stream so far.
  virtual void pass(const Events& in, std::uint64_t token_end, Events& out) = 0;
  const EventParser& inner() const { return *inner_; }

 private:
  void pass_all(std::uint64_t token_end, Events& out) {
    pass(events_, token_end, out);
    events_.clear();
  }

  ClonedPtr<EventParser> inner_;
  Events events_;  // of one put
};

}  // namespace unspool
