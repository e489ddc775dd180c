# Clean on gcc 12 and clang 14. Errors for us (presets), not for users.
function(umbel_warnings target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes
    -Wmissing-prototypes -Wcast-qual -Wcast-align -Wwrite-strings -Wformat=2
    -Wundef -Wvla -Wswitch-enum
    $<$<BOOL:${UMBEL_WERROR}>:-Werror>)
endfunction()

# Under UMBEL_FUZZ, what no fuzzer links is compiled for its warnings alone. Called
# before the targets of a directory, or for one target.
function(umbel_warnings_alone)
  if(UMBEL_FUZZ AND ARGC)
    target_compile_options(${ARGV0} PRIVATE -O0 -g0 -fno-sanitize=all)
  elseif(UMBEL_FUZZ)
    set_property(DIRECTORY APPEND PROPERTY COMPILE_OPTIONS -O0 -g0 -fno-sanitize=all)
  endif()
endfunction()
