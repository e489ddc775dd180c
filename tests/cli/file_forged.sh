# Heads whose checksum is right and whose fields lie. Offsets: docs/FORMAT.md.
seq 10 > keys
umbel build -q keys -o good.umb

forge_field() {
    cp good.umb f.umb
    echo "# $1"
    shift
    while [ $# -gt 0 ]; do
        forge poke f.umb "$1" "$2"
        shift 2
    done
    forge seal f.umb
    umbel info f.umb > out 2> err
    echo "[$?] $(sed 's/hashes: .*/hashes/; s/secret key: .*/secret key/' err)"
    umbel info - < <(cat f.umb) > out 2> err
    [ $? = 2 ] && [ -s err ] || echo "a pipe brings it in"
}

forge_field 'version 2' 8 02000000
forge_field 'version 0' 8 00000000
forge_field '2^60 cells' 80 0000000000000010
forge_field '2^60 cells, and its section' 80 0000000000000010 \
    144 0000000000000010 160 0000000000000002
forge_field '2^47 cells, and its section' 80 0000000000800000 \
    144 0000000000800000 160 0000000000100000
forge_field '2^32 cells, and its section' 80 0000000001000000 \
    144 0000000001000000 160 0000002000000000
forge_field '0 cells' 80 0000000000000000
forge_field '1 cell' 80 0100000000000000
forge_field 'cells that the section does not have' 80 0004000000000000
forge_field '0 hashes' 88 00000000
forge_field '65 hashes' 88 41000000
forge_field '2^32-1 hashes' 88 ffffffff
forge_field 'an unknown flag' 92 20000000
forge_field 'a remark that may be ignored' 92 00000100
forge_field '2^63 capacity' 96 0000000000000080
forge_field 'fpr 0' 104 0000000000000000
forge_field 'fpr 1' 104 000000000000f03f
forge_field 'fpr -1' 104 000000000000f0bf
forge_field 'fpr NaN' 104 000000000000f87f
forge_field 'a setting, where the section should be' 128 01000000
forge_field '2 settings' 128 02000000
forge_field '2^32-1 settings' 128 ffffffff
forge_field '0 sections' 132 00000000
forge_field '2 sections' 132 02000000
forge_field '2^32-1 sections' 132 ffffffff
forge_field '8 bits a cell' 152 08000000
forge_field 'coded, but no code' 156 01000000
forge_field 'an unknown coding' 156 02000000
forge_field 'a short section' 160 0100000000000000
forge_field 'something in the padding' 176 01
forge_field 'a secret without a keyed hash' 72 0100000000000000
forge_field 'kind "blob"' 16 626c6f62000000
forge_field 'kind ""' 16 0000000000
forge_field 'kind without end' 16 62626262626262626262626262626262
forge_field 'kind with a tail' 30 01
forge_field 'kind that steers a terminal' 16 1b5b33316d
