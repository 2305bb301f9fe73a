/* The entries that came nearest to allowing a request, and why each did not: the answer to "but I did list it". */
#include "base/text.h"
#include "policy/decide.h"
#include "policy/rules.h"
#include "policy/variables.h"

#include <stdio.h>
#include <string.h>

/* SCORE_MATCHES is more than any number of components. */
enum { KEPT_MAX = 16, SCORE_MATCHES = 1000, SCORE_MATCHES_GIVEN };

/* The best so far, nearest first; among equals the one that stands first in the policy. */
struct kept {
	struct considered *out;
	unsigned scores[KEPT_MAX];
	size_t count, most;
};

static struct considered *keep(struct kept *kept, unsigned score, const struct rule *rule, enum rule_list list)
{
	size_t at = kept->count;
	while (at > 0 && kept->scores[at - 1] < score)
		at--;
	if (at == kept->most)
		return NULL;
	size_t moved = (kept->count < kept->most ? kept->count : kept->most - 1) - at;
	memmove(&kept->out[at + 1], &kept->out[at], moved * sizeof(*kept->out));
	memmove(&kept->scores[at + 1], &kept->scores[at], moved * sizeof(*kept->scores));
	kept->count += kept->count < kept->most;
	kept->scores[at] = score;
	kept->out[at] = (struct considered){ .rule = rule, .list = list };
	return &kept->out[at];
}

static void keep_dropped(struct kept *kept, const struct rule *rule, enum rule_list list)
{
	enum variable variable;
	size_t length;
	const char *place = rule_variable_place(list, rule->text);
	if (!place || variable_read(place, &variable, &length, NULL) != 0)
		return;
	struct considered *considered = keep(kept, 0, rule, list);
	if (considered)
		snprintf(considered->why, sizeof(considered->why), "${%s} has no value in this run",
			 variable_name(variable));
}

/* ---- paths ---- */

static const char *const list_words[] = { [LIST_READ] = "read", [LIST_WRITE] = "write", [LIST_EXECUTE] = "execute" };

static bool matches_name(const struct rule *rule, const char *name, pid_t self)
{
	for (size_t i = 0; i < rule->pattern_count; i++)
		if (pattern_matches(rule->patterns[i], name, self))
			return true;
	return false;
}

static bool matches(const struct rule *rule, const struct path_request *request)
{
	return matches_name(rule, request->path, request->self);
}

/* "But I did list it": the name as written is covered, what it leads to is not. With `..` in it the letters say nothing. */
static bool covers_given(const struct rule *rule, const struct path_request *request)
{
	return request->given && variable_value_is_normal(request->given) && !matches(rule, request) &&
	       matches_name(rule, request->given, request->self);
}

/* An entry whose first component differs already is not near. */
static void keep_miss(struct kept *kept, const struct rule *rule, enum rule_list list,
		      const struct path_request *request)
{
	size_t best = 0, best_common = 0;
	for (size_t i = 0; i < rule->pattern_count; i++) {
		size_t common = pattern_common_components(rule->patterns[i], request->path, request->self);
		if (common <= best_common)
			continue;
		best = i;
		best_common = common;
	}
	if (best_common == 0)
		return;
	struct considered *considered = keep(kept, (unsigned)best_common, rule, list);
	if (considered && rule->folders_only && matches(rule, request))
		snprintf(considered->why, sizeof(considered->why), "covers the listing of folders, not files");
	else if (considered)
		pattern_explain_miss(rule->patterns[best], request->path, request->self, considered->why,
				     sizeof(considered->why));
}

static void consider_missing(struct kept *kept, const struct policy *policy, enum rule_list missing,
			     const struct path_request *request)
{
	for (unsigned list = LIST_READ; list <= LIST_EXECUTE; list++) {
		for (size_t i = 0; i < policy->lists[list].count; i++) {
			const struct rule *rule = &policy->lists[list].items[i];
			struct considered *considered;
			if (list != missing && matches(rule, request)) {
				considered = keep(kept, SCORE_MATCHES, rule, (enum rule_list)list);
				if (considered)
					snprintf(considered->why, sizeof(considered->why), "allows %s, not %s",
						 list_words[list], list_words[missing]);
			} else if (list == missing && rule->dropped) {
				keep_dropped(kept, rule, (enum rule_list)list);
			} else if (list == missing && covers_given(rule, request)) {
				considered = keep(kept, SCORE_MATCHES_GIVEN, rule, (enum rule_list)list);
				if (considered)
					snprintf(considered->why, sizeof(considered->why),
						 "covers the name, but a link leads from there to elsewhere");
			} else if (list == missing) {
				keep_miss(kept, rule, (enum rule_list)list, request);
			}
		}
	}
}

static bool asks_for(const struct path_request *request, unsigned list)
{
	static const unsigned accesses[] = {
		[LIST_READ] = ACCESS_READ, [LIST_WRITE] = ACCESS_WRITE, [LIST_EXECUTE] = ACCESS_EXECUTE
	};
	return (request->access & accesses[list]) != 0;
}

/* A deny entry decided: what would have allowed it otherwise is the surprise. */
static void consider_denied(struct kept *kept, const struct policy *policy, const struct path_request *request)
{
	for (unsigned list = LIST_READ; list <= LIST_EXECUTE; list++) {
		for (size_t i = 0; i < policy->lists[list].count && asks_for(request, list); i++) {
			const struct rule *rule = &policy->lists[list].items[i];
			struct considered *considered =
				matches(rule, request) ? keep(kept, SCORE_MATCHES, rule, (enum rule_list)list) : NULL;
			if (considered)
				snprintf(considered->why, sizeof(considered->why),
					 "allows %s, but a deny entry beats it", list_words[list]);
		}
	}
}

size_t decide_consider_path(const struct policy *policy, const struct path_request *request, struct considered *out,
			    size_t most)
{
	struct kept kept = { .out = out, .most = most < KEPT_MAX ? most : KEPT_MAX };
	struct decision decision = decide_path(policy, request);
	if (decision.kind == DECISION_DENY && decision.matched)
		consider_denied(&kept, policy, request);
	else if (decision.kind == DECISION_DENY)
		consider_missing(&kept, policy, decision.list, request);
	return kept.count;
}

/* ---- network ---- */

enum { SCORE_HOST = 4, SCORE_PORT = 2, SCORE_TRANSPORT = 1 };

static const char *const transport_words[] = {
	[TRANSPORT_ANY] = "TCP and UDP", [TRANSPORT_TCP] = "TCP", [TRANSPORT_UDP] = "UDP"
};

/* Which parts of an entry fit, found by widening the others and asking again. */
static unsigned inet_score(const struct address_pattern *pattern, const struct address *address)
{
	struct address_pattern host = *pattern, port = *pattern;
	host.transport = port.transport = TRANSPORT_ANY;
	host.port_low = 0;
	host.port_high = UINT16_MAX;
	port.localhost = false;
	port.kind = address->kind;
	port.prefix_bits = 0;
	bool transport = pattern->transport == TRANSPORT_ANY || pattern->transport == address->transport;
	return (address_matches(&host, address) ? SCORE_HOST : 0u) +
	       (address_matches(&port, address) ? SCORE_PORT : 0u) + (transport ? SCORE_TRANSPORT : 0u);
}

static void explain_inet(const struct address_pattern *pattern, const struct address *address, unsigned score,
			 char *why, size_t size)
{
	if (!(score & SCORE_HOST))
		snprintf(why, size, "the address is another one");
	else if (score & SCORE_PORT)
		snprintf(why, size, "covers %s, not %s", transport_words[pattern->transport],
			 transport_words[address->transport]);
	else if (pattern->port_low == pattern->port_high)
		snprintf(why, size, "port %u is not %u", address->port, pattern->port_low);
	else
		snprintf(why, size, "port %u is not in %u-%u", address->port, pattern->port_low, pattern->port_high);
}

static void keep_inet(struct kept *kept, const struct rule *rule, enum rule_list list, const struct address *address)
{
	unsigned score = inet_score(&rule->address, address);
	if (!(score & (SCORE_HOST | SCORE_PORT)))
		return;
	struct considered *considered = keep(kept, score, rule, list);
	if (considered)
		explain_inet(&rule->address, address, score, considered->why, sizeof(considered->why));
}

static void keep_socket_path(struct kept *kept, const struct rule *rule, enum rule_list list,
			     const struct address *address)
{
	size_t common = pattern_common_components(rule->address.path, address->path, 0);
	struct considered *considered = common ? keep(kept, (unsigned)common, rule, list) : NULL;
	if (considered)
		pattern_explain_miss(rule->address.path, address->path, 0, considered->why, sizeof(considered->why));
}

static void keep_abstract(struct kept *kept, const struct rule *rule, enum rule_list list)
{
	struct considered *considered = keep(kept, SCORE_TRANSPORT, rule, list);
	if (considered)
		snprintf(considered->why, sizeof(considered->why), "the name is another one");
}

static bool is_inet(enum address_kind kind)
{
	return kind == ADDRESS_IPV4 || kind == ADDRESS_IPV6;
}

size_t decide_consider_connect(const struct policy *policy, enum rule_list list, const struct address *address,
			       struct considered *out, size_t most)
{
	struct kept kept = { .out = out, .most = most < KEPT_MAX ? most : KEPT_MAX };
	struct decision decision = list == LIST_BIND ? decide_bind(policy, address) : decide_connect(policy, address);
	if (decision.kind != DECISION_DENY || decision.matched || decision.list != list)
		return 0;
	struct address judged = *address; /* as decide_connect has judged it */
	if (list == LIST_CONNECT)
		address_fold_wildcard(&judged);
	address = &judged;
	for (size_t i = 0; i < policy->lists[list].count; i++) {
		const struct rule *rule = &policy->lists[list].items[i];
		if (rule->dropped)
			keep_dropped(&kept, rule, list);
		else if (is_inet(rule->address.kind) && is_inet(address->kind))
			keep_inet(&kept, rule, list, address);
		else if (rule->address.kind == ADDRESS_UNIX_PATH && address->kind == ADDRESS_UNIX_PATH)
			keep_socket_path(&kept, rule, list, address);
		else if (rule->address.kind == ADDRESS_UNIX_ABSTRACT && address->kind == ADDRESS_UNIX_ABSTRACT)
			keep_abstract(&kept, rule, list);
	}
	return kept.count;
}
