// The body that a call's reader reads, or none.
//
// Without a body all questions still have an answer: nothing is read, nothing is held, nothing can
// be completed. So no order of inputs can reach an object that does not exist.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "body/body.h"
#include "text/archive.h"
#include "text/cloned_ptr.h"

namespace unspool {

/// Reads nothing.
class NoBody final : public Body {
 public:
  std::unique_ptr<Body> clone() const override { return std::make_unique<NoBody>(); }
  void link(CallMarks*) override {}
  BodyResult put(std::string_view, CallSink&) override { return {.status = ScanStatus::failed}; }
  BodyResult put_token(Symbol, std::string_view, CallSink&) override {
    return {.status = ScanStatus::failed};
  }
  void end(CallSink&) override {}
  bool may_end_here(CallSink&) override { return false; }
  const char* problem() const override { return "no call is open"; }
  void visit(Archive&) override {}
};

/// Drops what a body writes.
class NoSink final : public CallSink {
 public:
  explicit NoSink(const ToolSchemas* tools) : tools_(tools) {}
  bool begin_call(std::string_view, std::string_view) override { return true; }
  void put_arguments(std::string_view) override {}
  void end_call() override {}
  const ToolSchemas* tools() const override { return tools_; }

 private:
  const ToolSchemas* tools_;
};

class CallBody {
 public:
  void begin(std::unique_ptr<Body> body) { body_ = std::move(body); }
  void reset() { body_.reset(); }
  bool is_begun() const { return body_ != nullptr; }

  // Never null.
  Body* operator->() { return body_ ? body_.get() : &none(); }
  const Body* operator->() const { return body_ ? body_.get() : &none(); }

 private:
  // It has no state, so all streams share it.
  static Body& none() {
    static NoBody body;
    return body;
  }

  ClonedPtr<Body> body_;
};

}  // namespace unspool
