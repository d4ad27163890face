/*
 * The receiver of bench/sweep/pace.ts: records when datagrams arrive.
 *
 *     arrivals PORT MOST
 *
 * Records the arrival time of at most MOST datagrams, by the kernel's clock (SO_TIMESTAMPNS). On a
 * veth pair this is the time of the sender's system call. Prints "ready" when the socket is open. On
 * SIGTERM it writes the times: nanoseconds since the first datagram, 8 bytes each.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define BATCH 256
#define ROOM 64

static volatile sig_atomic_t ended;

static void end(int signal_) {
    (void)signal_;
    ended = 1;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "arrivals PORT MOST\n");
        return 2;
    }
    long most = atol(argv[2]), count = 0;
    int64_t *times = malloc(most * sizeof *times);
    int on = 1, room = 256 << 20;
    int socket_ = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in all = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[1]))};
    if (times == NULL || socket_ < 0 ||
        setsockopt(socket_, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) < 0 ||
        setsockopt(socket_, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) < 0 ||
        bind(socket_, (struct sockaddr *)&all, sizeof all) < 0) {
        perror("socket");
        return 1;
    }
    struct sigaction action = {.sa_handler = end}; /* no SA_RESTART: the signal ends a blocking call */
    sigaction(SIGTERM, &action, NULL);
    static struct mmsghdr messages[BATCH];
    static struct iovec parts[BATCH];
    static unsigned char bytes[BATCH][ROOM];
    static _Alignas(16) unsigned char control[BATCH][ROOM];
    puts("ready");
    fflush(stdout);
    while (!ended && count < most) {
        for (int i = 0; i < BATCH; i++) {
            parts[i] = (struct iovec){bytes[i], ROOM};
            messages[i].msg_hdr = (struct msghdr){.msg_iov = &parts[i], .msg_iovlen = 1,
                                                  .msg_control = control[i],
                                                  .msg_controllen = ROOM};
        }
        int got = recvmmsg(socket_, messages, BATCH, MSG_WAITFORONE, NULL);
        for (int i = 0; i < got && count < most; i++) {
            struct cmsghdr *c = CMSG_FIRSTHDR(&messages[i].msg_hdr);
            if (c == NULL || c->cmsg_type != SCM_TIMESTAMPNS) continue;
            struct timespec time;
            memcpy(&time, CMSG_DATA(c), sizeof time);
            times[count++] = time.tv_sec * 1000000000ll + time.tv_nsec;
        }
    }
    for (long i = count - 1; i >= 0; i--) times[i] -= times[0];
    fwrite(times, sizeof *times, count, stdout);
    return 0;
}
