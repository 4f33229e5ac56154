# Completion of fadeprobe for bash.
_fadeprobe() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command="" i
  local analyzers="MessageLogger Heatmap MemoryAnalysis BlockCounts AccessPatterns BlockFlow Hotspots CacheModel Placement UserRecords"
  local gpus="gfx908 gfx90a gfx942 gfx950 gfx1030 gfx1100 gfx1150 gfx1151 gfx1152 gfx1153 gfx1200 gfx1201"
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      --) # the application's own words
        if ((i + 1 == COMP_CWORD)); then mapfile -t COMPREPLY < <(compgen -c -f -- "$cur"); else
          mapfile -t COMPREPLY < <(compgen -f -- "$cur"); fi
        return ;;
      trace | profile | peaks | control | log | sql | check | capture | captures | import | replay | optimize | mcp | analyze | report | diff | inspect | doctor | flags | cc | rewrite | triton) command=${COMP_WORDS[i]} ;;
    esac
  done
  case "$command $prev" in # where commands differ
    "profile --observe") mapfile -t COMPREPLY < <(compgen -W "auto pass gpu" -- "$cur"); return ;;
    "profile --times") mapfile -t COMPREPLY < <(compgen -W "model device" -- "$cur"); return ;;
    "sql --format") mapfile -t COMPREPLY < <(compgen -W "table csv json markdown" -- "$cur"); return ;;
  esac
  case $prev in
    -a | --analyzers) mapfile -t COMPREPLY < <(compgen -W "$analyzers" -f -- "$cur"); return ;;
    -t | --log-format) mapfile -t COMPREPLY < <(compgen -W "text json csv" -- "$cur"); return ;;
    -d | --dispatches) mapfile -t COMPREPLY < <(compgen -W "all random" -- "$cur"); return ;;
    -l | --log-location) mapfile -t COMPREPLY < <(compgen -W "console /dev/null" -f -- "$cur"); return ;;
    -c | --cache-location) mapfile -t COMPREPLY < <(compgen -d -- "$cur"); return ;;
    --api) mapfile -t COMPREPLY < <(compgen -W "all memory copy launch stream event module graph device error texture occupancy rtc compiler" -- "$cur"); return ;;
    --format) mapfile -t COMPREPLY < <(compgen -W "rpd rpd2 rocpd json perfetto pftrace parquet" -- "$cur"); return ;;
    --correct) mapfile -t COMPREPLY < <(compgen -W "properties" -- "$cur"); return ;;
    --dot) mapfile -t COMPREPLY < <(compgen -W "chain data" -- "$cur"); return ;;
    --on) mapfile -t COMPREPLY < <(compgen -W "software gpu" -- "$cur"); return ;;
    --tolerance) mapfile -t COMPREPLY < <(compgen -W "ulp= rel= abs=" -- "$cur"); return ;;
    --start) mapfile -t COMPREPLY < <(compgen -W "on off" -- "$cur"); return ;;
    --other-tools) mapfile -t COMPREPLY < <(compgen -W "off keep" -- "$cur"); return ;;
    --alloc) mapfile -t COMPREPLY < <(compgen -W "coarse fine uncached host" -- "$cur"); return ;;
    --transport) mapfile -t COMPREPLY < <(compgen -W "host device" -- "$cur"); return ;;
    --observe) mapfile -t COMPREPLY < <(compgen -W "auto pass gpu rewrite" -- "$cur"); return ;;
    --gpu) mapfile -t COMPREPLY < <(compgen -W "auto real $gpus" -- "$cur"); return ;;
    --probe) mapfile -t COMPREPLY < <(compgen -W "all driver agents allocate copy kernel lds atomics queues large managed graphs matmul rocblas miopen fade" -- "$cur"); return ;;
    --root | --triton-cache | --instrumented-code) mapfile -t COMPREPLY < <(compgen -d -- "$cur"); return ;;
    --program | --rules | --save | --record | --report | --timeline | --junit | --sarif | --findings | --diff | --host | --api-log | --events | -o | --output | --code) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
    -k | --kernels | --library-filter | --seed | --workgroups | --sample | --sample-executions | --memory | --workers | --patience | --instrument | --target | --pid | --title | --remedy | --timeout | --rows | --limit | --max-size | --iterations | --fail-if | --least | --llvm) return ;;
  esac
  local report="--analyzers --log-location --log-append --log-format --verbose --no-verbose --progress --no-progress --workers --patience --help"
  local words
  case $command in
    trace) words="--output --format --append --ranks --no-messages --api --api-log --start --stacks --libraries --correct --other-tools --verbose --gpu --env-dump --no-env-dump --help --" ;;
    profile) words="--output --ranks --events --thread-trace --peaks --rows --counts --no-counts --observe --times --timeline --kernels --dispatches --sample --exact --api --start --stacks --libraries --correct --other-tools --verbose --gpu --env-dump --no-env-dump --help --" ;;
    peaks) words="--output --gpu --help" ;;
    control) words="start stop flush status --help" ;;
    log) words="--output --format --append --ranks --graphs --operators --callstack --dot --rows --fail-if --junit --sarif --help" ;;
    sql) words="--format --help" ;;
    check) words="--output --ranks --code --timeout --schedules --checks --json --report --error-exitcode --max --suppress --baseline --sarif --junit --kernels --dispatches --seed --workgroups --gpu --help --" ;;
    capture) words="--kernels --library-filter --dispatches --seed --limit --reachable --max-size --ranks --progress --no-progress --output --patience --verbose --gpu --env-dump --no-env-dump --help --" ;;
    captures) words="--json --help" ;;
    import) words="--output --json --help" ;;
    mcp) words="--output --timeout --read-only --help" ;;
    optimize) words="--kernel --source --proposer --captures --attempts --tolerance --worse --timeout --output --launch-bounds --unchecked --apply --help --" ;;
    replay) words="--check --tolerance --iterations --no-recopy --code --model --no-model --change-inputs --minimise --output --on --reserve-check --instrumented --analyzers --log-location --log-format --record --gpu --workers --timeout --json --progress --no-progress --help" ;;
    analyze) words="$report --kernels --dispatches --seed --report --sources --diff --fail-if --junit --sarif --findings" ;;
    diff) words="--json --report --kernels --least --all --gpu --exact --fail-if --junit --sarif --findings --help --" ;;
    report) words="--output --ranks --host --code --sources --title --fail-if --junit --sarif --findings --help" ;;
    inspect) words="--kernels --target --pid --isa --source --counts --json --help" ;;
    doctor) words="--json --quiet --root --program --rules --deaths --collect --probe --save --gpu --timeout --fix --print --write --revert --remedy --help" ;;
    flags)
      case $cur in
      -*) words="--handler --help" ;;
      *) mapfile -t COMPREPLY < <(compgen -c -- "${cur:-clang}"); return ;;
      esac ;;
    cc) words="--instrument --help --" ;;
    rewrite) words="--output --instrument --kernels --help" ;;
    triton) words="--triton-cache --instrumented-code --instrument --llvm $report --instrumented --no-instrumented --kernels --library-filter --dispatches --seed --cache-location
        --workgroups --sample --exact --sample-executions --record --ranks --report --timeline --fail-if --junit --sarif --findings --memory --transport --observe --other-tools --alloc --explain --no-explain --deaths --lossy --stream --gpu --env-dump --no-env-dump --" ;;
    *) words="trace profile peaks control log sql check capture captures import replay optimize mcp analyze report diff inspect doctor flags cc rewrite triton $report --instrumented --no-instrumented --kernels --library-filter --dispatches --seed --cache-location
        --workgroups --sample --exact --sample-executions --record --ranks --report --timeline --fail-if --junit --sarif --findings --memory --transport --observe --other-tools --alloc --explain --no-explain --deaths --lossy --stream --gpu --env-dump --no-env-dump --version --" ;;
  esac
  if [[ $cur == -* || -z $command ]]; then mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur"); else
    mapfile -t COMPREPLY < <(compgen -f -- "$cur"); fi
}
complete -o filenames -F _fadeprobe fadeprobe
