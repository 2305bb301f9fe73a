#!/usr/bin/python3
"""The same job, but it also looks at a private key: job_reads_key.py KEYFILE"""

import sys

import job

job.main()
with open(sys.argv[1], encoding="ascii") as file:
	print("took", len(file.read()), "bytes of a key")
