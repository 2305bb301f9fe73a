#!/usr/bin/python3
"""The same job, but it also asks the cloud's metadata service for credentials: job_calls_metadata_service.py [HOST PORT]"""

import socket
import sys

import job

HOST, PORT = (sys.argv[1], int(sys.argv[2])) if len(sys.argv) == 3 else ("169.254.169.254", 80)

job.main()
with socket.create_connection((HOST, PORT), timeout=1) as connection:
	connection.sendall(b"GET /latest/meta-data/iam/security-credentials/ HTTP/1.0\r\n\r\n")
	print("the service answered", len(connection.recv(4096)), "bytes")
