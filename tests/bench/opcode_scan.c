/* SPDX-License-Identifier: Apache-2.0
 *
 * The speed limit for decoding a pickle on one core: read the file in windows and step from opcode to opcode, skipping
 * arguments, without keeping anything. usage: opcode_scan FILE; prints "SECONDS OPCODES".
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WINDOW = 1 << 20, LINE = 250, COUNTED1 = 251, COUNTED4 = 252, COUNTED8 = 253, TWO_LINES = 254, UNKNOWN = 255 };

/* What follows an opcode: a number of bytes, a line, or a count and that many bytes. */
static void fill(uint8_t follows[256])
{
    static const struct {
        const char *opcodes;
        uint8_t what;
    } kinds[] = {
        {"(.012Q}])t|adeuboRlsN\x85\x86\x87\x88\x89\x81\x92\x8f\x90\x91\x93\x94\x97\x98", 0},
        {"\x80Khq\x82", 1},
        {"M\x83", 2},
        {"Jjr\x84", 4},
        {"G\x95", 8},
        {"ILFSVgpP", LINE},
        {"ci", TWO_LINES},
        {"U\x8a\x8c"
         "C",
         COUNTED1},
        {"TXB\x8b", COUNTED4},
        {"\x8d\x8e\x96", COUNTED8},
    };
    memset(follows, UNKNOWN, 256);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        for (const char *s = kinds[i].opcodes; *s != '\0'; s++)
            follows[(uint8_t)*s] = kinds[i].what;
}

struct input {
    int fd;
    uint8_t *p, *end, window[WINDOW];
};

/* Makes at least `want` bytes available, or ends the program: a benchmark is given whole files. */
static void more(struct input *in, size_t want)
{
    size_t have = (size_t)(in->end - in->p);
    memmove(in->window, in->p, have);
    in->p = in->window;
    in->end = in->window + have;
    while ((size_t)(in->end - in->p) < want) {
        ssize_t n = read(in->fd, in->end, (size_t)(in->window + WINDOW - in->end));
        if (n <= 0) {
            fprintf(stderr, "opcode_scan: the file ends too early\n");
            exit(1);
        }
        in->end += n;
    }
}

static void skip(struct input *in, uint64_t n)
{
    while (n > (uint64_t)(in->end - in->p)) {
        n -= (uint64_t)(in->end - in->p);
        in->p = in->end;
        more(in, 1);
    }
    in->p += n;
}

static void skip_line(struct input *in)
{
    uint8_t *newline;
    while ((newline = memchr(in->p, '\n', (size_t)(in->end - in->p))) == NULL) {
        in->p = in->end;
        more(in, 1);
    }
    in->p = newline + 1;
}

static uint64_t scan(struct input *in, const uint8_t follows[256])
{
    for (uint64_t opcodes = 1;; opcodes++) {
        if (in->end - in->p < 9) {
            size_t have = (size_t)(in->end - in->p);
            more(in, have > 0 ? have : 1); /* the end of the file may be shorter than the longest argument */
            ssize_t n = read(in->fd, in->end, (size_t)(in->window + WINDOW - in->end));
            in->end += n > 0 ? n : 0;
        }
        uint8_t opcode = *in->p++;
        uint8_t what = follows[opcode];
        if (opcode == '.')
            return opcodes;
        uint64_t count = 0;
        switch (what) {
        default:
            in->p += what;
            break;
        case COUNTED1:
            skip(in, 1 + (uint64_t)in->p[0]);
            break;
        case COUNTED4:
        case COUNTED8:
            memcpy(&count, in->p, what == COUNTED4 ? 4 : 8);
            skip(in, count + (what == COUNTED4 ? 4 : 8));
            break;
        case TWO_LINES:
            skip_line(in);
            /* fall through */
        case LINE:
            skip_line(in);
            break;
        case UNKNOWN:
            fprintf(stderr, "opcode_scan: unknown opcode %#x\n", opcode);
            exit(1);
        }
    }
}

int main(int argc, char **argv)
{
    uint8_t follows[256];
    struct timespec start, end;
    struct input *in = malloc(sizeof *in);
    if (argc != 2 || in == NULL) {
        fprintf(stderr, "usage: opcode_scan FILE\n");
        return 2;
    }
    fill(follows);
    clock_gettime(CLOCK_MONOTONIC, &start);
    in->fd = open(argv[1], O_RDONLY);
    if (in->fd < 0) {
        fprintf(stderr, "opcode_scan: %s: %s\n", argv[1], strerror(errno));
        return 1;
    }
    in->p = in->end = in->window;
    uint64_t opcodes = scan(in, follows);
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%.9f %llu\n", (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec),
           (unsigned long long)opcodes);
    close(in->fd);
    free(in);
    return 0;
}
