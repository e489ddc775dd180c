# Heads whose checksum is right and whose fields lie: docs/FORMAT.md.
seq 10 > keys
umbel build -q keys -o good.umb

# forged WHAT COMMAND...: good.umb after forge COMMAND.
forged() {
    cp good.umb f.umb
    echo "# $1"
    forge "$2" f.umb "${@:3}"
    umbel info f.umb > out 2> err
    echo "[$?] $(sed 's/hashes: .*/hashes/; s/secret key: .*/secret key/' err)"
    umbel info - < <(cat f.umb) > out 2> err
    [ $? = 2 ] && [ -s err ] || echo "a pipe brings it in"
}

forged 'version 3' poke 8 03000000
forged 'version 0' poke 8 00000000
forged 'the same' fields 010c118004030a0a00
forged '2^60 cells' claim cells $((1 << 60))
forged '2^47 cells' claim cells $((1 << 47))
forged '2^32 cells' claim cells $((1 << 32))
forged '0 cells' claim cells 0
forged '1 cell' claim cells 1
forged 'cells that the file does not have' claim cells 1024
forged '0 hashes' fields 010c118004000a0a00
forged '65 hashes' fields 010c118004410a0a00
forged '2^32-1 hashes' fields 010c118004ffffffff0f0a0a00
forged '2^32+3 hashes' fields 010c11800483808080100a0a00
forged '2^63 capacity' fields 010c11800403808080808080808080010a00
forged '0 groups' fields 010c118004030a0a0100
forged '1 group, stated' fields 010c118004030a0a0101
forged '2 settings' fields 010c118004030a0a02
forged 'an unknown flag' fields 010c118004030a0a00050110
forged 'an unknown field' fields 010c118004030a0a00150110
forged 'an unknown field that may be ignored' fields 010c118004030a0a00020110
forged 'fpr 0' fields 010c118004030a0a00070105
forged 'fpr 1' fields 010c118004030a0a00070110
forged 'fpr NaN' fields 010c118004030a0a000708000000000000f8ff
forged 'fpr 0.001, stated' fields 010c118004030a0a00070113
forged 'a field past the end' fields 010c118004030a0a000250
forged 'a long number' fields 010c11800480000a0a00
forged 'coded, but no code' fields 010c118004030a0a0013020240
forged 'an unknown coding' fields 010c118004030a0a0013020940
forged 'something in the padding' fields 010c118004030a0a000000000001
forged 'a secret without a keyed hash' fields 010c118004030a0a00030101
forged 'kind "blob"' fields 0004626c6f620c118004030a0a00
forged 'kind "bloom", spelled' fields 0005626c6f6f6d0c118004030a0a00
forged 'kind ""' fields 00000c118004030a0a00
forged 'kind of 16 letters' fields 0010626262626262626262626262626262620c11
forged 'kind with a zero inside' fields 00036200620c118004030a0a00
forged 'kind number 99' fields 630c118004030a0a00
forged 'kind that steers a terminal' fields 00051b5b33316d0c118004030a0a00
