#!/bin/sh
# Installs the Debian packages that a make target needs: tests/deps.sh demo|check [--print]
#
# Where nothing is missing this is one dpkg-query and no apt call. Otherwise: as root they are installed, as an
# ordinary user through sudo; on a terminal it asks first. Where neither works it prints the command to type.
set -eu

build="gcc libc6-dev make libseccomp-dev libcjson-dev nettle-dev libdw-dev libelf-dev libunwind-dev python3"
# `a|b`: either will do, `a` is what gets installed.
check="$build python3-jsonschema strace clang libclang-rt-dev valgrind cppcheck shellcheck mandoc git perl
	busybox-static|busybox nodejs php-cli php-dev g++ curl procps netbase"

wanted() {
	case "$1" in
	demo) echo "$build" ;;
	check) echo "$check" ;;
	*) echo "usage: tests/deps.sh demo|check [--print]" >&2; exit 2 ;;
	esac
}

# One line per package that is installed and configured.
installed() {
	# shellcheck disable=SC2016 # the format is dpkg's, not the shell's
	dpkg-query -W -f '${Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^.* ok installed //p' || true
}

missing() {
	# shellcheck disable=SC2046,SC2086 # a list of words is meant
	have=" $(installed $(echo "$1" | tr '|' ' ') | tr '\n' ' ') "
	for choice in $1; do
		found=no
		for package in $(echo "$choice" | tr '|' ' '); do
			case "$have" in *" $package "*) found=yes ;; esac
		done
		[ $found = yes ] || echo "${choice%%|*}"
	done
}

agreed() {
	[ -t 0 ] && [ -t 2 ] && [ -z "${CI:-}" ] || return 0
	printf 'Install now? [Y/n] ' >&2
	read -r answer
	case "$answer" in [nN]*) return 1 ;; *) return 0 ;; esac
}

# Prints how to become root, nothing as root; fails where that is not possible.
become_root() {
	if [ "$(id -u)" = 0 ]; then
		return 0
	fi
	command -v sudo >/dev/null || return 1
	if sudo -n true 2>/dev/null; then
		echo "sudo -n"
	elif [ -t 0 ] && [ -t 2 ]; then
		echo sudo
	else
		return 1
	fi
}

set_name="${1:-}"
packages="$(wanted "$set_name")"
if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
	echo "tests/deps.sh: no dpkg and apt here; taking the counterparts of these as installed: $(echo "$packages" | xargs)" >&2
	exit 0
fi
lacking="$(missing "$packages" | tr '\n' ' ')"
lacking="${lacking% }"
if [ "${2:-}" = --print ]; then
	echo "$lacking"
	exit 0
fi
[ -n "$lacking" ] || exit 0

by_hand="apt-get update && apt-get install -y --no-install-recommends $lacking"
echo "make $set_name needs packages that are not installed: $lacking" >&2
if ! root="$(become_root)" || ! agreed; then
	printf 'Install them as root, then run it again:\n  %s\n' "$by_hand" >&2
	exit 1
fi
apt() {
	# shellcheck disable=SC2086 # empty as root
	$root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@" </dev/null >&2
}
apt update
# shellcheck disable=SC2086 # a list of words is meant
apt install -y --no-install-recommends $lacking
