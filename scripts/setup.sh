#!/usr/bin/env bash
# Make this clone ready: `setup.sh run` for the server, `setup.sh test` for its tests and tools too, `setup.sh image` for
# the tests that build and run the container image as well.
#
# Idempotent, and quick when nothing is to do: a stamp in .venv holds a digest of all that decides what is installed.
# System packages go through apt as root. Without root nothing is tried: the exact command and why is printed, and
# set-up fails when the server could not run without the package.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PATH:/usr/sbin:/sbin"
purpose="${1:-run}"

say() { echo "setup: $*" >&2; }
die() {
  say "$*"
  exit 1
}

# --- system packages -------------------------------------------------------------------------------------------------

missing=()
why=()
fatal=no

# need PROBE "PACKAGES" required|optional "REASON": notes the packages when the probe fails.
need() {
  local probe="$1" packages="$2" weight="$3" reason="$4"
  if ! eval "$probe" >/dev/null 2>&1; then
    # shellcheck disable=SC2206 # one entry may name several packages
    missing+=($packages)
    why+=("$packages: $reason")
    if [ "$weight" = required ]; then fatal=yes; fi
  fi
}

# has MODULE...: the system's Python finds these, told without the seconds that importing them takes.
has() {
  /usr/bin/python3 - "$@" <<'PY'
import importlib.util, sys
sys.exit(not all(importlib.util.find_spec(name) for name in sys.argv[1:]))
PY
}

# A Python that can make virtual environments. Debian ships that ability apart, as python3-venv.
find_python() {
  local candidate
  for candidate in ${PYTHON:-} python3.11 python3 /usr/bin/python3 python3.12 python3.13; do
    if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
      echo "$candidate"
      return
    fi
  done
}

install_missing() {
  local line
  if [ ${#missing[@]} -eq 0 ]; then return; fi
  for line in "${why[@]}"; do say "missing $line"; done
  local command="apt-get install -y --no-install-recommends ${missing[*]}"
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    say "system packages are yours to install: sudo $command"
    if [ "$fatal" = yes ]; then die "stopped: without them nothing can run"; fi
    return
  fi
  say "$command"
  export DEBIAN_FRONTEND=noninteractive
  # An empty or old package list shows as a failed install; only then is fetching it worth its time.
  apt_install >/dev/null 2>&1 || { apt-get update -q >&2 && apt_install >&2; } || die "apt-get could not install them"
}

apt_install() { apt-get -o DPkg::Lock::Timeout=300 install -q -y --no-install-recommends "${missing[@]}"; }

need 'command -v bwrap' bubblewrap required "the outer wall of every box"
need '/usr/bin/python3 -c pass' python3 required "runs Python code in the boxes (DRYDOCK_PYTHON)"
need '[ -x /usr/bin/git ]' git required "clones, compares and commits, in a box of its own"
need '[ -n "$(find_python)" ]' "python3 python3-venv" required "makes the virtual environment; Python 3.11 or later"
if [ "$(id -u)" -eq 0 ]; then
  need 'command -v mkfs.ext4' e2fsprogs required "makes the disk of a long-lived box, so that its quota is hard"
  need 'command -v losetup && command -v mount' "mount util-linux" required "mounts the disk of a long-lived box"
fi
if [ "$purpose" = image ]; then
  need 'command -v podman && command -v runc' "podman runc" required "builds and runs the image"
  need '[ -x /usr/lib/cni/bridge ] && command -v iptables' "containernetworking-plugins iptables" required \
    "gives a container a network and a port"
  need 'command -v debootstrap' debootstrap required "makes a base for the image from this machine's own Debian mirror"
  purpose=test
fi
weight=optional
if [ "$purpose" = test ]; then weight=required; fi
if [ "$(id -u)" -eq 0 ]; then
  need 'command -v runsc' runsc "$weight" "gVisor, for those who ask for a second kernel; nothing else needs it"
fi
if [ "$purpose" = test ]; then
  need 'has numpy pandas matplotlib requests' "python3-numpy python3-pandas python3-matplotlib python3-requests" \
    required "the tests run them inside boxes"
  need 'command -v gcc && [ -e /usr/include/stdio.h ]' "gcc libc6-dev" required "the tests run compiled programs in boxes"
  need 'command -v curl' curl required "the tests make the README's first call with it"
  need 'command -v node' nodejs required "the tests run JavaScript inside boxes"
  need 'command -v go' golang-go required "the tests run Go inside boxes"
fi
install_missing

# --- the virtual environment -----------------------------------------------------------------------------------------

python="$(find_python)"
[ -n "$python" ] || die "no Python from 3.11 on with venv and ensurepip; install one and set PYTHON to it"

# A virtual environment holds absolute paths: one that was moved or copied along with its clone is made anew.
if [ ! -x .venv/bin/python ] || [ "$(cat .venv/.where 2>/dev/null || pwd)" != "$(pwd)" ]; then
  say "creating .venv with $("$python" --version)"
  "$python" -m venv --clear .venv
fi
pwd >.venv/.where

locks="requirements.lock requirements-build.lock"
if [ "$purpose" = test ]; then locks="requirements-dev.lock"; fi
# shellcheck disable=SC2086 # several files
digest="$(cat $locks pyproject.toml scripts/setup.sh | sha256sum | cut -d' ' -f1)"

if [ "$(cat ".venv/.setup-$purpose" 2>/dev/null)" != "$digest" ]; then
  say "installing the packages of ${locks// / and }"
  pip=(.venv/bin/python -m pip --disable-pip-version-check --quiet)
  # --no-deps: a lock names every package, and pip, told to check hashes, takes `name[extra]` of another for unpinned.
  for lock in $locks; do "${pip[@]}" install --no-deps --require-hashes -r "$lock"; done
  # The build backend is pinned above, so nothing unpinned is fetched here.
  "${pip[@]}" install --no-deps --no-build-isolation --editable .
  echo "$digest" >".venv/.setup-$purpose"
fi
