"""The live page with a recorded cluster of 1,024 nodes: drawing, changes, memory, viewers."""
