# Clean on gcc 12 and clang 14. Errors for us (presets), not for users.
function(umbel_warnings target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes
    -Wmissing-prototypes -Wcast-qual -Wcast-align -Wwrite-strings -Wformat=2
    -Wundef -Wvla -Wswitch-enum
    $<$<BOOL:${UMBEL_WERROR}>:-Werror>)
endfunction()
