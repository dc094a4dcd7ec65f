// File: faults.h
// Failing system calls. A test binary with this file defines write, pwrite, fsync, link, rename and
// ftruncate itself, so that calls of the HDF5 library come here first.
#pragma once

#include <string>
#include <vector>

namespace attnscope::testing {

enum class Fault {
  none,
  kill,       // SIGKILL before the call
  torn_kill,  // half of a write, then SIGKILL
  no_space,   // ENOSPC from this call on (writes only; others pass)
  io_error,   // EIO, once
  // What a program must take as it comes:
  short_write,  // half of the bytes of one write
  interrupted,  // EINTR, once (writes and fsync)
};
inline constexpr Fault kAllFaults[] = {Fault::kill,     Fault::torn_kill,   Fault::no_space,
                                       Fault::io_error, Fault::short_write, Fault::interrupted};
const char* fault_name(Fault fault);  // "Kill", "TornKill" …
inline bool kills(Fault fault) {
  return fault == Fault::kill || fault == Fault::torn_kill;
}
// Whether a run that meets it must go on as if nothing had happened.
inline bool is_harmless(Fault fault) {
  return fault == Fault::short_write || fault == Fault::interrupted;
}

// The `at`-th call from now (counted from 1) meets `fault`. Calls are logged while armed.
void arm(Fault fault, int at);
void disarm();
int calls_made();  // since armed
bool fault_was_met();
// "fsync run.h5.tmp", "link run.h5", "fsync ." …: last path parts, writes left out.
std::vector<std::string> logged_calls();

}  // namespace attnscope::testing
