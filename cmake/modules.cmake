# The one table of modules: level, what each may use, which outside libraries it needs. Three things come from it:
#  - the targets,
#  - the include check (cmake/check_includes.cmake): a file that includes a module it may not use fails the build,
#  - the link check: each module linked whole with nothing but its declared closure (`pawl_link_checks`).
# A module may use modules of a lower level only; the configuration fails otherwise.
# `domain` is the folder src/io/domain: the seams that speak in terms of `model`.
define_property(TARGET PROPERTY PAWL_LEVEL)
define_property(TARGET PROPERTY PAWL_USES)

set(PAWL_MODULES "")
add_custom_target(pawl_link_checks ALL)

function(pawl_module name)
  cmake_parse_arguments(M "PURE" "LEVEL;DIR" "USES;EXTERNAL" ${ARGN})
  if(NOT M_DIR)
    set(M_DIR ${name})
  endif()
  set(dir ${CMAKE_SOURCE_DIR}/src/${M_DIR})
  file(GLOB sources CONFIGURE_DEPENDS ${dir}/*.cc ${dir}/*.h ${dir}/internal/*.cc ${dir}/internal/*.h)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  file(GLOB support CONFIGURE_DEPENDS ${dir}/testing/*.h)

  foreach(used ${M_USES})
    if(NOT TARGET pawl_${used})
      message(FATAL_ERROR "cmake/modules.cmake: ${name} uses ${used}, which is not declared above it")
    endif()
    get_target_property(used_level pawl_${used} PAWL_LEVEL)
    if(NOT used_level LESS M_LEVEL)
      message(FATAL_ERROR "cmake/modules.cmake: ${name} (level ${M_LEVEL}) may not use ${used} (level ${used_level}): links go strictly down")
    endif()
  endforeach()

  set(code ${sources})
  list(FILTER code INCLUDE REGEX "\\.cc$")
  if(code)
    add_library(pawl_${name} STATIC ${sources})
    set(visibility PUBLIC)
  else()
    add_library(pawl_${name} INTERFACE ${sources})
    set(visibility INTERFACE)
  endif()
  set_target_properties(pawl_${name} PROPERTIES PAWL_LEVEL ${M_LEVEL} PAWL_USES "${M_USES}")
  target_include_directories(pawl_${name} ${visibility} ${CMAKE_SOURCE_DIR}/src)
  foreach(used ${M_USES})
    target_link_libraries(pawl_${name} ${visibility} pawl_${used})
  endforeach()
  foreach(ext ${M_EXTERNAL})
    target_link_libraries(pawl_${name} ${visibility} ext_${ext})
  endforeach()

  # Include check: a stamp that depends on every file of the module, checked before anything of it compiles.
  set(stamp ${CMAKE_BINARY_DIR}/checks/${name}.includes)
  string(REPLACE ";" "," uses_text "${M_USES}")
  add_custom_command(OUTPUT ${stamp}
    COMMAND ${CMAKE_COMMAND} -DMODULE=${name} -DMODULE_DIR=${M_DIR} -DUSES=${uses_text} -DPURE=${M_PURE}
            -DSOURCE_DIR=${CMAKE_SOURCE_DIR}/src -DSTAMP=${stamp} -P ${CMAKE_SOURCE_DIR}/cmake/check_includes.cmake
    DEPENDS ${sources} ${tests} ${support} ${CMAKE_SOURCE_DIR}/cmake/check_includes.cmake ${CMAKE_SOURCE_DIR}/cmake/modules.cmake
    COMMENT "includes of ${name}" VERBATIM)
  add_custom_target(check_${name} DEPENDS ${stamp})
  add_dependencies(pawl_${name} check_${name})

  # Link check: the whole archive with only its declared closure.
  if(code)
    set(probe ${CMAKE_BINARY_DIR}/checks/link_${name}.cc)
    if(NOT EXISTS ${probe})
      file(WRITE ${probe} "int main() { return 0; }\n")
    endif()
    add_executable(link_${name} EXCLUDE_FROM_ALL ${probe})
    set_target_properties(link_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/checks)
    target_link_libraries(link_${name} PRIVATE "$<LINK_LIBRARY:WHOLE_ARCHIVE,pawl_${name}>")
    if(PAWL_TESTS)
      add_dependencies(pawl_link_checks link_${name})
    endif()
  endif()

  if(PAWL_TESTS AND tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE pawl_${name} GTest::gtest GTest::gmock GTest::gtest_main rapidcheck)
    foreach(used ${PAWL_TEST_USES_${name}})
      target_link_libraries(${name}_test PRIVATE pawl_${used})
    endforeach()
    target_compile_definitions(${name}_test PRIVATE PAWL_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    if(PAWL_UNIT_FILTER_${name})  # the others run under a long job
      gtest_discover_tests(${name}_test TEST_PREFIX "${name}." TEST_FILTER "${PAWL_UNIT_FILTER_${name}}" DISCOVERY_TIMEOUT 60 PROPERTIES LABELS unit)
    else()
      gtest_discover_tests(${name}_test TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60 PROPERTIES LABELS unit)
    endif()
  endif()
  set(PAWL_MODULES ${PAWL_MODULES} ${name} PARENT_SCOPE)
endfunction()

# Unit tests of effects need the real world of posix.
set(PAWL_TEST_USES_evidence playbook)
set(PAWL_TEST_USES_steward forge results)
foreach(module http registry telemetry exec store loadgen evals forge results runner steward service twin upstream)
  list(APPEND PAWL_TEST_USES_${module} posix)
endforeach()
# ── L0 ───────────────────────────────────────────────────────────────────────────────────────────────────────────────
pawl_module(base      LEVEL 0  EXTERNAL fmt crypto)
# ── L1: seams · numbers · text formats · framing; then the vocabulary, which has JSON forms; then the domain seams ───
pawl_module(io        LEVEL 10 USES base)
pawl_module(stats     LEVEL 10 USES base PURE)
pawl_module(codec     LEVEL 10 USES base EXTERNAL json yaml boost pcre2 PURE)
pawl_module(wire      LEVEL 10 USES base PURE)
pawl_module(model     LEVEL 15 USES base codec PURE)
pawl_module(images    LEVEL 16 USES base codec model PURE)
pawl_module(domain    LEVEL 18 DIR io/domain USES base io codec model images)
# ── side: the real io. Tests of effects use it; among programs only apps does. ───────────────────────────────────────
pawl_module(posix     LEVEL 19 USES base io EXTERNAL threads)
file(GLOB_RECURSE PAWL_DATA_FILES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/data/*)
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/embedded.cc
  COMMAND ${CMAKE_COMMAND} -DDATA_DIR=${CMAKE_SOURCE_DIR}/data -DOUTPUT=${CMAKE_BINARY_DIR}/embedded.cc -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
  DEPENDS ${PAWL_DATA_FILES} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake COMMENT "embedding data/" VERBATIM)
# ccache does not see what .incbin reads: this one file is compiled afresh whenever data/ changes.
add_library(pawl_embedded OBJECT ${CMAKE_BINARY_DIR}/embedded.cc)
set_target_properties(pawl_embedded PROPERTIES CXX_COMPILER_LAUNCHER "")
target_include_directories(pawl_embedded PRIVATE ${CMAKE_SOURCE_DIR}/src)
target_sources(pawl_posix PRIVATE $<TARGET_OBJECTS:pawl_embedded>)
# ── L2: pure: no I/O, no clock, no thread, no randomness ─────────────────────────────────────────────────────────────
pawl_module(plan      LEVEL 20 USES base codec model PURE)
# The test of the label policy goes through 270,336 events: unoptimised that takes 20 s.
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/plan/label_policy.cc ${CMAKE_SOURCE_DIR}/src/plan/label_policy_test.cc
  PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Debug>:-O1>)
pawl_module(changelog LEVEL 22 USES base codec model plan PURE)
pawl_module(compare   LEVEL 20 USES base codec model stats PURE)
pawl_module(control   LEVEL 20 USES base codec model PURE)
pawl_module(playbook  LEVEL 20 USES base codec PURE)
pawl_module(evidence  LEVEL 20 USES base codec PURE)
pawl_module(tokenizer LEVEL 20 USES base codec EXTERNAL pcre2 utf8proc sentencepiece crypto PURE)
pawl_module(workload  LEVEL 25 USES base codec model tokenizer EXTERNAL boost zlib PURE)
pawl_module(report    LEVEL 25 USES base codec model compare control PURE)
# Its property tests simulate whole loads: unoptimised that takes minutes.
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/engine_law/scheduler.cc ${CMAKE_SOURCE_DIR}/src/engine_law/fleet.cc
  ${CMAKE_SOURCE_DIR}/src/engine_law/simulation.cc ${CMAKE_SOURCE_DIR}/src/engine_law/prefix_cache.cc PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Debug>:-O1>)
pawl_module(engine_law LEVEL 20 USES base codec stats PURE)
pawl_module(measure   LEVEL 20 USES base codec model stats PURE)
pawl_module(backend   LEVEL 27 USES base codec measure workload PURE)
pawl_module(benchout  LEVEL 27 USES base codec model measure PURE)
# ── L3: effects, written against the seams of io ─────────────────────────────────────────────────────────────────────
pawl_module(http      LEVEL 30 USES base io EXTERNAL boost curl threads)
pawl_module(exec      LEVEL 30 USES base io codec model domain)
pawl_module(registry  LEVEL 32 USES base io codec model domain images http EXTERNAL archive)
pawl_module(store     LEVEL 30 USES base io codec model EXTERNAL sqlite pq)
pawl_module(loadgen   LEVEL 30 USES base io codec model stats wire measure workload backend EXTERNAL tls threads)
pawl_module(telemetry LEVEL 31 USES base io codec model http EXTERNAL threads)
# ── L4 ───────────────────────────────────────────────────────────────────────────────────────────────────────────────
pawl_module(evals     LEVEL 40 USES base io codec model measure workload backend loadgen http)
pawl_module(forge     LEVEL 40 USES base io codec model domain store EXTERNAL git2)
pawl_module(results   LEVEL 40 USES base io codec model domain http store EXTERNAL archive)
pawl_module(upstream  LEVEL 40 USES base io codec model plan playbook EXTERNAL python_grammar archive git2)
# ── L5 ───────────────────────────────────────────────────────────────────────────────────────────────────────────────
pawl_module(service   LEVEL 50 USES base io codec model compare report http store results EXTERNAL md4c zlib zstd crypto)
pawl_module(runner    LEVEL 50 USES base io codec model domain plan compare measure exec store loadgen telemetry evals http results)
pawl_module(steward   LEVEL 50 USES base io codec model domain plan changelog compare control playbook report store)
pawl_module(twin      LEVEL 50 USES base io stats codec model engine_law http)
# ── side: the simulated world of the upgrade loop, for tests and long jobs. No program that is shipped uses it. ───────
pawl_module(sim       LEVEL 60 USES base io codec model domain posix plan compare control report store steward)
set_target_properties(pawl_sim PROPERTIES EXCLUDE_FROM_ALL TRUE)
# Thousands of upgrades are played through in its tests: unoptimised that takes minutes.
foreach(module codec control compare report store steward sim)
  target_compile_options(pawl_${module} PRIVATE $<$<CONFIG:Debug>:-O1>)
endforeach()
add_executable(pawl-sim EXCLUDE_FROM_ALL src/sim/tool/main.cc)
target_link_libraries(pawl-sim PRIVATE pawl_sim)
# A simulated NVML for tests of power: loaded at run time, never linked.
if(PAWL_TESTS)
  add_library(fake_nvml MODULE tests/support/fake_nvml.cc)
  target_compile_definitions(telemetry_test PRIVATE FAKE_NVML="$<TARGET_FILE:fake_nvml>")
  add_dependencies(telemetry_test fake_nvml)
endif()
