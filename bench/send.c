/*
 * The yardstick of bench/engines.ts: the same RakNet ping to as many distinct destinations, by the
 * same calls, and nothing else. No order but the ascending one, no token, no receiver.
 *
 *     send FIRST_ADDRESS COUNT PORT THREADS
 *
 * Each thread sends its part of them from a socket of its own: IP_MTU_DISCOVER=2 (never split, which
 * saves the kernel a number for each datagram), sendmmsg with 256 messages. Prints the datagrams
 * that the kernel took, and the seconds.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define BATCH 256
#define SIZE 33
#define MOST_THREADS 64

static const unsigned char PING[SIZE] = {
    0x01, 0, 0, 0, 0, 0, 0, 0, 0,
    0x00, 0xff, 0xff, 0x00, 0xfe, 0xfe, 0xfe, 0xfe, 0xfd, 0xfd, 0xfd, 0xfd, 0x12, 0x34, 0x56, 0x78,
    'b', 'l', 'o', 'c', 'k', 's', 'w', 'p',
};

struct part {
    pthread_t thread;
    uint32_t address;
    long count, taken;
    int port;
};

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void *send_part(void *argument) {
    struct part *part = argument;
    uint32_t address = part->address;
    long left = part->count;
    int never_split = 2;
    int socket_ = socket(AF_INET, SOCK_DGRAM, 0);
    if (socket_ < 0 ||
        setsockopt(socket_, IPPROTO_IP, IP_MTU_DISCOVER, &never_split, sizeof never_split) < 0)
        fail("socket");
    struct mmsghdr messages[BATCH] = {0};
    struct iovec parts[BATCH];
    struct sockaddr_in names[BATCH] = {0};
    unsigned char payloads[BATCH][SIZE];
    for (int i = 0; i < BATCH; i++) {
        memcpy(payloads[i], PING, SIZE);
        parts[i] = (struct iovec){payloads[i], SIZE};
        names[i].sin_family = AF_INET;
        names[i].sin_port = htons(part->port);
        messages[i].msg_hdr.msg_name = &names[i];
        messages[i].msg_hdr.msg_namelen = sizeof names[i];
        messages[i].msg_hdr.msg_iov = &parts[i];
        messages[i].msg_hdr.msg_iovlen = 1;
    }
    while (left > 0) {
        int batch = left < BATCH ? (int)left : BATCH;
        for (int i = 0; i < batch; i++) {
            names[i].sin_addr.s_addr = htonl(address++);
            uint32_t stamp = address * 2654435761u;
            memcpy(payloads[i] + 1, &stamp, sizeof stamp);
        }
        left -= batch;
        for (int at = 0; at < batch;) {
            int sent = sendmmsg(socket_, messages + at, batch - at, 0);
            if (sent > 0) {
                at += sent;
                part->taken += sent;
            } else if (errno != EINTR && errno != EAGAIN && errno != ENOBUFS)
                fail("sendmmsg");
        }
    }
    return NULL;
}

int main(int count, char **words) {
    int threads = count == 5 ? atoi(words[4]) : 0;
    if (threads < 1 || threads > MOST_THREADS) {
        fprintf(stderr, "usage: send FIRST_ADDRESS COUNT PORT THREADS\n");
        return 2;
    }
    struct in_addr first;
    if (inet_pton(AF_INET, words[1], &first) != 1) {
        fprintf(stderr, "\"%s\" is no address\n", words[1]);
        return 2;
    }
    long all = atol(words[2]), taken = 0;
    struct part parts[MOST_THREADS] = {0};
    struct timespec begun, ended;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    for (int i = 0; i < threads; i++) {
        long from = all * i / threads, to = all * (i + 1) / threads;
        parts[i].address = ntohl(first.s_addr) + from;
        parts[i].count = to - from;
        parts[i].port = atoi(words[3]);
        if (pthread_create(&parts[i].thread, NULL, send_part, &parts[i]) != 0) fail("pthread");
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(parts[i].thread, NULL);
        taken += parts[i].taken;
    }
    clock_gettime(CLOCK_MONOTONIC, &ended);
    printf("%ld %.6f\n", taken,
           (double)(ended.tv_sec - begun.tv_sec) + (double)(ended.tv_nsec - begun.tv_nsec) / 1e9);
    return 0;
}
