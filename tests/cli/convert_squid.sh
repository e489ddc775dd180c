# Cache digests of Squid: built, written, read; what they cannot hold is refused.
seq 100 | sed 's/.*/\x01http:\/\/a.test\/&/' > urls
umbel build urls --addressing chunks-md5 --hashes 4 --capacity 100 --bits 504 -q -o d.umb
try umbel convert d.umb --to squid -o digest
head -c 24 digest | od -A n -t x1
try umbel convert digest --from squid -q -o back.umb
try umbel check back.umb -c -f urls
printf '\001http://b.test/\n' > other
try umbel check back.umb -c -f other
umbel convert back.umb --to squid -q -o again
try cmp digest again
try umbel lint digest --members urls
umbel build urls --addressing chunks-md5 --hashes 4 --capacity 100 --bits 500 -q -o odd.umb
try umbel convert odd.umb --to squid -o x
umbel build urls --addressing chunks-md5 --hashes 8 -q -o eight.umb
try umbel convert eight.umb --to squid -o x
(head -c 19 digest; printf '\101'; tail -c +21 digest) > wrong
try umbel convert wrong --from squid -o x
head -c -1 digest > shorter
try umbel convert shorter --from squid -o x
