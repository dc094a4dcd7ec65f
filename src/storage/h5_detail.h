// File: h5_detail.h
// What the h5_*.cpp files share: the library's header, quiet errors, types.
#pragma once

#include <hdf5.h>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>

#include "attnscope/storage/h5.h"

namespace attnscope::h5 {

static_assert(std::is_same_v<Id, hid_t>);

// Called before every use of the library: no printing in this thread, no plugins, no handler at
// exit (a file that could not be written would crash there).
void prepare_library();

// Turns the library's error stack into an Error. In a file being written it also abandons the
// file, so that no destructor on the way up touches it.
[[noreturn]] void throw_h5(Context& context, const char* code, const std::string& object,
                           const std::string& what);

// The library's description nearest to the cause of the last failure; clears its error stack.
std::string take_error();

// The file's content is refused before the library gets to read it.
[[noreturn]] void refuse(const Context& context, const std::string& object, const std::string& what,
                         const std::string& expected, const std::string& got);

// The property list of objects made here: no times, attributes inside the object header.
void set_object_properties(Id creation);

Handle own_space(Id id);
Handle own_type(Id id);
Handle own_plist(Id id);
Handle own_attribute(Id id);

Handle make_type(const Type& type);

}  // namespace attnscope::h5
