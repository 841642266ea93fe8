"""The live page: what the operator observes, as one stream of changes for those who may read it."""
