# Pages and summaries of runs; those of page/ become part of fadeprobe.
find_package(nlohmann_json REQUIRED)
set(page ${CMAKE_CURRENT_SOURCE_DIR}/pages/page)
# In the order in which the scripts stand in the page.
set(scripts format.js theme.js table.js export.js viewport.js summary.js findings.js errors.js source.js host.js timeline.js heatmap.js lanes.js flow.js handlers.js roofline.js profile.js kernel.js search.js app.js)
set(run_scripts format.js theme.js table.js export.js run.js)
list(TRANSFORM scripts PREPEND ${page}/)
list(TRANSFORM run_scripts PREPEND ${page}/)
set(embedded ${CMAKE_CURRENT_BINARY_DIR}/page_files.cpp)
add_custom_command(OUTPUT ${embedded}
  COMMAND ${CMAKE_COMMAND} -DOUT=${embedded} -DHTML=${page}/report.html -DSTYLE=${page}/report.css "-DSCRIPTS=${scripts}" "-DRUN_SCRIPTS=${run_scripts}"
          -P ${CMAKE_CURRENT_SOURCE_DIR}/pages/embed_page.cmake
  DEPENDS ${page}/report.html ${page}/report.css ${scripts} ${page}/run.js pages/embed_page.cmake
  COMMENT "the page of the report" VERBATIM)
target_sources(fadeprobe PRIVATE ${embedded} pages/deaths.cpp pages/errors.cpp pages/finding_lines.cpp pages/heat_map.cpp pages/host_side.cpp
    pages/page.cpp pages/run_page.cpp pages/terminal_summary.cpp)
target_include_directories(fadeprobe PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(fadeprobe PRIVATE nlohmann_json::nlohmann_json)
