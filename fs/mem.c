/*
 * mem.c - the arena.
 *
 * MODEL  a slab is 2 MiB of address space, aligned to its size, so that a
 * page finds its slab and its meta by masking:
 *
 *   page 0..2   512 metas of 24 bytes; the first three stand for these very
 *               pages and are used as the slab's head instead
 *   page 3..511 pages handed out whole, or cut into objects of one class
 *
 * Pages that were never used are taken in order (so a fresh slab touches
 * only what it needs), freed ones from a list through the metas; the page
 * itself isn't written to. Objects' free list runs through the objects.
 *
 * LOCKS  the tree lock. NOT HERE: budgets, see quota.c.
 */
#include "fs/mem.h"

#include <assert.h>
#include <sys/mman.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define rs_poison(p, n) ASAN_POISON_MEMORY_REGION(p, n)
#define rs_unpoison(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define rs_poison(p, n) ((void)(p), (void)(n))
#define rs_unpoison(p, n) ((void)(p), (void)(n))
#endif

#define SLAB_SIZE (2u << 20)
#define SLAB_PAGES (SLAB_SIZE / RS_PAGE)
#define SLAB_HEAD 3u /* pages that the metas take */
/* empty slabs that are kept, so that a full tree can still be changed */
#define SLAB_SPARE 2u
#define NO_PAGE UINT16_MAX

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24 /* Linux 5.18 */
#endif

struct rs_page_meta {
	struct rs_page_meta *next, *prev; /* pages of a class with room */
	uint16_t free;	/* next free page, or first free object / 16 + 1 */
	uint16_t used;	/* objects in use */
	uint16_t class; /* index in class_size */
	uint16_t state; /* PAGE_ */
};

enum {
	PAGE_USED,    /* or never touched */
	PAGE_LOOSE,   /* free, and holds memory */
	PAGE_DROPPED, /* free, and the kernel has its memory back */
};

struct rs_slab {
	struct rs_slab *next, *prev;	       /* all slabs */
	struct rs_slab *open_next, *open_prev; /* those with free pages */
	uint16_t free;			       /* first freed page */
	uint16_t fresh;			       /* pages from here: untouched */
	uint16_t used;			       /* pages handed out */
};

_Static_assert(sizeof(struct rs_page_meta) * SLAB_PAGES == SLAB_HEAD * RS_PAGE,
	       "metas fill the head pages");
_Static_assert(sizeof(struct rs_slab) <=
		       SLAB_HEAD * sizeof(struct rs_page_meta),
	       "the slab's head fits in the metas of its own pages");

/* chosen so that 4096 / size wastes little; all multiples of 16 */
static const uint16_t class_size[] = {
	16,  32,  48,  64,  80,	 96,  112, 128, 144, 160, 176,	192,
	208, 224, 256, 288, 336, 400, 512, 576, 672, 816, 1360, 2048
};
_Static_assert(RS_ARRAY_LEN(class_size) == RS_MEM_CLASSES, "classes");

static unsigned int class_of(size_t size)
{
	unsigned int i = 0;

	if (size <= 224)
		return size ? (unsigned int)((size - 1) / 16) : 0;
	for (i = 14; class_size[i] < size; i++)
		;
	return i;
}

static struct rs_slab *slab_of(const void *p)
{
	return (struct rs_slab *)((uintptr_t)p & ~(uintptr_t)(SLAB_SIZE - 1));
}

static struct rs_page_meta *meta_of(const void *p)
{
	uintptr_t at = (uintptr_t)p & (SLAB_SIZE - 1);

	return (struct rs_page_meta *)(void *)slab_of(p) + at / RS_PAGE;
}

static unsigned char *page_of(const struct rs_page_meta *meta)
{
	struct rs_slab *slab = slab_of(meta);
	size_t index = (size_t)(meta - (struct rs_page_meta *)(void *)slab);

	return (unsigned char *)slab + index * RS_PAGE;
}

void rs_mem_init(struct rs_mem *mem)
{
	memset(mem, 0, sizeof(*mem));
}

/* Twice the size is mapped and trimmed: mmap aligns to 4 KiB only. */
static void *map_aligned(void)
{
	unsigned char *raw, *base;
	size_t before;

	raw = mmap(NULL, 2 * SLAB_SIZE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (raw == MAP_FAILED)
		return NULL;
	base = raw + (-(uintptr_t)raw & (SLAB_SIZE - 1));
	before = (size_t)(base - raw);
	if (before)
		munmap(raw, before);
	if (before < SLAB_SIZE)
		munmap(base + SLAB_SIZE, SLAB_SIZE - before);
	return base;
}

static void slab_open(struct rs_mem *mem, struct rs_slab *slab)
{
	slab->open_prev = NULL;
	slab->open_next = mem->open;
	if (mem->open)
		mem->open->open_prev = slab;
	mem->open = slab;
}

static void slab_close(struct rs_mem *mem, struct rs_slab *slab)
{
	if (slab->open_prev)
		slab->open_prev->open_next = slab->open_next;
	else
		mem->open = slab->open_next;
	if (slab->open_next)
		slab->open_next->open_prev = slab->open_prev;
}

static struct rs_slab *slab_new(struct rs_mem *mem)
{
	struct rs_slab *slab = map_aligned();

	if (!slab)
		return NULL;
	/* Mail must not turn up in a core file, and had better not in swap. */
	madvise(slab, SLAB_SIZE, MADV_DONTDUMP);
	if (!mem->unlocked && mlock(slab, SLAB_SIZE) < 0)
		mem->unlocked = 1;
	slab->free = NO_PAGE;
	slab->fresh = SLAB_HEAD;
	slab->next = mem->slabs;
	if (mem->slabs)
		mem->slabs->prev = slab;
	mem->slabs = slab;
	slab_open(mem, slab);
	mem->n_slabs++;
	mem->n_empty++;
	rs_poison((unsigned char *)slab + SLAB_HEAD * RS_PAGE,
		  SLAB_SIZE - SLAB_HEAD * RS_PAGE);
	return slab;
}

static void slab_unmap(struct rs_slab *slab)
{
	rs_unpoison(slab, SLAB_SIZE);
	munmap(slab, SLAB_SIZE);
}

static struct rs_page_meta *metas_of(struct rs_slab *slab)
{
	return (struct rs_page_meta *)(void *)slab;
}

static void slab_free(struct rs_mem *mem, struct rs_slab *slab)
{
	unsigned int i;

	for (i = SLAB_HEAD; i < slab->fresh; i++)
		mem->loose -= metas_of(slab)[i].state == PAGE_LOOSE;
	slab_close(mem, slab);
	if (slab->prev)
		slab->prev->next = slab->next;
	else
		mem->slabs = slab->next;
	if (slab->next)
		slab->next->prev = slab->prev;
	mem->n_slabs--;
	mem->n_empty--;
	slab_unmap(slab);
}

void rs_mem_release(struct rs_mem *mem)
{
	struct rs_slab *slab, *next;

	for (slab = mem->slabs; slab; slab = next) {
		next = slab->next;
		slab_unmap(slab);
	}
	rs_mem_init(mem);
}

void *rs_mem_page(struct rs_mem *mem)
{
	struct rs_slab *slab = mem->open;
	struct rs_page_meta *metas;
	unsigned char *page;
	unsigned int index;

	if (!slab)
		slab = slab_new(mem);
	if (!slab)
		return NULL;
	metas = (struct rs_page_meta *)(void *)slab;
	index = slab->free;
	if (index != NO_PAGE) {
		slab->free = metas[index].free;
		mem->loose -= metas[index].state == PAGE_LOOSE;
		metas[index].state = PAGE_USED;
	} else {
		index = slab->fresh++;
	}
	if (slab->used++ == 0)
		mem->n_empty--;
	if (slab->used == SLAB_PAGES - SLAB_HEAD)
		slab_close(mem, slab);
	mem->pages++;
	page = (unsigned char *)slab + (size_t)index * RS_PAGE;
	rs_unpoison(page, RS_PAGE);
	return page;
}

void rs_mem_page_free(struct rs_mem *mem, void *page)
{
	struct rs_slab *slab = slab_of(page);
	struct rs_page_meta *meta = meta_of(page);

	rs_poison(page, RS_PAGE);
	meta->state = PAGE_LOOSE;
	mem->loose++;
	meta->free = slab->free;
	slab->free = (uint16_t)(meta - (struct rs_page_meta *)(void *)slab);
	mem->pages--;
	if (slab->used-- == SLAB_PAGES - SLAB_HEAD)
		slab_open(mem, slab);
	if (slab->used)
		return;
	mem->n_empty++;
	if (mem->n_empty > SLAB_SPARE)
		slab_free(mem, slab);
}

/* Some slabs are locked and some, where that failed, are not. */
static int give_back(void *page, size_t len)
{
	return madvise(page, len, MADV_DONTNEED_LOCKED) &&
	       madvise(page, len, MADV_DONTNEED);
}

/* Neighbours in one call. */
static int slab_trim(struct rs_mem *mem, struct rs_slab *slab)
{
	struct rs_page_meta *metas = metas_of(slab);
	unsigned int i = SLAB_HEAD, end, k;

	for (; i < slab->fresh; i = end + 1) {
		for (end = i; end < slab->fresh; end++)
			if (metas[end].state != PAGE_LOOSE)
				break;
		if (end == i)
			continue;
		if (give_back((unsigned char *)slab + (size_t)i * RS_PAGE,
			      (size_t)(end - i) * RS_PAGE))
			return 0;
		for (k = i; k < end; k++)
			metas[k].state = PAGE_DROPPED;
		mem->loose -= end - i;
	}
	return 1;
}

void rs_mem_trim(struct rs_mem *mem, uint64_t pages)
{
	uint64_t goal = mem->loose > pages ? mem->loose - pages : 0;
	struct rs_slab *slab;

	for (slab = mem->open; slab && mem->loose > goal;
	     slab = slab->open_next)
		if (!slab_trim(mem, slab))
			return; /* an old kernel: they stay taken */
}

static void class_link(struct rs_mem *mem, struct rs_page_meta *meta)
{
	struct rs_page_meta **head = &mem->partial[meta->class];

	meta->prev = NULL;
	meta->next = *head;
	if (*head)
		(*head)->prev = meta;
	*head = meta;
}

static void class_unlink(struct rs_mem *mem, struct rs_page_meta *meta)
{
	if (meta->prev)
		meta->prev->next = meta->next;
	else
		mem->partial[meta->class] = meta->next;
	if (meta->next)
		meta->next->prev = meta->prev;
}

/* Objects' places are counted in 16 bytes from 1 on; 0 ends the list. */
static struct rs_page_meta *class_grow(struct rs_mem *mem, unsigned int class)
{
	unsigned char *page = rs_mem_page(mem);
	struct rs_page_meta *meta;
	unsigned int size = class_size[class], at;
	uint16_t next = 0;

	if (!page)
		return NULL;
	for (at = RS_PAGE / size; at-- > 0;) {
		memcpy(page + at * size, &next, sizeof(next));
		next = (uint16_t)(at * size / 16 + 1);
	}
	rs_poison(page, RS_PAGE);
	meta = meta_of(page);
	meta->free = next;
	meta->used = 0;
	meta->class = (uint16_t) class;
	class_link(mem, meta);
	return meta;
}

static void *object_alloc(struct rs_mem *mem, unsigned int class)
{
	struct rs_page_meta *meta = mem->partial[class];
	unsigned char *obj;

	if (!meta)
		meta = class_grow(mem, class);
	if (!meta)
		return NULL;
	obj = page_of(meta) + (meta->free - 1u) * 16u;
	rs_unpoison(obj, class_size[class]);
	memcpy(&meta->free, obj, sizeof(meta->free));
	meta->used++;
	if (!meta->free)
		class_unlink(mem, meta);
	return obj;
}

static void object_free(struct rs_mem *mem, void *obj, unsigned int class)
{
	struct rs_page_meta *meta = meta_of(obj);
	unsigned char *page = page_of(meta);

	assert(meta->class == class);
	if (!meta->free)
		class_link(mem, meta);
	memcpy(obj, &meta->free, sizeof(meta->free));
	rs_poison(obj, class_size[class]);
	meta->free = (uint16_t)(((unsigned char *)obj - page) / 16 + 1);
	meta->used--;
	if (meta->used)
		return;
	class_unlink(mem, meta);
	rs_mem_page_free(mem, page);
}

void *rs_mem_alloc(struct rs_mem *mem, size_t size)
{
	void *obj;

	if (size <= RS_OBJ_MAX)
		return object_alloc(mem, class_of(size));
	if (size <= RS_PAGE)
		return rs_mem_page(mem);
	obj = malloc(size);
	if (obj)
		mem->extra += size;
	return obj;
}

void *rs_mem_zalloc(struct rs_mem *mem, size_t size)
{
	void *obj = rs_mem_alloc(mem, size);

	if (obj)
		memset(obj, 0, size);
	return obj;
}

void rs_mem_free(struct rs_mem *mem, void *obj, size_t size)
{
	if (!obj)
		return;
	if (size <= RS_OBJ_MAX) {
		object_free(mem, obj, class_of(size));
	} else if (size <= RS_PAGE) {
		rs_mem_page_free(mem, obj);
	} else {
		mem->extra -= size;
		free(obj);
	}
}
