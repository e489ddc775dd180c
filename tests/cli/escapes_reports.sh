# Names of files in reports cannot steer a terminal either.
seq 10 > keys
name=$(printf 'f\033[31m\302\233m')
{
    umbel build keys -o "$name"
    umbel add "$name" keys
    umbel merge "$name" -o "$name"
    umbel convert "$name" --fold 1 -o "$name"
    umbel keygen -o "$name.key"
} 2>&1 | LC_ALL=C grep -c "$(printf '\033\|\302\233')"
umbel keygen -o "$name.two" --json | LC_ALL=C grep -c "$(printf '\033\|\302\233')"
umbel keygen -o "it's mine.key" | sed 's|\(identifier *\).*|\1ID|'
