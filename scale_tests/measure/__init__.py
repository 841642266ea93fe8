"""Parts that all benchmarks share: protocol, document, checks, page, pictures."""
