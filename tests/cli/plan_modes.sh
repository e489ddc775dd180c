# An option that the chosen way of planning does not use is refused.
try umbel plan --kind generalized --fp-bound .01 --fn-bound .1 --wire 1000 --groups 3 --cell-bits 99 --addressing nope
try umbel plan --kind generalized --fp-bound .01 --fn-bound .1 --groups 3
try umbel plan --kind generalized --fp-bound .01 --fn-bound .1 --cell-bits 99
try umbel plan --kind generalized --fp-bound .01 --fn-bound .1 --addressing nope
try umbel plan --kind ribbon --capacity 1000 --hashes 3
try umbel plan --capacity 1000 --wire 900 --clear 5
try umbel plan --members a --never b --kind ribbon
try umbel plan --capacity 1000 --weights
try umbel plan --capacity 1000 --counts a
try umbel plan --keys 1000
try umbel plan --capacity 1000 --memory 5
try umbel plan --capacity 1000 --set groups=2
