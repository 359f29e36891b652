/* SPDX-License-Identifier: Apache-2.0
 *
 * Both ends of the socket between the stand-in and gmdry-cudnn.
 */
#include "replay/dry/dnn.h"

#include <errno.h>
#include <sys/socket.h>

bool dnn_send(int socket, const void *data, size_t bytes)
{
    for (const char *at = data; bytes > 0;) {
        const ssize_t n = send(socket, at, bytes, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}

bool dnn_receive(int socket, void *data, size_t bytes)
{
    for (char *at = data; bytes > 0;) {
        const ssize_t n = recv(socket, at, bytes, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}
