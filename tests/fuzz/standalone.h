/* A main for a fuzzer where there is no libFuzzer: PROGRAM [ITERATIONS] [SEED-FILE]...
 *
 * A bounded loop that changes seeds at random, with a fixed start: two runs try the same inputs. Seeds are the files
 * named, and those built in. Included once, by the fuzzer itself, under FUZZ_STANDALONE. */
#ifndef TESTS_FUZZ_STANDALONE_H
#define TESTS_FUZZ_STANDALONE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STANDALONE_MAX_BYTES = 4096, STANDALONE_MAX_SEEDS = 256, STANDALONE_ITERATIONS = 20000 };

struct standalone_input {
	size_t length;
	uint8_t bytes[STANDALONE_MAX_BYTES];
};

struct standalone {
	uint64_t random;
	size_t count;
	struct standalone_input *seeds; /* STANDALONE_MAX_SEEDS of them */
};

/* xorshift64: good enough to pick places, and the same everywhere. */
static inline uint32_t standalone_below(struct standalone *state, size_t limit)
{
	state->random ^= state->random << 13;
	state->random ^= state->random >> 7;
	state->random ^= state->random << 17;
	return (uint32_t)((state->random >> 16) % (limit ? limit : 1));
}

static inline void standalone_seed(struct standalone *state, const void *bytes, size_t length)
{
	if (state->count == STANDALONE_MAX_SEEDS)
		return;
	struct standalone_input *seed = &state->seeds[state->count++];
	seed->length = length < STANDALONE_MAX_BYTES ? length : STANDALONE_MAX_BYTES;
	memcpy(seed->bytes, bytes, seed->length);
}

static inline int standalone_seed_file(struct standalone *state, const char *path)
{
	uint8_t bytes[STANDALONE_MAX_BYTES];
	FILE *file = fopen(path, "rb");
	if (!file) {
		perror(path);
		return -1;
	}
	standalone_seed(state, bytes, fread(bytes, 1, sizeof(bytes), file));
	fclose(file);
	return 0;
}

static inline void standalone_remove(struct standalone *state, struct standalone_input *input)
{
	size_t at = standalone_below(state, input->length), count = 1 + standalone_below(state, 16);
	if (count > input->length - at)
		count = input->length - at;
	memmove(input->bytes + at, input->bytes + at + count, input->length - at - count);
	input->length -= count;
}

static inline void standalone_insert(struct standalone *state, struct standalone_input *input, const uint8_t *bytes,
				     size_t count)
{
	size_t at = standalone_below(state, input->length + 1);
	if (count > STANDALONE_MAX_BYTES - input->length)
		count = STANDALONE_MAX_BYTES - input->length;
	memmove(input->bytes + at + count, input->bytes + at, input->length - at);
	memcpy(input->bytes + at, bytes, count);
	input->length += count;
}

/* One change: a byte, a bit, a stretch less, a stretch of another seed more, or a character that means something. */
static inline void standalone_change(struct standalone *state, struct standalone_input *input)
{
	static const uint8_t marks[] = "\"\\/*?[]{}:,.-$0 \n@";
	uint8_t mark = marks[standalone_below(state, sizeof(marks))];
	const struct standalone_input *other = &state->seeds[standalone_below(state, state->count)];
	switch (standalone_below(state, 5)) {
	case 0:
		if (input->length)
			input->bytes[standalone_below(state, input->length)] = (uint8_t)standalone_below(state, 256);
		break;
	case 1:
		if (input->length)
			input->bytes[standalone_below(state, input->length)] ^= (uint8_t)(1u << standalone_below(state, 8));
		break;
	case 2:
		standalone_remove(state, input);
		break;
	case 3: {
		size_t from = standalone_below(state, other->length);
		standalone_insert(state, input, other->bytes + from, standalone_below(state, other->length - from + 1));
		break;
	}
	default:
		standalone_insert(state, input, &mark, 1);
		break;
	}
}

static inline int standalone_main(int argc, char **argv, const char *const *built_in, size_t built_in_count,
				  int (*test)(const uint8_t *bytes, size_t length))
{
	struct standalone state = { .random = 88172645463325252u };
	state.seeds = calloc(STANDALONE_MAX_SEEDS, sizeof(*state.seeds));
	struct standalone_input *input = calloc(1, sizeof(*input));
	unsigned long iterations = STANDALONE_ITERATIONS;
	int at = 1;
	if (!state.seeds || !input)
		return 2;
	if (argc > 1 && argv[1][strspn(argv[1], "0123456789")] == '\0') {
		iterations = strtoul(argv[1], NULL, 10);
		at = 2;
	}
	for (size_t i = 0; i < built_in_count; i++)
		standalone_seed(&state, built_in[i], strlen(built_in[i]));
	for (; at < argc; at++)
		if (standalone_seed_file(&state, argv[at]) != 0)
			return 2;

	for (size_t i = 0; i < state.count; i++)
		test(state.seeds[i].bytes, state.seeds[i].length);
	for (unsigned long i = 0; i < iterations; i++) {
		*input = state.seeds[standalone_below(&state, state.count)];
		for (uint32_t changes = 1 + standalone_below(&state, 6); changes > 0; changes--)
			standalone_change(&state, input);
		test(input->bytes, input->length);
	}
	printf("%zu seeds, %lu changed inputs\n", state.count, iterations);
	free(input);
	free(state.seeds);
	return 0;
}

#endif
