# The doctor: a library, so that its parts can be tested alone, and the rules, which are data.
add_library(fade_doctor STATIC doctor/collect.cpp doctor/condition.cpp doctor/facts.cpp doctor/fade_probe.cpp doctor/fix.cpp doctor/json.cpp doctor/kernel_words.cpp doctor/loader.cpp doctor/look_deaths.cpp doctor/look_gpus.cpp doctor/look_program.cpp
  doctor/look_rocm.cpp doctor/look_system.cpp doctor/look_variables.cpp doctor/output.cpp doctor/probe.cpp doctor/rules.cpp
  doctor/tree.cpp doctor/user_probe.cpp)
fade_target(fade_doctor)
target_include_directories(fade_doctor PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(fade_doctor PUBLIC fade_base fade_cli_base fade_codeobj fmt::fmt PRIVATE nlohmann_json::nlohmann_json)

target_sources(fadeprobe PRIVATE doctor/command.cpp doctor/explain.cpp)
target_link_libraries(fadeprobe PRIVATE fade_doctor)

# Where fadeprobe finds them in the build folder, and in the install tree.
file(GLOB rules CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/doctor/rules/*.json)
set(copies)
foreach(rule ${rules})
  cmake_path(GET rule FILENAME name)
  set(copy ${CMAKE_BINARY_DIR}/share/fade/doctor/rules/${name})
  add_custom_command(OUTPUT ${copy} COMMAND ${CMAKE_COMMAND} -E copy ${rule} ${copy} DEPENDS ${rule} COMMENT "rules ${name}" VERBATIM)
  list(APPEND copies ${copy})
endforeach()
add_custom_target(fade_doctor_rules ALL DEPENDS ${copies})
add_dependencies(fadeprobe fade_doctor_rules)
install(FILES ${rules} DESTINATION ${CMAKE_INSTALL_DATADIR}/fade/doctor/rules)
