# Publish, pull from a directory, and what readers found to match falsely.
seq 20000 > members
umbel build members --fpr 1% -q -o list.umb
umbel keygen --sign -o key -q
try umbel publish shelf list.umb --sign key --keep 4
here=file://$PWD/shelf
umbel pull "$here/list" -o copy.umb --trust key.pub | sed 's/moved [0-9,]*/moved N/'
cmp list.umb copy.umb

# A reader finds false matches, and tells.
seq 30001 32000 | try umbel check copy.umb --confirm false.txt -c
seq 30001 30100 | umbel check copy.umb --confirm false.txt -q
sort -u false.txt | wc -l
try umbel publish shelf list.umb --sign key --members members --never false.txt |
    sed 's/or [0-9,]* for/or N for/'
umbel pull "$here/list" -o copy.umb -q
try umbel check copy.umb -f false.txt
try umbel verify copy.umb --members members

# Refusals.
try umbel publish shelf list.umb
try umbel publish shelf list.umb --sign key.pub
umbel keygen -q -o secret
try umbel publish shelf list.umb --sign secret
try umbel pull "file:///nowhere" -o copy.umb --trust key
try umbel build members --hash sip --key-file key.pub -o no.umb
try umbel publish shelf members
try umbel publish shelf list.umb --sign key --valid 0
try umbel publish shelf list.umb --sign key --keep 65
try umbel publish shelf list.umb --sign key --never false.txt
try umbel publish shelf
cp list.umb 'a name.umb'
try umbel publish shelf 'a name.umb' --sign key
try umbel pull shelf/list -o copy.umb
umbel pull "$here/none" -o none.umb 2>&1 | sed "s:$PWD::"
umbel pull "$here/list" -o copy.umb --trust nobody
try umbel keygen --sign -o key
absent none.umb
