/* The set in which counted inodes are remembered: across its growth, and with numbers that fall on one another. */
#include "engine/inode_set.h"

#include "tap.h"

enum { MANY = 5000 };

static void test_many(uint64_t step, const char *what)
{
	struct inode_set set = { 0 };
	int added = 0, again = 0, there = 0, foreign = 0;
	tap_ok(!inode_set_has(&set, step), "%s: an empty set has nothing", what);
	for (uint64_t i = 1; i <= MANY; i++)
		added += inode_set_add(&set, i * step);
	for (uint64_t i = 1; i <= MANY; i++) {
		again += inode_set_add(&set, i * step);
		there += inode_set_has(&set, i * step);
		foreign += inode_set_has(&set, i * step + 1);
	}
	tap_number(added, MANY, "%s: each is new once", what);
	tap_number(again, 0, "%s: and not again", what);
	tap_number(there, MANY, "%s: all are there", what);
	tap_number(foreign, step == 1 ? MANY - 1 : 0, "%s: and no others", what);
	tap_number((long long)set.count, MANY, "%s: they are counted", what);
	inode_set_clear(&set);
	tap_ok(set.count == 0 && !inode_set_has(&set, step), "%s: cleared", what);
	tap_ok(inode_set_add(&set, step), "%s: and used once more", what);
	inode_set_free(&set);
	tap_ok(!set.slots && !inode_set_has(&set, step), "%s: freed", what);
}

int main(void)
{
	test_many(1, "neighbours");
	test_many(UINT64_C(1) << 20, "equal low bits");
	test_many(UINT64_C(1) << 32, "equal low words");
	test_many(UINT64_C(0x9e3779b97f4a7c15), "numbers without an order");
	return tap_done();
}
