# A set that grows: no capacity, from a pipe and from a file, then more keys.
seq 3000 >keys
umbel build keys --kind scalable --fpr 1% -q -o set.umb
seq 3000 | umbel build --kind scalable --fpr 1% -q -o pipe.umb
cmp set.umb pipe.umb && echo same
seq 3001 9000 | umbel add set.umb
seq 9000 | umbel check -c set.umb
umbel info set.umb
umbel build keys --kind scalable --param spill=3 -o other.umb 2>&1
umbel merge set.umb pipe.umb -o both.umb 2>&1
