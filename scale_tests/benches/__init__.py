"""One package per benchmark; none imports another. `python -m scale_tests` lists them."""
