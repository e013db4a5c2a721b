# Libraries that are loaded when they are first called (apps/delayed/delayed.h), for release builds on x86-64.
set(delayed_default OFF)
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" AND CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT PAWL_SANITIZE AND NOT PAWL_FUZZ)
  set(delayed_default ON)
endif()
option(PAWL_DELAY_LIBRARIES "Load libraries when they are first called, not when the program starts" ${delayed_default})

if(PAWL_DELAY_LIBRARIES)
  enable_language(ASM)
endif()

# pawl_delay_libraries(PROGRAM OBJECTS ARCHIVES TARGET... LIBRARIES PATH...): PROGRAM is made of the object library OBJECTS and of ARCHIVES; calls into
# LIBRARIES go through stubs.
function(pawl_delay_libraries program objects)
  cmake_parse_arguments(D "" "" "ARCHIVES;LIBRARIES" ${ARGN})
  set(out ${CMAKE_BINARY_DIR}/delayed)
  set(archives "")
  foreach(target ${D_ARCHIVES})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
      list(APPEND archives $<TARGET_FILE:${target}>)
    endif()
  endforeach()
  add_custom_command(OUTPUT ${out}/delayed.S ${out}/delayed_table.cc ${out}/delayed.txt
    COMMAND bash ${CMAKE_SOURCE_DIR}/cmake/delayed_symbols.sh ${out} ${D_LIBRARIES} -- $<TARGET_OBJECTS:${objects}> ${archives}
    COMMAND ${CMAKE_COMMAND} -E touch_nocreate ${out}/delayed.S ${out}/delayed_table.cc ${out}/delayed.txt
    DEPENDS ${CMAKE_SOURCE_DIR}/cmake/delayed_symbols.sh $<TARGET_OBJECTS:${objects}> ${archives}
    COMMAND_EXPAND_LISTS VERBATIM COMMENT "which functions of which libraries are called")
  target_sources(${program} PRIVATE ${out}/delayed.S ${out}/delayed_table.cc ${CMAKE_SOURCE_DIR}/apps/delayed/delayed.cc)
  target_include_directories(${program} PRIVATE ${CMAKE_SOURCE_DIR}/apps/delayed)
  set_source_files_properties(${out}/delayed.S PROPERTIES OBJECT_DEPENDS ${CMAKE_SOURCE_DIR}/apps/delayed/delayed_stub.h)
  target_link_libraries(${program} PRIVATE ${CMAKE_DL_LIBS})
  target_link_options(${program} PRIVATE LINKER:--as-needed)
endfunction()
