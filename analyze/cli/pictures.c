/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/pictures.h"

#include "analyze/base/base64.h"
#include "analyze/base/new_file.h"
#include "analyze/cli/interrupt.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

enum { PATIENCE = 500 /* milliseconds between bytes */, USUAL_CELL = 9 /* pixels, where the terminal does not say */ };

/* A picture of one pixel that is not to be shown, to which those who know kitty's protocol say OK; then the device's
 * attributes (DEC's DA1), which all terminals tell: 4 among them is sixels. */
static const char question[] = "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[c";

static enum gm_picture_form understood(const char *answer)
{
    if (strstr(answer, "\x1b_Gi=31;OK") != NULL)
        return GM_PICTURE_KITTY;
    const char *attributes = strstr(answer, "\x1b[?");
    for (const char *at = attributes; at != NULL; at = strchr(at + 1, ';'))
        if (at > attributes && strtol(at + 1, NULL, 10) == 4)
            return GM_PICTURE_SIXEL;
    return GM_PICTURE_NONE;
}

/* What the terminal says, up to the end of its attributes. */
static void listen(int terminal, char *answer, size_t capacity)
{
    size_t length = 0;
    struct pollfd in = {.fd = terminal, .events = POLLIN};
    const char *attributes = NULL;
    do {
        const ssize_t got = poll(&in, 1, PATIENCE) == 1 ? read(terminal, answer + length, capacity - 1 - length) : 0;
        if (got <= 0)
            break;
        length += (size_t)got;
        answer[length] = '\0';
        attributes = strstr(answer, "\x1b[?");
    } while (length + 1 < capacity && (attributes == NULL || strchr(attributes, 'c') == NULL));
}

static enum gm_picture_form ask(int terminal)
{
    char answer[512] = "";
    struct termios usual;
    if (tcgetpgrp(terminal) != getpgrp() || tcgetattr(terminal, &usual) != 0)
        return GM_PICTURE_NONE;
    struct termios raw = usual;
    raw.c_lflag &= (tcflag_t) ~(ICANON | ECHO);
    raw.c_cc[VMIN] = raw.c_cc[VTIME] = 0;
    gm_interrupt_hold(); /* so that the terminal does not stay as it is now */
    if (tcsetattr(terminal, TCSANOW, &raw) == 0) {
        if (gm_write_fully(terminal, question, sizeof question - 1) == 0)
            listen(terminal, answer, sizeof answer);
        tcsetattr(terminal, TCSANOW, &usual);
    }
    gm_interrupt_release();
    return understood(answer);
}

struct gm_pictures gm_pictures_ask(void)
{
    struct winsize size;
    struct gm_pictures pictures = {.form = GM_PICTURE_NONE};
    const char *term = getenv("TERM");
    if (isatty(STDOUT_FILENO) != 1 || term == NULL || strcmp(term, "dumb") == 0 ||
        ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return pictures;
    const int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal < 0)
        return pictures;
    pictures.form = ask(terminal);
    close(terminal);
    pictures.columns = size.ws_col;
    pictures.width = size.ws_xpixel > 0 ? size.ws_xpixel : pictures.columns * USUAL_CELL;
    return pictures;
}

/* In pieces of 4096 characters, as the protocol wants it; scaled by the terminal. */
static void add_kitty(struct gm_text *out, const struct gm_png *png, size_t columns)
{
    enum { PIECE = 4096 };
    GM_FREED struct gm_text text = {0};
    gm_base64_add(&text, png->data, png->length);
    for (size_t i = 0; i < text.length; i += PIECE) {
        const size_t rest = text.length - i;
        gm_text_add(out, "\x1b_G");
        if (i == 0)
            gm_text_printf(out, "a=T,q=2,f=100,c=%zu,", columns);
        gm_text_printf(out, "m=%d;", rest > PIECE);
        gm_text_add_bytes(out, text.data + i, rest > PIECE ? PIECE : rest);
        gm_text_add(out, "\x1b\\");
    }
    out->failed = out->failed || text.failed;
}

enum gm_status gm_pictures_add(struct gm_text *out, const struct gm_pictures *pictures, struct gm_fonts *fonts,
                               const void *model, enum gm_chart chart, struct gm_error *err)
{
    struct gm_painter *painter;
    struct gm_png png;
    GM_TRY(gm_fonts_wait(fonts, &painter, err));
    if (pictures->form == GM_PICTURE_SIXEL) {
        GM_TRY(gm_chart_sixel(out, painter, model, chart, pictures->width, err));
    } else {
        GM_TRY(gm_chart_draw(&png, painter, model, chart, err));
        const size_t columns = gm_chart_width(pictures->width) * pictures->columns / pictures->width;
        add_kitty(out, &png, columns > 0 ? columns : 1);
        free(png.data);
    }
    gm_text_add_char(out, '\n');
    return out->failed ? gm_no_memory(err) : GM_OK;
}
