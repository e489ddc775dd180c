/*
 * murmur.h - MurmurHash2 (Austin Appleby, public domain), as RedisBloom uses
 * it: 64 bits ("64A") for Bloom filters, 32 bits for count-min sketches.
 *
 * Its constants are public and anyone can compute keys that collide: only for
 * formats of others.
 */
#ifndef UM_BASE_MURMUR_H
#define UM_BASE_MURMUR_H

#include <umbel/base.h>

uint64_t um_murmur64a(const void *key, size_t len, uint64_t seed);
/* RedisBloom's pair: the first hash is the seed of the second. */
umbel_digest um_murmur_digest(const void *key, size_t len);
uint32_t um_murmur32(const void *key, size_t len, uint32_t seed);

#endif
