# A file records that its keys were hexadecimal: nobody has to say it again.
printf '%s\n' 00ff 0A0b cafe > hex
umbel build hex --hex -q -n 100 -o h.umb
umbel info --json h.umb | field key_form
try umbel check h.umb 00FF
try umbel check h.umb --hex cafe
try umbel check -c h.umb -f hex
try umbel check h.umb text
try umbel verify h.umb --members hex | head -n 3
echo beef | try umbel add h.umb -q
try umbel check h.umb beef
# Other keys do not merge with them; those of a file that says nothing do.
printf '%s\n' one two > text
umbel build text -q -n 100 -o t.umb
umbel info --json t.umb | field key_form
try umbel merge h.umb t.umb -q -o both.umb
umbel info --json both.umb | field key_form
try umbel check t.umb --hex 00
# Text is recorded, too: an option that contradicts it is refused.
umbel info --json t.umb | field key_form
try umbel check -c t.umb -f hex --hex
try umbel verify t.umb --members text --hex
echo beef | try umbel add t.umb --hex

# Lists of domains and digests come in any case.
printf '%s\n' Example.ORG MAIL.example.com > domains
umbel build domains --fold-case -q -n 100 -o d.umb
umbel info --json d.umb | field key_form
try umbel check d.umb example.org Mail.Example.Com EXAMPLE.ORG
try umbel check -c d.umb -f domains
try umbel check -c d.umb --fold-case -f domains
try umbel check d.umb --hex 00
try umbel merge d.umb t.umb -q -o both.umb
umbel build domains -q -n 100 -o exact.umb
try umbel check exact.umb example.org
try umbel check exact.umb --fold-case example.org
try umbel build domains --fold-case --hex -q -o x.umb
# Files of version 1 record nothing.
seq 100 | umbel build --addressing universal --bits 3000 --hashes 3 -q -o i.umb
umbel info --json i.umb | field key_form

# Filters that are asked together hold keys of one form.
try umbel check d.umb --also t.umb example.org
try umbel check t.umb --also d.umb one
try umbel check d.umb --unless t.umb example.org
