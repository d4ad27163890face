/*
 * The sender with which bench/engines.ts compares the engines. It sends the same RakNet ping to the
 * same number of different targets, by the same system calls. It does nothing else: the order is
 * ascending, and there are no tokens and no receiver.
 *
 *     send udp FIRST_ADDRESS COUNT PORT THREADS
 *     send packet|xdp FIRST_ADDRESS COUNT PORT THREADS INTERFACE LOCAL_ADDRESS GATEWAY_MAC
 *
 * Each thread sends its part of the pings from a socket of its own:
 *   udp     sendmmsg with 256 messages; IP_MTU_DISCOVER=2 (datagrams are never fragmented, so the
 *           kernel need not choose an identification for each)
 *   packet  AF_PACKET with PACKET_QDISC_BYPASS, sendmmsg with 256 frames, no UDP checksum
 *   xdp     AF_XDP on queue 0, 1…, batches of 256 frames, no UDP checksum; refused frames are sent
 *           again
 * Prints the number of datagrams that the kernel accepted, and the duration in seconds.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <linux/if_xdp.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BATCH 256
#define SIZE 33
#define HEADERS 42
#define FRAME (HEADERS + SIZE)
#define MOST_THREADS 64
#define SLOT 128
#define SLOTS 2048
#define DONE (2 * SLOTS)
#ifndef SOL_XDP
#define SOL_XDP 283
#endif

static const unsigned char PING[SIZE] = {
    0x01, 0, 0, 0, 0, 0, 0, 0, 0,
    0x00, 0xff, 0xff, 0x00, 0xfe, 0xfe, 0xfe, 0xfe, 0xfd, 0xfd, 0xfd, 0xfd, 0x12, 0x34, 0x56, 0x78,
    'b', 'l', 'o', 'c', 'k', 's', 'w', 'p',
};

struct part {
    pthread_t thread;
    uint32_t address;
    long count, taken;
    int port, number;
};

static unsigned char frame[FRAME];
static uint32_t header_sum;
static int interface_;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

/* The fields that are equal in all frames, and their checksum. */
static void make_frame(int port, const char *name, const char *source, const char *mac) {
    struct ifreq request = {0};
    int one = socket(AF_INET, SOCK_DGRAM, 0);
    interface_ = if_nametoindex(name);
    strncpy(request.ifr_name, name, IFNAMSIZ - 1);
    if (interface_ == 0 || ioctl(one, SIOCGIFHWADDR, &request) < 0) fail(name);
    close(one);
    for (int i = 0; i < 6; i++) frame[i] = strtol(mac + 3 * i, NULL, 16);
    memcpy(frame + 6, request.ifr_hwaddr.sa_data, 6);
    const unsigned char ip[20] = {8, 0, 0x45, 0, 0, FRAME - 14, 0, 0, 0x40, 0, 64, 17};
    memcpy(frame + 12, ip, 14);
    inet_pton(AF_INET, source, frame + 26);
    frame[34] = 0x9c;
    frame[35] = 0x40;
    frame[36] = port >> 8;
    frame[37] = port & 255;
    frame[39] = 8 + SIZE;
    memcpy(frame + HEADERS, PING, SIZE);
    for (int i = 14; i < 34; i += 2) header_sum += frame[i] << 8 | frame[i + 1];
}

static inline void aim(unsigned char *at, uint32_t address) {
    uint32_t sum = header_sum + (address >> 16) + (address & 0xffff);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    uint16_t check = htons(~sum);
    uint32_t there = htonl(address), stamp = (address + 1) * 2654435761u;
    memcpy(at + 24, &check, 2);
    memcpy(at + 30, &there, 4);
    memcpy(at + HEADERS + 1, &stamp, 4);
}

static void send_batch(struct part *part, int socket_, struct mmsghdr *messages, int batch) {
    for (int at = 0; at < batch;) {
        int sent = sendmmsg(socket_, messages + at, batch - at, 0);
        if (sent > 0) {
            at += sent;
            part->taken += sent;
        } else if (errno != EINTR && errno != EAGAIN && errno != ENOBUFS)
            fail("sendmmsg");
    }
}

static void *send_udp(void *argument) {
    struct part *part = argument;
    uint32_t address = part->address;
    int never_split = 2;
    int socket_ = socket(AF_INET, SOCK_DGRAM, 0);
    if (socket_ < 0 ||
        setsockopt(socket_, IPPROTO_IP, 10 /* IP_MTU_DISCOVER */, &never_split, sizeof never_split) < 0)
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
    for (long left = part->count; left > 0;) {
        int batch = left < BATCH ? (int)left : BATCH;
        for (int i = 0; i < batch; i++) {
            names[i].sin_addr.s_addr = htonl(address++);
            uint32_t stamp = address * 2654435761u;
            memcpy(payloads[i] + 1, &stamp, sizeof stamp);
        }
        left -= batch;
        send_batch(part, socket_, messages, batch);
    }
    return NULL;
}

static void *send_packet(void *argument) {
    struct part *part = argument;
    uint32_t address = part->address;
    int yes = 1;
    int socket_ = socket(AF_PACKET, SOCK_RAW, 0);
    struct sockaddr_ll name = {.sll_family = AF_PACKET, .sll_ifindex = interface_};
    if (socket_ < 0 || setsockopt(socket_, SOL_PACKET, PACKET_QDISC_BYPASS, &yes, sizeof yes) < 0 ||
        bind(socket_, (struct sockaddr *)&name, sizeof name) < 0)
        fail("packet socket");
    struct mmsghdr messages[BATCH] = {0};
    struct iovec parts[BATCH];
    unsigned char frames[BATCH][SLOT];
    for (int i = 0; i < BATCH; i++) {
        memcpy(frames[i], frame, FRAME);
        parts[i] = (struct iovec){frames[i], FRAME};
        messages[i].msg_hdr.msg_iov = &parts[i];
        messages[i].msg_hdr.msg_iovlen = 1;
    }
    for (long left = part->count; left > 0;) {
        int batch = left < BATCH ? (int)left : BATCH;
        for (int i = 0; i < batch; i++) aim(frames[i], address++);
        left -= batch;
        send_batch(part, socket_, messages, batch);
    }
    return NULL;
}

struct ring {
    uint32_t *producer, *consumer;
    void *entries;
};

static struct ring map_ring(int socket_, struct xdp_ring_offset at, size_t size, off_t page) {
    char *all = mmap(NULL, at.desc + size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, socket_, page);
    if (all == MAP_FAILED) fail("mmap");
    return (struct ring){(void *)(all + at.producer), (void *)(all + at.consumer), all + at.desc};
}

static void *send_xdp(void *argument) {
    struct part *part = argument;
    uint32_t address = part->address, produced = 0, seen = 0, reaped = 0, filled = 0;
    long consumed_frames = 0;
    int socket_ = socket(AF_XDP, SOCK_RAW, 0), fill = 2, slots = SLOTS, done_size = DONE;
    unsigned char *memory =
        mmap(NULL, SLOTS * SLOT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct xdp_umem_reg reg = {
        .addr = (uintptr_t)memory, .len = SLOTS * SLOT, .chunk_size = 2048};
    struct xdp_mmap_offsets at;
    socklen_t size = sizeof at;
    if (socket_ < 0 || setsockopt(socket_, SOL_XDP, XDP_UMEM_REG, &reg, sizeof reg) < 0 ||
        setsockopt(socket_, SOL_XDP, XDP_UMEM_FILL_RING, &fill, 4) < 0 ||
        setsockopt(socket_, SOL_XDP, XDP_UMEM_COMPLETION_RING, &done_size, 4) < 0 ||
        setsockopt(socket_, SOL_XDP, XDP_TX_RING, &slots, 4) < 0 ||
        getsockopt(socket_, SOL_XDP, XDP_MMAP_OFFSETS, &at, &size) < 0)
        fail("XDP socket");
    struct ring tx = map_ring(socket_, at.tx, SLOTS * sizeof(struct xdp_desc), XDP_PGOFF_TX_RING);
    struct ring done = map_ring(socket_, at.cr, DONE * 8, XDP_UMEM_PGOFF_COMPLETION_RING);
    struct xdp_desc *descriptors = tx.entries;
    struct sockaddr_xdp name = {
        .sxdp_family = AF_XDP, .sxdp_ifindex = interface_, .sxdp_queue_id = part->number};
    while (bind(socket_, (struct sockaddr *)&name, sizeof name) < 0) {
        if (errno != EBUSY) fail("bind XDP");
        usleep(10000);
    }
    for (int i = 0; i < SLOTS; i++) memcpy(memory + i * SLOT, frame, FRAME);
    long open_ = 0;
    for (long left = part->count; left > 0;) {
        int batch = left < BATCH ? (int)left : BATCH;
        /* The kernel completes frames in order, and completes a lost frame twice. */
        while (open_ > SLOTS - 2 * BATCH) {
            uint32_t end = __atomic_load_n(done.producer, __ATOMIC_ACQUIRE);
            open_ -= end - reaped;
            reaped = end;
            __atomic_store_n(done.consumer, end, __ATOMIC_RELEASE);
        }
        for (int i = 0; i < batch; i++) {
            uint32_t slot = filled++ & (SLOTS - 1);
            aim(memory + slot * SLOT, address++);
            descriptors[produced++ & (SLOTS - 1)] = (struct xdp_desc){slot * SLOT, FRAME, 0};
        }
        open_ += batch;
        left -= batch;
        __atomic_store_n(tx.producer, produced, __ATOMIC_RELEASE);
        consumed_frames = 0;
        while (consumed_frames < batch) {
            int error = sendto(socket_, NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 ? errno : 0;
            uint32_t consumer = __atomic_load_n(tx.consumer, __ATOMIC_ACQUIRE);
            int32_t moved = (int32_t)(consumer - seen) > 0 ? (int32_t)(consumer - seen) : 0;
            if (error == EBUSY) {
                seen += moved > 0 ? moved : 1;
                descriptors[produced++ & (SLOTS - 1)] = descriptors[(seen - 1) & (SLOTS - 1)];
                __atomic_store_n(tx.producer, produced, __ATOMIC_RELEASE);
                open_++;
                consumed_frames += moved > 0 ? moved - 1 : 0;
            } else if (error == 0 || error == EAGAIN || error == ENOBUFS) {
                seen += moved;
                consumed_frames += moved;
            } else
                fail("send by XDP");
        }
        part->taken += batch;
    }
    return NULL;
}

int main(int count, char **words) {
    int threads = count > 5 ? atoi(words[5]) : 0;
    int raw = count == 9;
    void *(*send_part)(void *) = !raw && count == 6 && !strcmp(words[1], "udp") ? send_udp
                                 : raw && !strcmp(words[1], "packet")            ? send_packet
                                 : raw && !strcmp(words[1], "xdp")               ? send_xdp
                                                                                 : NULL;
    if (send_part == NULL || threads < 1 || threads > MOST_THREADS) {
        fprintf(stderr, "usage: send udp FIRST_ADDRESS COUNT PORT THREADS\n"
                        "       send packet|xdp FIRST_ADDRESS COUNT PORT THREADS INTERFACE "
                        "LOCAL_ADDRESS GATEWAY_MAC\n");
        return 2;
    }
    struct in_addr first;
    if (inet_pton(AF_INET, words[2], &first) != 1) {
        fprintf(stderr, "\"%s\" is not an address\n", words[2]);
        return 2;
    }
    if (raw) make_frame(atoi(words[4]), words[6], words[7], words[8]);
    long all = atol(words[3]), taken = 0;
    struct part parts[MOST_THREADS] = {0};
    struct timespec begun, ended;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    for (int i = 0; i < threads; i++) {
        long from = all * i / threads, to = all * (i + 1) / threads;
        parts[i].address = ntohl(first.s_addr) + from;
        parts[i].count = to - from;
        parts[i].port = atoi(words[4]);
        parts[i].number = i;
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
