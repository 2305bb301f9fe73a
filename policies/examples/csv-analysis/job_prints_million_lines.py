#!/usr/bin/python3
"""The same job, but somebody left a debugging line in a loop."""

import job

job.main()
for number in range(1_000_000):
	print("row", number, "done")
