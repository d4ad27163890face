/*
 * The servers of bench/live.ts and other benchmarks: they reply to RakNet pings at once, as fast as
 * one thread can.
 *
 *     respond FIRST_ADDRESS COUNT LIVE PORT
 *
 * Of COUNT addresses from the first one on, LIVE are servers, evenly distributed. All must be
 * addresses of this machine. The GUID of a server is its address. Up to 256 datagrams are received
 * or sent per system call. A reply leaves from the address that was pinged (IP_PKTINFO). Prints
 * "ready" when the socket is open. On SIGTERM it prints the number of replies, of pings to addresses
 * without a server, of other datagrams, and of datagrams that were dropped because the receive
 * buffer was full (SO_RXQ_OVFL).
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define BATCH 256
#define PING_SIZE 33
#define PONG_HEAD 35
#define ROOM 256
#define CONTROL 64

static const unsigned char MAGIC[16] = {
    0x00, 0xff, 0xff, 0x00, 0xfe, 0xfe, 0xfe, 0xfe, 0xfd, 0xfd, 0xfd, 0xfd, 0x12, 0x34, 0x56, 0x78,
};

static volatile sig_atomic_t ended;

static void end(int signal_) {
    (void)signal_;
    ended = 1;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

/* Whether the address at this offset is a server: every (count / live)th address is. */
static int is_live(uint64_t offset, uint64_t count, uint64_t live) {
    return offset < count && (offset + 1) * live / count != offset * live / count;
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "respond FIRST_ADDRESS COUNT LIVE PORT\n");
        return 2;
    }
    uint32_t first = ntohl(inet_addr(argv[1]));
    uint64_t count = strtoull(argv[2], NULL, 10), live = strtoull(argv[3], NULL, 10);
    int on = 1, room = 256 << 20;
    int socket_ = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in all = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[4]))};
    if (socket_ < 0 || setsockopt(socket_, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) < 0 ||
        setsockopt(socket_, SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof on) < 0 ||
        setsockopt(socket_, IPPROTO_IP, IP_PKTINFO, &on, sizeof on) < 0 ||
        bind(socket_, (struct sockaddr *)&all, sizeof all) < 0)
        fail("socket");
    struct sigaction action = {.sa_handler = end}; /* no SA_RESTART: the signal ends a blocking call */
    sigaction(SIGTERM, &action, NULL);
    static struct mmsghdr pings[BATCH], pongs[BATCH];
    static struct iovec ping_parts[BATCH], pong_parts[BATCH];
    static struct sockaddr_in names[BATCH];
    static unsigned char asked[BATCH][ROOM], answers[BATCH][ROOM];
    static _Alignas(16) unsigned char ping_control[BATCH][CONTROL], pong_control[BATCH][CONTROL];
    long answered = 0, pings_to_nobody = 0, others = 0;
    uint32_t lost = 0;
    puts("ready");
    fflush(stdout);
    while (!ended) {
        for (int i = 0; i < BATCH; i++) {
            ping_parts[i] = (struct iovec){asked[i], ROOM};
            pings[i].msg_hdr = (struct msghdr){
                .msg_name = &names[i], .msg_namelen = sizeof names[i],
                .msg_iov = &ping_parts[i], .msg_iovlen = 1,
                .msg_control = ping_control[i], .msg_controllen = CONTROL,
            };
        }
        int got = recvmmsg(socket_, pings, BATCH, MSG_WAITFORONE, NULL);
        int n = 0;
        for (int i = 0; i < got; i++) {
            struct in_pktinfo to = {0};
            for (struct cmsghdr *c = CMSG_FIRSTHDR(&pings[i].msg_hdr); c != NULL;
                 c = CMSG_NXTHDR(&pings[i].msg_hdr, c)) {
                if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO)
                    memcpy(&to, CMSG_DATA(c), sizeof to);
                if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_RXQ_OVFL)
                    memcpy(&lost, CMSG_DATA(c), sizeof lost);
            }
            uint32_t address = ntohl(to.ipi_addr.s_addr);
            if (pings[i].msg_len != PING_SIZE || asked[i][0] != 1) {
                others++;
                continue;
            }
            if (!is_live((uint32_t)(address - first), count, live)) {
                pings_to_nobody++;
                continue;
            }
            unsigned char *pong = answers[n];
            uint64_t guid = htobe64(0x1000000000000000ull | address);
            pong[0] = 0x1c;
            memcpy(pong + 1, asked[i] + 1, 8);
            memcpy(pong + 9, &guid, 8);
            memcpy(pong + 17, MAGIC, 16);
            int text = snprintf((char *)pong + PONG_HEAD, ROOM - PONG_HEAD,
                                "MCPE;Server %08x;827;1.21.101;%u;20;%llu;World;Survival;1;19132;19133;",
                                address, address % 20, 0x1000000000000000ull | address);
            pong[33] = text >> 8;
            pong[34] = text;
            pong_parts[n] = (struct iovec){pong, PONG_HEAD + text};
            pongs[n].msg_hdr = (struct msghdr){
                .msg_name = &names[i], .msg_namelen = sizeof names[i],
                .msg_iov = &pong_parts[n], .msg_iovlen = 1,
                .msg_control = pong_control[n], .msg_controllen = CMSG_SPACE(sizeof to),
            };
            struct cmsghdr *c = CMSG_FIRSTHDR(&pongs[n].msg_hdr);
            *c = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof to),
                                  .cmsg_level = IPPROTO_IP, .cmsg_type = IP_PKTINFO};
            to = (struct in_pktinfo){.ipi_spec_dst = to.ipi_addr};
            memcpy(CMSG_DATA(c), &to, sizeof to);
            n++;
        }
        for (int at = 0; at < n;) {
            int sent = sendmmsg(socket_, pongs + at, n - at, 0);
            if (sent > 0) at += sent;
            else if (errno != EINTR && errno != EAGAIN && errno != ENOBUFS) at++;
        }
        answered += n;
    }
    printf("%ld replies, %ld pings without a server, %ld others, %u dropped\n", answered, pings_to_nobody,
           others, lost);
    return 0;
}
