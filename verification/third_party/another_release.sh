#!/bin/sh
# Starts one release of a program and the other one in turns, so that each restart is an upgrade or a downgrade:
#
#   another_release.sh MARK FIRST SECOND ARGUMENTS...
#
# MARK is a file that exists while SECOND is the next one.
set -eu
mark=$1 first=$2 second=$3
shift 3
if [ -e "$mark" ]; then
    rm "$mark"
    first=$second
else
    : > "$mark"
fi
echo "another_release.sh starts $first" >&2
exec "$first" "$@"
