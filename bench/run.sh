#!/bin/sh
# run.sh LIBRARY - runs the command in $cmd over a malloc library; `make run`. Its status is the command's.
set -u
library=$1 command=${cmd:?}
unset cmd # the command shall not see it
LD_PRELOAD=$library sh -c "$command"
status=$?
if [ $status -gt 128 ] && signal=$(kill -l $status 2> /dev/null); then
    echo "run: the command was ended by SIG$signal" >&2
fi
exit $status
