#!/bin/sh
# Install packages through the system's package manager: tests/setup.sh PACKAGE...
# Debian's names. On macOS those that Homebrew has under the same or another name.
set -eu

missing=
if command -v dpkg-query > /dev/null; then
    for package; do
        dpkg-query -W -f '${Status}\n' "$package" 2> /dev/null | grep -q 'ok installed' || missing="$missing $package"
    done
    if [ -z "$missing" ]; then
        echo "setup: everything is installed"
        exit 0
    fi
    if [ "$(id -u)" -eq 0 ]; then
        sudo=
    elif command -v sudo > /dev/null; then
        sudo=sudo
    else
        echo "setup: not root, and no sudo; ask an administrator for: apt-get install$missing" >&2
        exit 1
    fi
    echo "setup: installing$missing"
    $sudo apt-get update -qq
    # shellcheck disable=SC2086 # a list of words
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing > /dev/null
elif command -v brew > /dev/null; then
    brew install criterion lcov clang-format jq gnuplot
else
    echo "setup: neither apt-get nor brew here; install by hand what these Debian packages hold: $*" >&2
    exit 1
fi
