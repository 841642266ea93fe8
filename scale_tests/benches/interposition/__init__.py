"""The cost of interposition that is off, compared with a revision without it.

`pairs` builds the revision and measures both in turns, `report` has targets and table.
"""
