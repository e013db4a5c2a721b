# shellcheck shell=bash
# What launch scripts of recipes source (benchmarks/benchmark_lib.sh). pawl starts the script as the engine of a job, waits until
# the server is ready, measures it and ends everything that the script started: so the functions that wait and measure elsewhere
# only keep the script alive here for as long as its server lives.

PAWL_SERVER_LOG=""
export PORT="${PORT:-8888}"
export PYTHONDONTWRITEBYTECODE="${PYTHONDONTWRITEBYTECODE:-1}"

# check_env_vars NAME…: ends the script when one of them is unset or empty, and names all that are.
check_env_vars() {
  local name missing=()
  for name in "$@"; do
    [[ -n "${!name:-}" ]] || missing+=("$name")
  done
  if ((${#missing[@]} > 0)); then
    echo "pawl: the launch script needs variables that are not set: ${missing[*]}" >&2
    exit 1
  fi
}

# The value of option $1 among the rest of the arguments.
_pawl_option() {
  local wanted="$1"
  shift
  while (($# > 0)); do
    if [[ "$1" == "$wanted" ]]; then
      echo "${2:-}"
      return
    fi
    if [[ "$1" == "$wanted="* ]]; then
      echo "${1#*=}"
      return
    fi
    shift
  done
}

# The end of the server's own log, for whoever asks why it ended; not when that is where this goes anyway.
_pawl_show_log() {
  if [[ -n "$PAWL_SERVER_LOG" && -f "$PAWL_SERVER_LOG" && ! "$PAWL_SERVER_LOG" -ef server.log ]]; then tail -n 200 "$PAWL_SERVER_LOG" >&2; fi
}

# wait_for_server_ready --port PORT --server-log FILE --server-pid PID: until /health answers 2xx; ends the script when the server
# has ended. Without limit: pawl has one.
wait_for_server_ready() {
  local port pid
  port="$(_pawl_option --port "$@")"
  pid="$(_pawl_option --server-pid "$@")"
  PAWL_SERVER_PID="${pid:-${SERVER_PID:-}}" PAWL_SERVER_LOG="$(_pawl_option --server-log "$@")"
  until curl --silent --fail --output /dev/null --max-time 5 "http://127.0.0.1:${port:-$PORT}${PAWL_HEALTH_PATH:-/health}"; do
    if [[ -n "$PAWL_SERVER_PID" ]] && ! kill -0 "$PAWL_SERVER_PID" 2>/dev/null; then
      _pawl_show_log
      exit 1
    fi
    sleep 0.5
  done
}

# Stays while the server lives, and ends with its exit status: pawl measures in the meantime.
_pawl_stay() {
  local pid="${PAWL_SERVER_PID:-${SERVER_PID:-}}" status=0
  echo "pawl: $1 is pawl's own here"
  [[ -n "$pid" ]] || pid="$(jobs -p | tail -n 1)"
  wait "$pid" || status=$?
  _pawl_show_log
  exit "$((status == 0 ? 1 : status))"
}

run_benchmark_serving() { _pawl_stay "the load generator"; }
run_eval() { _pawl_stay "the eval"; }

# pawl samples power, stages results and installs nothing.
start_gpu_monitor() { :; }
stop_gpu_monitor() { :; }
append_lm_eval_summary() { :; }
_install_lm_eval_deps() { :; }

# The context that an eval needs, as the contract has it: at least that of the matrix.
setup_eval_context() { export EVAL_MAX_MODEL_LEN="${EVAL_MAX_MODEL_LEN:-${MAX_MODEL_LEN:-}}"; }
compute_eval_context_length() { echo "${MAX_MODEL_LEN:-${2:-}}"; }
