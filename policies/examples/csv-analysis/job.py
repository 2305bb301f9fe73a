#!/usr/bin/python3
"""Weighted median income per region: reads data.csv beside this file, writes result.csv, prints a table."""

import csv
import os
import sys

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data.csv")
RESULT = "result.csv"


def weighted_median(pairs):
	"""The smallest value at which half of the weight is reached; `pairs` are (value, weight)."""
	pairs = sorted(pairs)
	half = sum(weight for _, weight in pairs) / 2
	reached = 0.0
	for value, weight in pairs:
		reached += weight
		if reached >= half:
			return value
	raise ValueError("no rows")


def by_region(path):
	groups = {}
	with open(path, newline="", encoding="ascii") as file:
		for row in csv.DictReader(file):
			groups.setdefault(row["region"], []).append((int(row["income"]), float(row["weight"])))
	return groups


def main():
	groups = by_region(DATA)
	rows = [(region, len(groups[region]), weighted_median(groups[region])) for region in sorted(groups)]
	with open(RESULT, "w", newline="", encoding="ascii") as file:
		writer = csv.writer(file, lineterminator="\n")
		writer.writerow(["region", "households", "median_income"])
		writer.writerows(rows)
	print(f"{'region':<10}{'households':>12}{'median income':>16}")
	for region, count, median in rows:
		print(f"{region:<10}{count:>12}{median:>16}")
	return 0


if __name__ == "__main__":
	sys.exit(main())
