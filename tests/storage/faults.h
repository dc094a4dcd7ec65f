// File: faults.h
// Failing system calls. This test binary defines write, pwrite, fsync, link, rename, unlink and
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
};

// The `at`-th call from now (counted from 1) meets `fault`. Calls are logged while armed.
void arm(Fault fault, int at);
void disarm();
bool fault_was_met();
// "fsync run.h5.tmp", "link run.h5", "fsync ." …: last path parts, writes left out.
std::vector<std::string> logged_calls();

}  // namespace attnscope::testing
