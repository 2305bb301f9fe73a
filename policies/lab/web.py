"""A request that wants the network: a page from an address that is set aside for documentation."""

import http.client

connection = http.client.HTTPConnection("192.0.2.80", timeout=1)
connection.request("GET", "/")
print(connection.getresponse().status)
