// The documentation of the native classes and functions, at run time.
//
// Its texts are those of the stub, python/unspool/_core.pyi. A build writes them to docs.inc with
// make_docs.py. A text begins with the signature, if there is one, as `inspect` reads it.
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "bindings/python_types.h"

namespace unspool::bindings {

namespace {

struct Doc {
  const char* owner;   // a class; "" for a function
  const char* member;  // "" for the class itself
  const char* text;
};

constexpr Doc kDocs[] = {
#include "docs.inc"
};

const char* without_signature(const char* text) {
  const char* end = std::strstr(text, "\n--\n\n");
  return end == nullptr ? text : end + std::strlen("\n--\n\n");
}

char* copy_with(void* (*allocate)(std::size_t), const std::string& text) {
  auto* copy = static_cast<char*>(allocate(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

void document_class(const py::object& cls, const char* text) {
  cls.attr("__doc__") = without_signature(text);
  // CPython reads the signature here, and frees the text with the type.
#if PY_VERSION_HEX >= 0x030D0000
  constexpr auto kAllocate = &PyMem_Malloc;
#else
  constexpr auto kAllocate = &PyObject_Malloc;
#endif
  auto* type = reinterpret_cast<PyTypeObject*>(cls.ptr());
  if (type->tp_doc == nullptr) type->tp_doc = copy_with(kAllocate, text);
}

void document(py::handle member, const char* text) {
  if (PyCFunction_Check(member.ptr())) {
    // A function of pybind11, which frees the text. Its `__self__` is no instance.
    std::string bare = text;
    if (const auto mark = bare.find("($"); mark < bare.find('\n')) bare.erase(mark + 1, 1);
    auto* function = reinterpret_cast<PyCFunctionObject*>(member.ptr());
    if (function->m_ml->ml_doc == nullptr) function->m_ml->ml_doc = copy_with(&std::malloc, bare);
  } else if (Py_IS_TYPE(member.ptr(), &PyMethodDescr_Type)) {
    reinterpret_cast<PyMethodDescrObject*>(member.ptr())->d_method->ml_doc = text;
  } else if (Py_IS_TYPE(member.ptr(), &PyGetSetDescr_Type)) {
    reinterpret_cast<PyGetSetDescrObject*>(member.ptr())->d_getset->doc = text;
  } else {
    member.attr("__doc__") = text;  // a property
  }
}

}  // namespace

void add_docs(const py::module_& module) {
  for (const Doc& doc : kDocs) {
    const py::object owner = *doc.owner == '\0' ? py::object(module) : module.attr(doc.owner);
    if (*doc.member == '\0') {
      document_class(owner, doc.text);
    } else {
      const py::object member = owner.attr(doc.member);
      document(py::detail::get_function(member), doc.text);
    }
  }
}

}  // namespace unspool::bindings
