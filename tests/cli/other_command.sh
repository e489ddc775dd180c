# A name that is not built in runs umbel-NAME from the PATH.
mkdir bin
cat > bin/umbel-hello <<'SCRIPT'
#!/bin/sh
echo "hello from $0: $# arguments, first $1"
exit 7
SCRIPT
chmod +x bin/umbel-hello
export PATH="$PWD/bin:$PATH"
try umbel hello 'a b' c | sed "s|$PWD|.|"
umbel hello x > /dev/null
echo "$?"

# Ours go first, and a path is no name.
cp bin/umbel-hello bin/umbel-info
try umbel info
try umbel ../bin/umbel-hello
try umbel missing
