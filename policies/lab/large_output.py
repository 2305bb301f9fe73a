"""A request that would bury its reader: a hundred thousand lines."""

for number in range(100_000):
	print("line", number)
