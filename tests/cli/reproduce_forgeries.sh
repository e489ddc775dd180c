# Filters of makers who know everything: none that is admitted matches too much.
# Few tries; docs/SECURITY-MODEL.md says what they try.
umbel reproduce forgeries --rounds 8 --seed 3 | tail -n 1
