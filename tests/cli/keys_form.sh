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
