/*
 * The prober with which the connections of the engine udp are compared. It connects to the same number of
 * different targets by the same system calls, and does nothing else: the order is ascending, and there
 * are no tokens.
 *
 *     connect reuse|plain FIRST_ADDRESS COUNT PORT AT_ONCE WAIT_MS
 *
 * One thread has up to AT_ONCE non-blocking connections at once. A connection without a reply ends after
 * WAIT_MS milliseconds.
 *   reuse  sockets whose connection was refused, or got no reply, are disconnected (AF_UNSPEC) and
 *          connect again
 *   plain  each connection has a socket of its own, which is closed afterwards
 * epoll_wait is called once for 256 connections, and each millisecond while all sockets are in use. Open connections are
 * closed at once. Prints the numbers of connections that began, opened, were refused and failed, the
 * duration in seconds from the first connection to the last reply or time limit, and the time until the
 * last connection began.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BATCH 256
#define EVENTS 512
/* How much later a connection ends while others begin, which reuse its socket, milliseconds. */
#define GRACE_MS 20

/* A socket, and its neighbours in the list of pending ones. */
struct slot {
    int socket, next, previous, pending;
    double since;
};

static struct slot *slots;
static int *idle, idles, used, at_once, epoll_, reuses;
static long opened, refused, failed;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1000 + (double)time.tv_nsec / 1e6;
}

/* Slot at_once is the end of the list of pending slots. */
static void append(int i) {
    int last = slots[at_once].previous;
    slots[last].next = slots[at_once].previous = i;
    slots[i].previous = last;
    slots[i].next = at_once;
    slots[i].pending = 1;
}

static void unlink_(int i) {
    slots[slots[i].previous].next = slots[i].next;
    slots[slots[i].next].previous = slots[i].previous;
    slots[i].pending = 0;
}

static void release(int i, int keep) {
    if (!keep) {
        close(slots[i].socket);
        slots[i].socket = -1;
    }
    idle[idles++] = i;
}

static void poll_(int wait_ms) {
    struct epoll_event events[EVENTS];
    int count;
    do {
        count = epoll_wait(epoll_, events, EVENTS, wait_ms);
        if (count < 0 && errno != EINTR) fail("epoll_wait");
        wait_ms = 0;
        for (int k = 0; k < count; k++) {
            int i = (int)events[k].data.u32, error = 0;
            socklen_t size = sizeof error;
            if (!slots[i].pending) continue;
            if (events[k].events & (EPOLLERR | EPOLLHUP))
                getsockopt(slots[i].socket, SOL_SOCKET, SO_ERROR, &error, &size);
            unlink_(i);
            if (error == 0) opened++;
            else if (error == ECONNREFUSED) refused++;
            else failed++;
            release(i, reuses && error == ECONNREFUSED);
        }
    } while (count == EVENTS);
}

static void disconnect(int i) {
    static const struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
    if (connect(slots[i].socket, &nowhere, sizeof nowhere) < 0) fail("disconnect");
}

static int is_expired(double before) {
    int i = slots[at_once].next;
    return i != at_once && slots[i].since <= before;
}

/* Ends the connections that began before a time. */
static void expire(double before) {
    while (is_expired(before)) {
        int i = slots[at_once].next;
        unlink_(i);
        if (reuses) disconnect(i);
        release(i, reuses);
    }
}

/* A slot with a socket that may connect; -1: none is free. */
static int take(double before) {
    int i;
    if (reuses && is_expired(before)) {
        i = slots[at_once].next;
        unlink_(i);
    } else
        i = idles > 0 ? idle[--idles] : used < at_once ? used++ : -1;
    if (i < 0) return -1;
    if (slots[i].socket >= 0) {
        disconnect(i);
        return i;
    }
    slots[i].socket = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (slots[i].socket < 0) fail("socket");
    struct epoll_event event = {EPOLLOUT | EPOLLERR | EPOLLHUP | EPOLLET, {.u32 = (uint32_t)i}};
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, slots[i].socket, &event) < 0) fail("epoll_ctl");
    return i;
}

int main(int count, char **words) {
    struct in_addr first;
    reuses = count == 7 && !strcmp(words[1], "reuse");
    if (count != 7 || (!reuses && strcmp(words[1], "plain")) ||
        inet_pton(AF_INET, words[2], &first) != 1) {
        fprintf(stderr, "usage: connect reuse|plain FIRST_ADDRESS COUNT PORT AT_ONCE WAIT_MS\n");
        return 2;
    }
    uint32_t address = ntohl(first.s_addr);
    long all = atol(words[3]);
    double wait_ms = atof(words[6]);
    at_once = atoi(words[5]);
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    slots = calloc((size_t)at_once + 1, sizeof *slots);
    idle = calloc((size_t)at_once, sizeof *idle);
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    if (slots == NULL || idle == NULL || epoll_ < 0) fail("set up");
    for (int i = 0; i < at_once; i++) slots[i].socket = -1;
    slots[at_once].next = slots[at_once].previous = at_once;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(words[4]))};
    double from = now(), time = from;
    long begun = 0;
    while (begun < all) {
        if (begun % BATCH == 0) {
            time = now();
            poll_(0);
            expire(time - wait_ms - (reuses ? GRACE_MS : 0));
        }
        int i = take(time - wait_ms);
        if (i < 0) {
            usleep(1000);
            time = now();
            poll_(0);
            if (!reuses) expire(time - wait_ms);
            continue;
        }
        to.sin_addr.s_addr = htonl(address++);
        slots[i].since = time;
        if (connect(slots[i].socket, (struct sockaddr *)&to, sizeof to) < 0 && errno != EINPROGRESS)
            fail("connect");
        append(i);
        begun++;
    }
    double last = now();
    while (slots[at_once].next != at_once) {
        time = now();
        poll_(10);
        expire(time - wait_ms);
    }
    printf("%ld %ld %ld %ld %.6f %.6f\n", begun, opened, refused, failed, (now() - from) / 1000,
           (last - from) / 1000);
    return 0;
}
