"""What somebody else wrote: reads the file `input`, prints a line, leaves the file `result`."""

with open("input", encoding="utf-8") as file:
    numbers = [float(line) for line in file if line.strip()]

with open("result", "w", encoding="utf-8") as file:
    file.write(f"{sum(numbers) / len(numbers):.2f}\n")

print("read", len(numbers), "numbers")
