#!/usr/bin/env bash
# preload_test.sh CASE LIBFADEGPU PROBE [VARIANT...]: what programs see with the library preloaded.
set -u
case=$1 library=$2 probe=$3; shift 3
variants=$*
unset FADE_GPU FADE_GPU_TRACE FADE_GPU_STATS
temp=$(mktemp -d); trap 'rm -rf "$temp"' EXIT

fail() { echo "$*" >&2; exit 1; }
need() { command -v "$1" >/dev/null || { echo "no $1 here"; exit 77; }; }
on_gpu() { LD_PRELOAD=$library "$@"; }
has() { grep -qE -- "$1" "$temp/out" || fail "no '$1' in: $(cat "$temp/out")"; }

case $case in
rocminfo_describes_gfx90a)
  need rocminfo
  on_gpu rocminfo >"$temp/out" || fail "rocminfo: exit code $?"
  has 'Name: +gfx90a'; has 'Marketing Name: +AMD Instinct MI210'; has 'Compute Unit: +104'; has 'Wavefront Size: +64'
  has 'Size: +67108864\(0x4000000\) KB'; has 'amdgcn-amd-amdhsa--gfx90a:sramecc\+:xnack-'; has 'L2: +8192' ;;
rocminfo_describes_gfx1030)
  need rocminfo
  FADE_GPU=gfx1030 on_gpu rocminfo >"$temp/out" || fail "rocminfo: exit code $?"
  has 'Name: +gfx1030'; has 'Marketing Name: +AMD Radeon RX 6800 XT'; has 'Compute Unit: +72'; has 'Wavefront Size: +32' ;;
rocminfo_lists_two_devices)
  need rocminfo
  FADE_GPU=gfx90a,gfx90a on_gpu rocminfo >"$temp/out" || fail "rocminfo: exit code $?"
  [ "$(grep -c '^  Name: *gfx90a' "$temp/out")" = 2 ] || fail "not two devices: $(cat "$temp/out")" ;;
unknown_gpu_is_named_and_hidden)
  FADE_GPU=gfx803 on_gpu cat /sys/module/amdgpu/initstate >"$temp/stdout" 2>"$temp/out" && fail "sees a GPU"
  [ -s "$temp/stdout" ] && fail "wrote to stdout"
  has "'gfx803'"; has gfx90a; has gfx1030
  [ "$(grep -c fadegpu "$temp/out")" = 1 ] || fail "not one line: $(cat "$temp/out")" ;;
gpu_that_the_runtime_does_not_know_is_named_and_hidden)
  need rocminfo
  runtime=$(ldd "$(command -v rocminfo)" | awk '/libhsa-runtime64/ { print $3 }')
  grep -q gfx942 "$runtime" && { echo "this ROCr knows gfx942"; exit 77; }
  FADE_GPU=gfx942 on_gpu rocminfo >"$temp/stdout" 2>"$temp/out"
  has "^fadegpu: FADE_GPU: gfx942 is not known to the ROCr of this process \\(.*libhsa-runtime64.*\\); it sees no GPU"
  FADE_GPU=gfx1100,gfx90a on_gpu rocminfo >"$temp/out" 2>&1 || fail "rocminfo: exit code $?"
  has "^fadegpu: FADE_GPU: gfx1100 is not known .*; it does not see it"; has 'Name: +gfx90a' ;;
agent_enumerator_finds_both_architectures)
  need rocm_agent_enumerator
  FADE_GPU=gfx90a,gfx1030 on_gpu rocm_agent_enumerator >"$temp/out" || fail "exit code $?"
  has '^gfx90a$'; has '^gfx1030$' ;;
programs_without_gpu_are_unchanged)
  # Output, exit code, open descriptors and threads; also of a program that looks at other parts of /dev and /sys.
  check() {
    "$@" >"$temp/plain" 2>&1; plain=$?
    on_gpu "$@" >"$temp/preloaded" 2>&1; preloaded=$?
    [ $plain = $preloaded ] || fail "$*: exit code $plain, preloaded $preloaded"
    cmp -s "$temp/plain" "$temp/preloaded" || fail "$*: output differs: $(diff "$temp/plain" "$temp/preloaded")"
  }
  check ls -l /proc/self/fd/0 /sys/class /dev/null
  check sh -c 'cat /sys/kernel/notes | wc -c; ls /nonexistent; exit 7'
  check sh -c 'ls /proc/self/task | wc -l; ls /proc/self/fd | wc -l'
  check cat /nonexistent/file
  check stat -c %n:%s /etc/passwd /dev/null
  check "$probe" ;;
stats_may_go_to_a_device)
  for file in /dev/stderr /dev/null; do
    FADE_GPU_STATS=$file on_gpu timeout 20 "$probe" files >"$temp/out" || fail "$file: exit code $?: $(cat "$temp/out")"
  done ;;
unmapped_memory_can_be_used_again) on_gpu timeout 50 "$probe" munmap >"$temp/out" || fail "$(cat "$temp/out")" ;;
sysfs_reads_like_files) on_gpu "$probe" files >"$temp/out" || fail "$(cat "$temp/out")" ;;
forked_child_is_not_stuck) on_gpu timeout 20 "$probe" fork >"$temp/out" || fail "$(cat "$temp/out")" ;;
setuid_program_is_left_alone)
  # The system's loader ignores the preload for programs with other rights than their user's.
  [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null || { echo "needs root and setpriv"; exit 77; }
  chmod 755 "$temp"; cp "$(command -v cat)" "$temp/cat"; chmod 4755 "$temp/cat"
  LD_PRELOAD=$library setpriv --reuid=65534 --clear-groups "$temp/cat" /sys/module/amdgpu/initstate >"$temp/out" 2>&1 &&
    fail "a setuid program sees the GPU"
  grep -q 'fadegpu' "$temp/out" && fail "a message of ours: $(cat "$temp/out")"
  chmod 755 "$temp/cat" # the same without: it is the bit that matters
  on_gpu "$temp/cat" /sys/module/amdgpu/initstate >"$temp/out" || fail "sees no GPU: $(cat "$temp/out")" ;;
nothing_of_rocm_is_needed)
  need readelf
  for file in "$library" "${library%.so}-core.so" "$(dirname "$library")"/glibc-hwcaps/*/*.so; do
    [ ! -e "$file" ] || readelf -d "$file"
  done >"$temp/out" || fail "readelf"
  has NEEDED
  grep -iE 'NEEDED.*(hsa|hip|amd|rocm|drm)' "$temp/out" && fail "needs a library of ROCm" ;;
relative_preload_works_from_other_folders)
  cd "$(dirname "$library")" || fail "no folder"
  LD_PRELOAD=./$(basename "$library") "$probe" elsewhere >"$temp/out" 2>&1 || fail "$(cat "$temp/out")" ;;
the_loader_takes_the_device_for_this_processor)
  # The loader itself says what this processor can run; less when features are masked.
  need rocminfo
  loader=$(ldd "$(command -v rocminfo)" | awk '/ld-linux/ { print $1 }')
  for mask in '' -AVX512F -AVX2; do
    export GLIBC_TUNABLES=glibc.cpu.hwcaps=$mask
    wanted=x86-64
    for level in $variants; do # rising
      "$loader" --help | grep -q "$level (supported, searched)" && wanted=$level
    done
    FADE_GPU_TRACE=ioctls on_gpu cat /sys/module/amdgpu/initstate >"$temp/out" 2>&1 || fail "exit code $?"
    has "^fadegpu: device compiled for $wanted\$"
    echo "with '$mask': $wanted"
  done ;;
a_device_elsewhere_is_not_taken)
  # The loader would go on to search there.
  mkdir "$temp/alone"; cp "$library" "$temp/alone"
  LD_LIBRARY_PATH=$(dirname "$library") LD_PRELOAD=$temp/alone/libfadegpu.so \
    cat /sys/module/amdgpu/initstate >"$temp/stdout" 2>"$temp/out" && fail "sees a GPU"
  has "^fadegpu: cannot load the device: libfadegpu-core.so is not beside libfadegpu.so, only: $(dirname "$library")/" ;;
missing_core_is_reported)
  cp "$library" "$temp/libfadegpu.so"
  LD_PRELOAD=$temp/libfadegpu.so cat /sys/module/amdgpu/initstate >"$temp/stdout" 2>"$temp/out"
  has 'cannot load the device.*libfadegpu-core.so'
  LD_PRELOAD=$temp/libfadegpu.so echo fine >"$temp/out" 2>&1 || fail "exit code $?"
  [ "$(cat "$temp/out")" = fine ] || fail "output: $(cat "$temp/out")" ;;
*) fail "no case $case" ;;
esac
echo ok
