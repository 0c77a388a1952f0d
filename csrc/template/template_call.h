// A call of a response template, emitted while its region is still open.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "body/body.h"
#include "template/template_value.h"
#include "text/archive.h"

namespace unspool {

class TemplateCall {
 public:
  virtual ~TemplateCall() = default;

  virtual std::unique_ptr<TemplateCall> clone() const = 0;

  /// Reads text of the region. False if it cannot be parsed; `unread` is then the unparsed end of
  /// all text so far.
  virtual bool put(std::string_view text, CallSink& sink, std::string& unread) = 0;

  /// Ends the region. False: the call is not complete.
  virtual bool end(CallSink& sink) = 0;

  /// Whether the call is complete if the output ends here, without a closer.
  virtual bool is_whole() const = 0;

  /// The output ends inside the call: emits the certain part of the held text.
  virtual void cut(CallSink& sink) = 0;

  /// The end of the input that has not been emitted.
  virtual std::string_view held() const { return {}; }

  /// Appends everything read and not emitted, once the call is announced.
  virtual void add_held(Held& out) const { out.add(HeldReason::value, held()); }

  /// Whether the call's name has been emitted. If not, the region's whole value is read at its end.
  bool is_announced() const { return is_announced_; }

  /// The state; the reader must have been created in the same way.
  virtual void visit(Archive& archive) { archive(is_announced_); }

 protected:
  bool is_announced_ = false;
};

/// Null if nothing can be emitted before the region ends.
std::unique_ptr<TemplateCall> make_template_call(const TemplateField& field,
                                                 const Captures& captures,
                                                 const ToolSchemas* tools);

}  // namespace unspool
