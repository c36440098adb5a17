/* The C ABI of SWEEP's compiled kernels. The same functions are exported by libsweep_cpu and libsweep_cuda.
 *
 * Stateless: every array, workspace and history buffer belongs to the caller; calls may run at once from several
 * threads, streams and devices. docs/abi.md states the rules in words. */
#ifndef SWEEP_SWEEP_H
#define SWEEP_SWEEP_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define SWEEP_EXPORT __declspec(dllexport)
#else
#define SWEEP_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define SWEEP_ABI_VERSION 5
#define SWEEP_MAX_AXES 3
#define SWEEP_MAX_FIELDS 30 /* and coefficients, and rates */
#define SWEEP_MAX_TERMS 96  /* and moduli */
#define SWEEP_MAX_BUFFERS 32
#define SWEEP_NAME_BYTES 32
#define SWEEP_MAX_STEPS 1073741824 /* 2^30 */
#define SWEEP_MAX_ORDER 64
#define SWEEP_MAX_WEIGHTS (2 * SWEEP_MAX_ORDER + 1)

enum sweep_status {
  SWEEP_OK = 0,
  SWEEP_BAD_CALL = 1,    /* a struct, size or buffer that does not fit the problem */
  SWEEP_BAD_VALUE = 2,   /* a position outside the grid, a coefficient outside its range or not finite */
  SWEEP_UNSTABLE = 3,    /* a coefficient above sweep_problem.coefficient_limit */
  SWEEP_UNSUPPORTED = 4, /* an equation, dimension, dtype or role of a face that this library does not hold */
  SWEEP_CANCELLED = 5,   /* sweep_control.cancel was set */
  SWEEP_DEVICE = 6       /* the device is missing or failed */
};

/* Of what a history is made that is not kept: strips of fields along the PML, half a stencil wide, are the boundary
 * values by which the interior is run backward in time from its last state. */
enum sweep_boundary {
  SWEEP_NO_STRIPS = 0, /* it is kept, or recomputed from checkpoints */
  SWEEP_INTERIOR = 1,  /* of strips; there is none in the PML, whose gradient is zero */
  SWEEP_EXACT = 2      /* of strips; the PML is run forward from checkpoints of its own, between the same strips */
};

enum sweep_dtype {
  SWEEP_FLOAT32,
  SWEEP_FLOAT64,
  SWEEP_BFLOAT16, /* these of a history alone, */
  SWEEP_FLOAT16,  /* the last two as multiples of a scale of each 64 values */
  SWEEP_INT8
};

/* What lies beyond a face of the grid. */
enum sweep_face {
  SWEEP_ZERO,    /* zeros */
  SWEEP_SURFACE, /* a free surface: at the low face of the first axis, where pml_low is 0 */
  SWEEP_EXCHANGE /* cells of a neighbour, which fills them between stages; no library does that yet */
};

/* Numbers only, so that a compiler which bakes constants in (XLA) may copy the struct as bytes. */
typedef struct sweep_problem {
  uint32_t bytes; /* sizeof(sweep_problem) */
  int32_t dtype;
  int32_t ndim;
  int32_t order;                   /* spatial order, even, at most SWEEP_MAX_ORDER */
  int32_t shape[SWEEP_MAX_AXES];   /* cells along z, (y,) x; PML included */
  int32_t pml_low[SWEEP_MAX_AXES]; /* PML cells at the low and the high face of each axis */
  int32_t pml_high[SWEEP_MAX_AXES];
  int32_t shots;
  int32_t earths; /* 1, or shots: one earth each */
  int32_t steps;  /* nt: samples of wavelet and record, at most SWEEP_MAX_STEPS */
  int32_t first;  /* this call runs time indices [first, last) of 0..nt */
  int32_t last;
  int32_t chunk;           /* 0: keep nothing; otherwise steps of history held at once (>= nt - 1: all of them, unless
                              it is made of boundary strips) */
  int32_t source_traces;   /* of the wavelet */
  int32_t receiver_traces; /* and of the record */
  int32_t source_columns;  /* numbers of one sample, as many for each trace; a column may have points in many fields */
  int32_t receiver_columns;
  int32_t source_points[SWEEP_MAX_FIELDS]; /* points of one shot in each field, as many for each trace */
  int32_t receiver_points[SWEEP_MAX_FIELDS];
  int32_t face_low[SWEEP_MAX_AXES]; /* a sweep_face each */
  int32_t face_high[SWEEP_MAX_AXES];
  int32_t snapshot_every;               /* 0: none; otherwise every so many time indices, from 0 on */
  int32_t snapshot_fields;              /* bit n: field n */
  int32_t snapshot_low[SWEEP_MAX_AXES]; /* cells [low, high) of each axis */
  int32_t snapshot_high[SWEEP_MAX_AXES];
  int32_t boundary; /* a sweep_boundary */
  int32_t stored;   /* dtype, or a sweep_dtype of less precision: all steps of the history are kept in it, and `chunk`
                       says how many are packed at once */
  int32_t interval; /* 1; or of second order in time, every so many steps are kept and imaged, as so many */
  int32_t imaged_from; /* planes [0, imaged_from) of the first axis are not imaged: their images are not to be used.
                          A history that is kept or recomputed is without those that no image needs */
  double coefficient_limit; /* the largest stable value of the first coefficient. One that is larger says that the
                               square of dt over the largest stable dt is as much above 1 */
  double dt;                /* s; it and the spacing, m, are written in messages alone */
  double spacing[SWEEP_MAX_AXES];
  /* Of each axis, where n is half of the order: d[n] of the staggered difference, d1[n] of the central one, d2[n + 1]
   * with the middle one first, and mean[n]; differences times dt / dh. */
  double weights[SWEEP_MAX_AXES][SWEEP_MAX_WEIGHTS];
  char equation[SWEEP_NAME_BYTES];
} sweep_problem;

typedef struct sweep_buffer {
  void* data;
  int64_t bytes;
} sweep_buffer;

typedef struct sweep_control {
  int32_t cancel;   /* set by the caller: the run stops at the next step */
  int32_t progress; /* the last step that a shot has begun */
} sweep_control;

typedef struct sweep_context {
  uint32_t bytes;         /* sizeof(sweep_context) */
  int32_t threads;        /* CPU: threads to use at most, at least 1. CUDA: ignored */
  int32_t isa;            /* CPU: 0 the best of this processor, otherwise the index of sweep_isa() plus one */
  int32_t everywhere;     /* CPU: 1 also computes where no wave can be yet, which changes no bit; for timing */
  void* stream;           /* CUDA: the caller's stream, on the card that holds the flag */
  sweep_control* control; /* may be null */
  char* error;            /* receives a text that ends in 0; may be null */
  int64_t error_bytes;
} sweep_context;

enum sweep_operation { SWEEP_FORWARD, SWEEP_ADJOINT, SWEEP_BORN, SWEEP_OPERATIONS };

/* What a buffer is to an operation. */
enum sweep_role {
  SWEEP_NONE,   /* it takes none of that name */
  SWEEP_IN,     /* read */
  SWEEP_OUT,    /* written; by a call of a run in slices, a part of it */
  SWEEP_STATE,  /* handed on between the calls of a run in slices */
  SWEEP_SCRATCH /* of this call alone */
};

enum sweep_type {
  SWEEP_VALUES,  /* of sweep_problem.dtype */
  SWEEP_INDICES, /* int32 */
  SWEEP_BYTES    /* of a layout of the library's own */
};

/* One buffer that an operation is handed. */
typedef struct sweep_need {
  int64_t bytes; /* at least */
  int32_t role;
  int32_t type;
  char name[SWEEP_NAME_BYTES];
} sweep_need;

/* All of them, in their order: first what is read. */
typedef struct sweep_needs {
  uint32_t bytes; /* sizeof(sweep_needs) */
  int32_t count;
  sweep_need buffer[SWEEP_MAX_BUFFERS];
} sweep_needs;

/* What a rate takes of a field along an axis. */
enum sweep_operator {
  SWEEP_D,     /* staggered difference, half a cell further */
  SWEEP_D1,    /* central first difference */
  SWEEP_D2,    /* central second difference */
  SWEEP_MEAN,  /* mean of the nodes around half a cell further */
  SWEEP_SAME,  /* the field itself */
  SWEEP_CHANGE /* of second order, 2 (u[k] - u[k - 1]) */
};

/* What an equation's header says of itself; compared with the Python class when a library is chosen. */
typedef struct sweep_equation {
  uint32_t bytes; /* sizeof(sweep_equation) */
  int32_t fields;
  int32_t coefficients;
  int32_t levels;    /* time levels of each field that a step reads or writes */
  int32_t memories;  /* PML memory variables per axis */
  int32_t ndim_mask; /* bit n: n dimensions are compiled in */
  int32_t rates;     /* see sweep_core.equations.terms */
  int32_t terms;
  int32_t moduli;
  int32_t reversible;                /* 1: it can be run backward in time from boundary strips */
  int32_t stagger[SWEEP_MAX_FIELDS]; /* bits 0 to 3: half a cell along z, y, x, half a step */
  int32_t parity[SWEEP_MAX_FIELDS];
  int32_t source[SWEEP_MAX_FIELDS];    /* the coefficient of sources into a field, or -1 */
  int32_t order[SWEEP_MAX_FIELDS];     /* in time: 1, 2, or 0 of a field that lives within a step only */
  int32_t sign[SWEEP_MAX_FIELDS];      /* of a rate */
  int32_t of[SWEEP_MAX_FIELDS];        /* its operator, a sweep_operator */
  int32_t stretched[SWEEP_MAX_FIELDS]; /* by the PML, 0 or 1 */
  int32_t term[SWEEP_MAX_TERMS][3];    /* rate, axis, field */
  int32_t modulus[SWEEP_MAX_TERMS][3]; /* target, rate, coefficient or -1: one */
  char name[SWEEP_NAME_BYTES];
  char field[SWEEP_MAX_FIELDS][SWEEP_NAME_BYTES];
  char coefficient[SWEEP_MAX_FIELDS][SWEEP_NAME_BYTES];
} sweep_equation;

SWEEP_EXPORT int32_t sweep_abi_version(void);
/* SHA-256 over the native sources that the library was built from; see sweep_core.native.library.source_id. */
SWEEP_EXPORT const char* sweep_build_id(void);
/* sizeof of the structs above, in their order, then the offset of the last member of each; returns how many there
 * are and fills at most `count`. */
SWEEP_EXPORT int32_t sweep_layout(int64_t* values, int32_t count);
/* Text of build `index`: "avx512", ...; null past the end. The CPU library orders them from plain to best. */
SWEEP_EXPORT const char* sweep_isa(int32_t index);
/* The build that isa = 0 selects on this processor; -1 where no device can run the library. */
SWEEP_EXPORT int32_t sweep_isa_default(void);
/* The compiled equations by index, in 2 or 3 dimensions; SWEEP_UNSUPPORTED past the end. */
SWEEP_EXPORT int sweep_describe(int32_t index, int32_t ndim, sweep_equation* out);
/* The buffers that an operation on a problem is handed. */
SWEEP_EXPORT int sweep_buffers(const sweep_problem*, int32_t operation, sweep_needs* out, const sweep_context*);
/* Runs it on `count` buffers, in that order. */
SWEEP_EXPORT int sweep_run(const sweep_problem*, int32_t operation, const sweep_buffer*, int32_t count,
                           const sweep_context*);

#ifdef __cplusplus
}
#endif
#endif
