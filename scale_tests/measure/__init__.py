"""What all benchmarks share: protocol, document, checks, page, pictures."""
