/* Symbols of a module from the dynamic section in the target's memory, as its own loader would look them up. */
#include "why/process.h"

#include <elf.h>
#include <string.h>

enum {
	PROGRAM_HEADER_MAX = 64,
	DYNAMIC_MAX = 256,
	CHAIN_MAX = 4096,     /* symbols of one bucket; real ones hold a handful */
	NAME_MAX_BYTES = 128,
};

/* A module as its headers describe it; all addresses are the target's. */
struct module {
	const struct why_process *process;
	uint64_t bias;            /* address = bias + what the file says */
	uint64_t low, high;       /* where its segments lie */
	uint64_t dynamic, dynamic_bytes;
	uint64_t symbols, strings, strings_bytes;
	uint64_t gnu_hash, hash;  /* 0: none */
};

static bool read_headers(struct module *module, const struct why_map *map)
{
	Elf64_Ehdr header;
	Elf64_Phdr segments[PROGRAM_HEADER_MAX];
	const struct why_process *process = module->process;
	if (!why_read(process, map->start, &header, sizeof(header)) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(segments[0]) || header.e_phnum == 0 ||
	    header.e_phnum > PROGRAM_HEADER_MAX || header.e_phoff > UINT32_MAX)
		return false;
	if (!why_read(process, map->start + header.e_phoff, segments, header.e_phnum * sizeof(segments[0])))
		return false;

	uint64_t low = UINT64_MAX, high = 0;
	for (unsigned i = 0; i < header.e_phnum; i++) {
		const Elf64_Phdr *segment = &segments[i];
		if (segment->p_type == PT_DYNAMIC) {
			module->dynamic = segment->p_vaddr;
			module->dynamic_bytes = segment->p_memsz;
		}
		if (segment->p_type != PT_LOAD)
			continue;
		if (low == UINT64_MAX) /* segments are sorted: this one holds the file's first byte */
			low = segment->p_vaddr - segment->p_offset;
		if (segment->p_vaddr + segment->p_memsz > high)
			high = segment->p_vaddr + segment->p_memsz;
	}
	if (low >= high || module->dynamic == 0)
		return false;
	module->bias = map->start - low; /* wraps for what is linked to a fixed address above its mapping: as the loader does */
	module->low = map->start;
	module->high = map->start + (high - low);
	return true;
}

/* glibc writes addresses into its dynamic section, other loaders leave what the file says. */
static uint64_t absolute(const struct module *module, uint64_t value)
{
	return value >= module->low && value < module->high ? value : module->bias + value;
}

static bool read_dynamic(struct module *module)
{
	Elf64_Dyn entries[DYNAMIC_MAX];
	uint64_t count = module->dynamic_bytes / sizeof(entries[0]);
	if (count > DYNAMIC_MAX)
		count = DYNAMIC_MAX;
	if (!why_read(module->process, module->bias + module->dynamic, entries, count * sizeof(entries[0])))
		return false;
	for (uint64_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
		uint64_t value = entries[i].d_un.d_val;
		switch (entries[i].d_tag) {
		case DT_SYMTAB: module->symbols = absolute(module, value); break;
		case DT_STRTAB: module->strings = absolute(module, value); break;
		case DT_STRSZ: module->strings_bytes = value; break;
		case DT_GNU_HASH: module->gnu_hash = absolute(module, value); break;
		case DT_HASH: module->hash = absolute(module, value); break;
		default: break;
		}
	}
	return module->symbols && module->strings && (module->gnu_hash || module->hash);
}

/* Is this the symbol, defined here? */
static bool symbol_is(const struct module *module, uint32_t index, const char *name, Elf64_Sym *symbol)
{
	char text[NAME_MAX_BYTES];
	size_t length = strlen(name) + 1;
	if (length > sizeof(text) || !why_read(module->process, module->symbols + index * sizeof(*symbol), symbol, sizeof(*symbol)))
		return false;
	if (symbol->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol->st_info) == STT_TLS || symbol->st_name >= module->strings_bytes ||
	    length > module->strings_bytes - symbol->st_name)
		return false;
	return why_read(module->process, module->strings + symbol->st_name, text, length) && memcmp(text, name, length) == 0;
}

static uint32_t gnu_hash_of(const char *name)
{
	uint32_t hash = 5381;
	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

/* Header, bloom filter, buckets, chains; a chain's last hash has its lowest bit set. */
static bool find_by_gnu_hash(const struct module *module, const char *name, Elf64_Sym *symbol)
{
	struct { uint32_t buckets, first, bloom_words, bloom_shift; } header;
	uint32_t hash = gnu_hash_of(name), index, link;
	uint64_t word;
	if (!why_read(module->process, module->gnu_hash, &header, sizeof(header)) || header.buckets == 0 || header.bloom_words == 0)
		return false;
	uint64_t bloom = module->gnu_hash + sizeof(header);
	if (!why_read_u64(module->process, bloom + hash / 64 % header.bloom_words * sizeof(word), &word))
		return false;
	if (!(word >> (hash % 64) & word >> (hash >> (header.bloom_shift % 32)) % 64 & 1))
		return false;
	uint64_t buckets = bloom + header.bloom_words * sizeof(word), chains = buckets + header.buckets * (uint64_t)sizeof(index);
	if (!why_read_u32(module->process, buckets + hash % header.buckets * sizeof(index), &index) || index < header.first)
		return false;
	for (unsigned i = 0; i < CHAIN_MAX; i++, index++) {
		if (!why_read_u32(module->process, chains + (uint64_t)(index - header.first) * sizeof(link), &link))
			return false;
		if ((link | 1) == (hash | 1) && symbol_is(module, index, name, symbol))
			return true;
		if (link & 1)
			return false;
	}
	return false;
}

static uint32_t sysv_hash_of(const char *name)
{
	uint32_t hash = 0;
	for (; *name; name++) {
		hash = (hash << 4) + (unsigned char)*name;
		uint32_t high = hash & 0xf0000000;
		hash = (hash ^ high >> 24) & ~high;
	}
	return hash;
}

static bool find_by_hash(const struct module *module, const char *name, Elf64_Sym *symbol)
{
	uint32_t counts[2], index;
	if (!why_read(module->process, module->hash, counts, sizeof(counts)) || counts[0] == 0)
		return false;
	uint64_t buckets = module->hash + sizeof(counts), chains = buckets + counts[0] * (uint64_t)sizeof(index);
	if (!why_read_u32(module->process, buckets + sysv_hash_of(name) % counts[0] * (uint64_t)sizeof(index), &index))
		return false;
	for (unsigned i = 0; i < CHAIN_MAX && index != STN_UNDEF && index < counts[1]; i++) {
		if (symbol_is(module, index, name, symbol))
			return true;
		if (!why_read_u32(module->process, chains + (uint64_t)index * sizeof(index), &index))
			return false;
	}
	return false;
}

uint64_t why_symbol(const struct why_process *process, const struct why_map *map, const char *name, uint64_t *size)
{
	struct module module = { .process = process };
	Elf64_Sym symbol;
	if (!read_headers(&module, map) || !read_dynamic(&module))
		return 0;
	bool found = module.gnu_hash ? find_by_gnu_hash(&module, name, &symbol) : find_by_hash(&module, name, &symbol);
	if (!found)
		return 0;
	/* An absolute symbol is no place in the module, and what lies outside of it is no symbol of it. */
	uint64_t address = module.bias + symbol.st_value;
	if (symbol.st_shndx == SHN_ABS || address < module.low || address >= module.high)
		return 0;
	if (size)
		*size = symbol.st_size;
	return address;
}
