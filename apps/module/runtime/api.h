/*
 * api.h - our own declarations of the server's module API.
 *
 * Nothing is linked: the server returns each function by name. Functions newer
 * than Redis 7.0 may be missing, so their pointers are tested before a call.
 * Handles are opaque. The names are those of the server's documentation:
 * um_api.OpenKey is RedisModule_OpenKey.
 */
#ifndef UM_MODULE_API_H
#define UM_MODULE_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct um_ctx um_ctx;         /* of one call */
typedef struct um_str um_str;         /* an argument, or a key's name */
typedef struct um_key um_key;         /* an opened key */
typedef struct um_type um_type;       /* a registered data type */
typedef struct um_io um_io;           /* an RDB or AOF being read or written */
typedef struct um_md um_md;           /* digest that DEBUG DIGEST computes */
typedef struct um_blocked um_blocked; /* a client that waits for a thread */
typedef struct um_handle um_handle;   /* a registered command */
typedef struct um_optctx um_optctx;   /* key and database, for a callback */
typedef struct um_defrag um_defrag;
typedef struct um_info_ctx um_info_ctx; /* an INFO reply being written */
typedef struct um_filtered um_filtered; /* a command that has arrived */

/* A command, or the reply to a client that waited. */
typedef int um_command_run(um_ctx *ctx, um_str **argv, int argc);

enum { UM_DONE = 0, UM_ERR = 1 };   /* what functions return */
enum { UM_READ = 1, UM_WRITE = 2 }; /* OpenKey */
enum { UM_KEY_EMPTY = 0, UM_KEY_SET = 4, UM_KEY_MODULE = 6 }; /* KeyType */
enum { UM_HANDLES_IO_ERRORS = 1 << 0 }; /* SetModuleOptions */
enum { UM_NOTIFY_GENERIC = 1 << 2, UM_NOTIFY_MODULE = 1 << 13 };
enum { UM_POSTPONED = -1 }; /* a length that is set later */

/* GetContextFlags */
enum {
    UM_IN_LUA = 1 << 0,
    UM_IN_MULTI = 1 << 1,
    UM_IS_REPLICA = 1 << 3,
    UM_READ_ONLY = 1 << 4, /* a replica that clients cannot write to */
    UM_IN_CLUSTER = 1 << 5,
    UM_MAY_EVICT = 1 << 9,   /* maxmemory is set, and not noeviction */
    UM_REPLICATED = 1 << 12, /* the command comes from the primary */
    UM_LOADING = 1 << 13,
    UM_IN_CHILD = 1 << 20,
    UM_DENY_BLOCKING = 1 << 21,
    UM_RESP3 = 1 << 22
};

/* Flags of a setting. */
enum {
    UM_SETTING_IMMUTABLE = 1 << 0,
    UM_SETTING_SENSITIVE = 1 << 1,
    UM_SETTING_MEMORY = 1 << 7 /* accepts 64mb */
};

/* Methods of a data type; the server reads those that its version has. */
typedef struct um_type_methods {
    uint64_t version;
    void *(*rdb_load)(um_io *io, int encver);
    void (*rdb_save)(um_io *io, void *value);
    void (*aof_rewrite)(um_io *io, um_str *key, void *value);
    size_t (*mem_usage)(const void *value);
    void (*digest)(um_md *md, void *value);
    void (*free)(void *value);
    int (*aux_load)(um_io *io, int encver, int when);
    void (*aux_save)(um_io *io, int when);
    int aux_save_triggers;
    size_t (*free_effort)(um_str *key, const void *value);
    void (*unlink)(um_str *key, const void *value);
    void *(*copy)(um_str *from, um_str *to, void *value);
    int (*defrag)(um_defrag *ctx, um_str *key, void **value);
    size_t (*mem_usage2)(um_optctx *ctx, const void *value, size_t samples);
    size_t (*free_effort2)(um_optctx *ctx, const void *value);
    void (*unlink2)(um_optctx *ctx, const void *value);
    void *(*copy2)(um_optctx *ctx, const void *value);
} um_type_methods;

enum { UM_METHODS_VERSION = 4 }; /* Redis 7.0 */

/* --- what SetCommandInfo reads -------------------------------------------- */

typedef struct um_history {
    const char *since, *changes;
} um_history;

/* Flags of a key spec: what the command does with the key, and with its
 * content. */
enum {
    UM_SPEC_RO = 1 << 0,
    UM_SPEC_RW = 1 << 1,
    UM_SPEC_OW = 1 << 2,
    UM_SPEC_ACCESS = 1 << 4,
    UM_SPEC_UPDATE = 1 << 5,
    UM_SPEC_INSERT = 1 << 6,
    UM_SPEC_DELETE = 1 << 7
};
enum { UM_BEGIN_INDEX = 2, UM_BEGIN_KEYWORD = 3 };
enum { UM_FIND_RANGE = 2, UM_FIND_KEYNUM = 3 };

/* Where a command has keys. Lists end with a row of zeros. */
typedef struct um_key_spec {
    const char *notes;
    uint64_t flags;
    int begin_search; /* UM_BEGIN_* */
    union {
        struct {
            int pos;
        } index;
        struct {
            const char *keyword;
            int startfrom;
        } keyword;
    } begin;
    int find_keys; /* UM_FIND_* */
    union {
        struct {
            int lastkey, keystep, limit;
        } range;
        struct {
            int keynumidx, firstkey, keystep;
        } keynum;
    } find;
} um_key_spec;

enum {
    UM_ARG_STRING,
    UM_ARG_INTEGER,
    UM_ARG_DOUBLE,
    UM_ARG_KEY,
    UM_ARG_PATTERN,
    UM_ARG_UNIX_TIME,
    UM_ARG_TOKEN,
    UM_ARG_ONEOF,
    UM_ARG_BLOCK
};
enum { UM_ARG_OPTIONAL = 1 << 0, UM_ARG_MULTIPLE = 1 << 1 };

/* An argument, for COMMAND DOCS. Lists end with a row of zeros. */
typedef struct um_arg {
    const char *name;
    int type; /* UM_ARG_STRING ... */
    int key_spec_index;
    const char *token; /* the word before it */
    const char *summary;
    const char *since;
    int flags;
    const char *deprecated_since;
    const struct um_arg *subargs;
    const char *display_text; /* Redis 7.2 */
} um_arg;

typedef struct um_docs_version {
    int version; /* 1 */
    size_t history_len, key_spec_len, arg_len;
} um_docs_version;

typedef struct um_docs {
    const um_docs_version *version;
    const char *summary, *complexity, *since;
    const um_history *history;
    const char *tips;
    int arity;
    const um_key_spec *key_specs;
    const um_arg *args;
} um_docs;

/* --- functions ------------------------------------------------------------ */

typedef struct um_server_event {
    uint64_t id, version;
} um_server_event;

typedef void um_event_run(um_ctx *ctx, um_server_event event, uint64_t sub,
                          void *data);
typedef void um_timer_run(um_ctx *ctx, void *data);

/* X(result, name, parameters): in Redis 7.0.15 and Valkey 8.0.1. */
#define UM_API_LIST(X)                                                         \
    X(void, SetModuleAttribs, (um_ctx *, const char *, int, int))              \
    X(int, IsModuleNameBusy, (const char *))                                   \
    X(void, SetModuleOptions, (um_ctx *, int))                                 \
    X(int, GetServerVersion, (void))                                           \
    X(int, GetContextFlags, (um_ctx *))                                        \
    X(int, AvoidReplicaTraffic, (void))                                        \
    X(void, Log, (um_ctx *, const char *, const char *, ...))                  \
    X(void, LogIOError, (um_io *, const char *, const char *, ...))            \
    X(um_ctx *, GetContextFromIO, (um_io *))                                   \
    X(const um_str *, GetKeyNameFromIO, (um_io *))                             \
    X(int, CreateCommand,                                                      \
      (um_ctx *, const char *, um_command_run *, const char *, int, int, int)) \
    X(int, IsKeysPositionRequest, (um_ctx *))                                  \
    X(void, KeyAtPosWithFlags, (um_ctx *, int, int))                           \
    X(um_handle *, GetCommand, (um_ctx *, const char *))                       \
    X(int, SetCommandInfo, (um_handle *, const um_docs *))                     \
    X(const char *, StringPtrLen, (const um_str *, size_t *))                  \
    X(int, StringToLongLong, (const um_str *, long long *))                    \
    X(int, StringToDouble, (const um_str *, double *))                         \
    X(um_str *, CreateString, (um_ctx *, const char *, size_t))                \
    X(void, FreeString, (um_ctx *, um_str *))                                  \
    X(um_str *, HoldString, (um_ctx *, um_str *))                              \
    X(int, WrongArity, (um_ctx *))                                             \
    X(int, ReplyWithError, (um_ctx *, const char *))                           \
    X(int, ReplyWithSimpleString, (um_ctx *, const char *))                    \
    X(int, ReplyWithLongLong, (um_ctx *, long long))                           \
    X(int, ReplyWithDouble, (um_ctx *, double))                                \
    X(int, ReplyWithBool, (um_ctx *, int))                                     \
    X(int, ReplyWithNull, (um_ctx *))                                          \
    X(int, ReplyWithCString, (um_ctx *, const char *))                         \
    X(int, ReplyWithStringBuffer, (um_ctx *, const char *, size_t))            \
    X(int, ReplyWithArray, (um_ctx *, long))                                   \
    X(int, ReplyWithMap, (um_ctx *, long))                                     \
    X(void, ReplySetArrayLength, (um_ctx *, long))                             \
    X(void, ReplySetMapLength, (um_ctx *, long))                               \
    X(um_key *, OpenKey, (um_ctx *, um_str *, int))                            \
    X(void, CloseKey, (um_key *))                                              \
    X(size_t, ValueLength, (um_key *))                                         \
    X(int, KeyType, (um_key *))                                                \
    X(um_type *, ModuleTypeGetType, (um_key *))                                \
    X(void *, ModuleTypeGetValue, (um_key *))                                  \
    X(int, ModuleTypeSetValue, (um_key *, um_type *, void *))                  \
    X(int, ModuleTypeReplaceValue, (um_key *, um_type *, void *, void **))     \
    X(int, DeleteKey, (um_key *))                                              \
    X(int, SelectDb, (um_ctx *, int))                                          \
    X(int, GetSelectedDb, (um_ctx *))                                          \
    X(void *, Alloc, (size_t))                                                 \
    X(void *, TryAlloc, (size_t))                                              \
    X(void, Free, (void *))                                                    \
    X(size_t, MallocSize, (void *))                                            \
    X(um_type *, CreateDataType,                                               \
      (um_ctx *, const char *, int, um_type_methods *))                        \
    X(void, SaveUnsigned, (um_io *, uint64_t))                                 \
    X(uint64_t, LoadUnsigned, (um_io *))                                       \
    X(void, SaveDouble, (um_io *, double))                                     \
    X(double, LoadDouble, (um_io *))                                           \
    X(void, SaveStringBuffer, (um_io *, const char *, size_t))                 \
    X(char *, LoadStringBuffer, (um_io *, size_t *))                           \
    X(int, IsIOError, (um_io *))                                               \
    X(void, EmitAOF, (um_io *, const char *, const char *, ...))               \
    X(void, DigestAddStringBuffer, (um_md *, const char *, size_t))            \
    X(void, DigestEndSequence, (um_md *))                                      \
    X(int, ReplicateVerbatim, (um_ctx *))                                      \
    X(int, Replicate, (um_ctx *, const char *, const char *, ...))             \
    X(void *, DefragAlloc, (um_defrag *, void *))                              \
    X(int, RegisterNumericConfig,                                              \
      (um_ctx *, const char *, long long, unsigned, long long, long long,      \
       long long (*)(const char *, void *),                                    \
       int (*)(const char *, long long, void *, um_str **), void *, void *))   \
    X(int, RegisterStringConfig,                                               \
      (um_ctx *, const char *, const char *, unsigned,                         \
       um_str *(*)(const char *, void *),                                      \
       int (*)(const char *, um_str *, void *, um_str **), void *, void *))    \
    X(int, RegisterBoolConfig,                                                 \
      (um_ctx *, const char *, int, unsigned, int (*)(const char *, void *),   \
       int (*)(const char *, int, void *, um_str **), void *, void *))         \
    X(int, LoadConfigs, (um_ctx *))                                            \
    X(int, RegisterInfoFunc, (um_ctx *, void (*)(um_info_ctx *, int)))         \
    X(int, InfoAddSection, (um_info_ctx *, const char *))                      \
    X(int, InfoAddFieldULongLong,                                              \
      (um_info_ctx *, const char *, unsigned long long))                       \
    X(float, GetUsedMemoryRatio, (void))                                       \
    X(void *, GetServerInfo, (um_ctx *, const char *))                         \
    X(void, FreeServerInfo, (um_ctx *, void *))                                \
    X(unsigned long long, ServerInfoGetFieldUnsigned,                          \
      (void *, const char *, int *))                                           \
    X(int, NotifyKeyspaceEvent, (um_ctx *, int, const char *, um_str *))       \
    X(int, SignalModifiedKey, (um_ctx *, um_str *))                            \
    X(int, SubscribeToServerEvent,                                             \
      (um_ctx *, um_server_event, um_event_run *))                             \
    X(uint64_t, CreateTimer, (um_ctx *, long long, um_timer_run *, void *))    \
    X(int, StopTimer, (um_ctx *, uint64_t, void **))                           \
    X(unsigned long long, GetClientId, (um_ctx *))                             \
    X(um_blocked *, BlockClient,                                               \
      (um_ctx *, um_command_run *, um_command_run *,                           \
       void (*)(um_ctx *, void *), long long))                                 \
    X(int, UnblockClient, (um_blocked *, void *))                              \
    X(void *, GetBlockedClientPrivateData, (um_ctx *))                         \
    X(void, GetRandomBytes, (unsigned char *, size_t))                         \
    X(int, ScanKey,                                                            \
      (um_key *, void *, void (*)(um_key *, um_str *, um_str *, void *),       \
       void *))                                                                \
    X(void *, ScanCursorCreate, (void))                                        \
    X(void, ScanCursorDestroy, (void *))

/* Newer or optional functions: NULL on servers that lack them. */
#define UM_API_YOUNGER_LIST(X)                                                 \
    X(int, AddACLCategory, (um_ctx *, const char *))             /* 7.4 */     \
    X(int, SetCommandACLCategories, (um_handle *, const char *)) /* 7.2 */     \
    X(void *, TryCalloc, (size_t, size_t))                       /* 7.4 */     \
    X(void *, RegisterCommandFilter, (um_ctx *, void (*)(um_filtered *), int)) \
    X(int, CommandFilterArgsCount, (um_filtered *))                            \
    X(const um_str *, CommandFilterArgGet, (um_filtered *, int))

typedef struct um_server_api {
#define UM_API_POINTER(result, name, parameters) result(*name) parameters;
    UM_API_LIST(UM_API_POINTER) UM_API_YOUNGER_LIST(UM_API_POINTER)
#undef UM_API_POINTER
} um_server_api;

/* Filled when the module is loaded, before any other code runs. */
extern um_server_api um_api;

/*
 * Fetches all functions. Returns the name of a required one that the server
 * lacks, or NULL.
 */
const char *um_api_fetch(const um_ctx *ctx);

/* Returns true if the command comes from the primary or the AOF, and so was
 * accepted before. */
bool um_from_primary(um_ctx *ctx);

#endif
