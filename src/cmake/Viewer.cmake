# attnscope_viewer_page(OUT): the source file that holds the web viewer's page.
# The page is built in the build tree where node and web_viewer/node_modules are there (`./run build`
# fetches both, CMake downloads nothing); else the file holds no page, and `attnscope view` says so.
function(attnscope_viewer_page out)
  set(viewer ${PROJECT_SOURCE_DIR}/web_viewer)
  set(${out} page_absent.cpp PARENT_SCOPE)
  find_program(ATTNSCOPE_NODE NAMES node nodejs DOC "Node 18 or later, which builds the web viewer")
  if(NOT ATTNSCOPE_NODE)
    message(STATUS "Web viewer: not built, no node (apt-get install nodejs npm)")
    return()
  endif()
  execute_process(COMMAND ${ATTNSCOPE_NODE} --version OUTPUT_VARIABLE version ERROR_QUIET
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(REGEX REPLACE "^v" "" version "${version}")
  if(NOT version VERSION_GREATER_EQUAL 18)
    message(STATUS "Web viewer: not built, ${ATTNSCOPE_NODE} is version \"${version}\", not 18 or later")
    return()
  endif()
  if(NOT EXISTS ${viewer}/node_modules/esbuild)
    message(STATUS "Web viewer: not built, no web_viewer/node_modules (npm ci in web_viewer)")
    return()
  endif()

  set(page_folder ${PROJECT_BINARY_DIR}/viewer)
  set(pages ${page_folder}/attnscope-viewer.html)
  foreach(name IN ITEMS index.html app.js chunk.js later.js app.css worker.js hdf5.wasm demo-capture.h5 demo-verdict.h5)
    list(APPEND pages ${page_folder}/served/${name})
  endforeach()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${viewer}/src/* ${viewer}/demo/*.h5)
  add_custom_command(OUTPUT ${pages}
    COMMAND ${ATTNSCOPE_NODE} build.mjs --out ${page_folder}
    DEPENDS ${sources} ${viewer}/build.mjs ${viewer}/package-lock.json
    WORKING_DIRECTORY ${viewer} COMMENT "Building the web viewer" VERBATIM)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/page_built.cpp)
  configure_file(page_built.cpp.in ${source} @ONLY)
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS "${pages}")
  install(FILES ${page_folder}/attnscope-viewer.html DESTINATION share/attnscope)
  set(${out} ${source} PARENT_SCOPE)
endfunction()
