# "umbel MAJOR.MINOR.PATCH" and nothing else.
umbel --version | grep -cx 'umbel [0-9]\+\.[0-9]\+\.[0-9]\+'
umbel --version | wc -l
