#!/usr/bin/python3
"""Writes data.csv: an invented household survey, the same bytes on every machine. Nobody's data; in the public domain.

    make_data.py > data.csv
"""

import math
import random
import sys

HOUSEHOLDS = 4800
# Region, share of the households, yearly income of its middle household.
REGIONS = [("Coast", 0.22, 31000), ("Hills", 0.14, 26500), ("Lakes", 0.18, 28800), ("Plains", 0.25, 24200), ("Valley", 0.21, 33500)]
SIZE_SHARES = [0.29, 0.33, 0.17, 0.14, 0.07]


def pick(number, shares):
	for index, share in enumerate(shares):
		number -= share
		if number < 0:
			return index
	return len(shares) - 1


def bell(source):
	"""About normal, mean 0, deviation 1. Only random() is promised to give the same numbers in every Python."""
	return sum(source.random() for _ in range(12)) - 6


def households(source):
	shares = [share for _, share, _ in REGIONS]
	for number in range(1, HOUSEHOLDS + 1):
		name, _, middle = REGIONS[pick(source.random(), shares)]
		size = 1 + pick(source.random(), SIZE_SHARES)
		income = round(middle * math.exp(0.55 * bell(source)) * (0.8 + 0.1 * size), -1)
		weight = 0.4 + 1.6 * source.random()  # how many households of the region this one stands for, in hundreds
		yield f"{number},{name},{size},{weight:.4f},{income:.0f}"


def main():
	print("household,region,size,weight,income")
	for line in households(random.Random(20240229)):
		print(line)


if __name__ == "__main__":
	sys.exit(main())
