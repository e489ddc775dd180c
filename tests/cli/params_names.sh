# Names that are not: of commands, options, rows and settings.
seq 10 > keys
# The tables grow; what they hold today is not what this is about.
build() {
    try umbel build keys -o no.umb "$@" 2>&1 |
        sed -E 's/; there (is|are) .*/; there are .../'
}
build --kind cuckoo
build --kind ''
build --addressing modulo
build --hash md4
build --hash md5
build --hash integer
build --addressing universal --hash xxh3
build --addressing chunks-md5 --seed 1
build --param depth=3
build --param depth
build --param =3
build --param depth=x
build --param depth=-1
build --param depth=99999999999999999999
build --param "$(printf 'n%.0s' {1..40})=1"
many=()
for _ in {1..17}; do many+=(--param a=1); done
build "${many[@]}"
build --wrong
build --wrong=1
build --json=yes
build --bits
build -n
build -x
build -qx
build --fp 0.1
build --knid bloom
build --value-bits -q
try umbel wrong
try umbel biuld keys
try umbel ''
try umbel -x
try umbel ../umbel
absent no.umb
