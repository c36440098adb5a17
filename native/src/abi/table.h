// One equation in one build: what the library dispatches to.
#ifndef SWEEP_ABI_TABLE_H
#define SWEEP_ABI_TABLE_H

#include "sweep/sweep.h"

namespace sweep {

// What is compiled for a dtype, a number of dimensions and an order.
struct Calls {
  int (*buffers)(const sweep_problem&, int operation, sweep_needs*, const sweep_context*);
  int (*run)(const sweep_problem&, int operation, const sweep_buffer*, const sweep_context*);
};

struct Table {
  const char* name;
  void (*describe)(int ndim, sweep_equation*);
  int (*find)(const sweep_problem&, const sweep_context*, Calls*);  // those that fit a problem, once it is checked
};

// A build for one instruction set (CPU) or for a GPU, and whether this machine can run it.
struct Build {
  const char* name;
  bool (*runs)();
  const Table* (*tables)();  // ends with one without a name
};

// Provided by builds.h: plain to best.
extern const Build builds[];
extern const int build_count;

}  // namespace sweep
#endif
