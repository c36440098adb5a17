# sweep_choose_jobs(result cores memory): set `result` to the number of compilers at once: one for each core, but at most
# one for each 4.8 GB of `memory` (in MiB), which the largest equations need.
function(sweep_choose_jobs result cores memory)
  math(EXPR jobs "${memory} * 1048576 / 4800000000")
  if(jobs GREATER cores)
    set(jobs ${cores})
  elseif(jobs LESS 1)
    set(jobs 1)
  endif()
  set(${result} ${jobs} PARENT_SCOPE)
endfunction()

# sweep_available_memory(result group): set `result` to the free memory of this machine in MiB, or the limit of its control
# group if that is less.
function(sweep_available_memory result group)
  cmake_host_system_information(RESULT memory QUERY AVAILABLE_PHYSICAL_MEMORY)
  if(EXISTS "${group}/memory.max")
    file(READ "${group}/memory.max" limit)
    if(limit MATCHES "^[0-9]+")
      math(EXPR limit "${CMAKE_MATCH_0} / 1048576")
      if(limit LESS memory)
        set(memory ${limit})
      endif()
    endif()
  endif()
  set(${result} ${memory} PARENT_SCOPE)
endfunction()
