# expected.csv of every study, compiled in: one array a file, and their table.
# Bytes, because C promises no string longer than 4095.
function(umbel_expected out)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/papers/*/expected.csv
    ${CMAKE_SOURCE_DIR}/papers/*/*/expected.csv)
  set(text "#include \"papers/frame/expected.h\"\n\n#include <stddef.h>\n")
  set(rows "")
  foreach(file ${files})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    get_filename_component(dir ${file} DIRECTORY)
    # papers/gbf/fig2 is the study gbf-fig2, papers/attacks is attacks.
    file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR}/papers ${dir})
    string(REPLACE "/" "-" name ${name})
    string(MAKE_C_IDENTIFIER ${name} id)
    file(READ ${file} bytes HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(APPEND text "\nstatic const char ${id}[] = {${bytes}0};\n")
    string(APPEND rows "    {\"${name}\", ${id}},\n")
  endforeach()
  string(APPEND text "\nconst um_expected_file um_expected_files[] = {\n${rows}"
    "    {NULL, NULL}};\n")
  file(CONFIGURE OUTPUT ${out} CONTENT "${text}" @ONLY)
endfunction()
