# umbel_embed(OUT HEADER FILE...) - files, compiled in: page.css becomes the
# string um_page_css, which HEADER declares. Bytes, because C promises no string
# longer than 4095; they must be ASCII.
function(umbel_embed out header)
  set(text "#include \"${header}\"\n")
  foreach(file ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    get_filename_component(name ${file} NAME)
    string(MAKE_C_IDENTIFIER ${name} id)
    file(READ ${file} bytes HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(APPEND text "\nconst char um_${id}[] = {${bytes}0};\n")
  endforeach()
  file(CONFIGURE OUTPUT ${out} CONTENT "${text}" @ONLY)
endfunction()
