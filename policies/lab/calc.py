"""A request that keeps to the rules: a small calculation, its result also in the one folder it may write."""

import os

primes = [number for number in range(2, 200) if all(number % divisor for divisor in range(2, int(number**0.5) + 1))]
with open(os.path.join(os.environ["HOME"], "primes.txt"), "w", encoding="ascii") as file:
	file.write("\n".join(map(str, primes)))
print("primes below 200:", *primes)
