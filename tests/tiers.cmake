# Which tests are slow, which have threads. tools/test runs them accordingly.

# Seconds in release, the slowest first: these start first, so that no core is idle at
# the end, and make test-quick leaves them out.
set(UMBEL_SLOW_TESTS
  clearinghouse_bad-requests:20 clearinghouse_peers-hostile:20 clearinghouse_peers-liars:15
  clearinghouse_peers-kills:15 net_hostile:8 docs_kinds:7 cli_options_used:5 unit_kinds_ribbon:5 unit_kinds_fast:5
  large_memory:5 large_reads:5
  cli_threads_build:4 cli_plan_wire:4 docs_tour:4 clearinghouse_operate:4 large_huge:4 unit_analysis_unsized:3 unit_analysis_intervals:1
  clearinghouse_protocol:3 clearinghouse_dccifd:3 clearinghouse_erasure:3 docs_manpages:3 unit_analysis_admit_honest:3 unit_analysis_occupancy_bounds:3 unit_negatives_exact:3
  docs_main_job:3 docs_beyond:8 unit_kinds_generalized:3 unit_filter_error:2 unit_analysis_plan:2 cli_reproduce:2
  cli_threads_check:2 cli_bench:2 unit_filter_hash_groups:2 cli_help_examples:2
  contract_words:1 unit_mail_pool:3 unit_filter_model:1 stopset_truths:2)
# Slow only under a sanitizer.
set(UMBEL_SLOW_CHECKED_TESTS cli_file_truncated cli_file_flipped cli_plan_never
  unit_negatives_compare unit_kinds_shared unit_coding_coding cli_publish cli_escapes cli_file_forged)

# Tests with threads run once more under ThreadSanitizer, which builds only them.
set(UMBEL_THREAD_TESTS unit_kinds_shared unit_kinds_shared_counts unit_base_pipeline unit_store_store unit_serve_editions
  cli_threads_build cli_threads_check)

# Tests that compare many printed figures and pages run in release only. Under a
# sanitizer, unit tests run the same code.
set(UMBEL_FIGURE_TESTS docs_kinds docs_beyond docs_manpages cli_sizes cli_bench cli_plan_wire
  cli_reproduce)

# Sets the tier of a test. Call it in the directory that added the test.
function(umbel_tier name)
  set_tests_properties(${name} PROPERTIES TIMEOUT ${UMBEL_PATIENCE})
  set(slow ${UMBEL_SLOW_TESTS})
  list(FILTER slow INCLUDE REGEX "^${name}:")
  if(slow)
    string(REGEX REPLACE ".*:" "" cost ${slow})
    set_tests_properties(${name} PROPERTIES COST ${cost} LABELS slow)
  elseif(name IN_LIST UMBEL_SLOW_CHECKED_TESTS)
    set_tests_properties(${name} PROPERTIES COST 2)
  endif()
  if(name IN_LIST UMBEL_THREAD_TESTS)
    set_property(TEST ${name} APPEND PROPERTY LABELS threads)
  endif()
  if(name IN_LIST UMBEL_FIGURE_TESTS)
    set_property(TEST ${name} APPEND PROPERTY LABELS figures)
  endif()
endfunction()
