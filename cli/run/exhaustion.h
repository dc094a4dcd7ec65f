// File: exhaustion.h
// What happens when memory runs out inside a library that cannot say so.
#pragma once

namespace attnscope::run {

// HDF5 and libgomp call exit() or crash when they get no memory. Where memory is exhausted indeed,
// the process then ends with the message and the exit code of any other lack of memory.
void report_exhaustion();

}  // namespace attnscope::run
