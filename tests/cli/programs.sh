# Programs that come with umbel lie beside it, and go before those of the PATH.
real=$(readlink -f "$(command -v umbel)")
mkdir bin beside alone
printf '#!/bin/sh\necho "$(basename "$(dirname "$0")") $*"\n' > bin/umbel-bench
chmod +x bin/umbel-bench
cp bin/umbel-bench beside
cp "$real" beside/umbel
cp "$real" alone/umbel
before=$PATH
PATH=$PWD/bin:$PATH
try beside/umbel bench a 'b c'
try beside/umbel help bench
try alone/umbel bench a

# Where there is none: what it is, and what to type.
# shellcheck disable=SC2123 # it is the search path that is meant
PATH=$PWD/nowhere
try alone/umbel bench
try alone/umbel help reproduce
try alone/umbel bensh
try alone/umbel reproduce/../bench

# One that cannot be started.
printf 'no program' > bin/umbel-reproduce
PATH=$PWD/bin
try alone/umbel reproduce

# Each has a version and options of its own.
PATH=$before
umbel bench --version | sed 's/[0-9.]*$/VERSION/'
umbel-reproduce --version | sed 's/[0-9.]*$/VERSION/'
try umbel reproduce --list-options | grep timed
try umbel-bench --nonsense
