/*
 * TCP hosts of benchmarks and tests: Java servers, and hosts that accept connections without being
 * servers. One thread serves all of them.
 *
 *     accept FILE
 *
 * All addresses must be addresses of this machine. Lines of the file:
 *
 *     listen ADDRESS FIRST_PORT LAST_PORT   ports that accept; the address may be 0.0.0.0
 *     java ADDRESS COUNT                    servers that reply to status requests and pings
 *     mute ADDRESS COUNT                    hosts that read everything and never send
 *     web ADDRESS COUNT                     hosts that send an HTTP error after the first bytes
 *     close ADDRESS COUNT                   hosts that close connections at once
 *
 * Other addresses close connections. The status of a server follows from its address: its MOTD is
 * "Server " and the address in hexadecimal, and the number of players is the address modulo 20.
 * Prints "ready" when all ports are open. On SIGTERM it prints the number of connections to each
 * kind of host, of statuses, of SYN packets that the system dropped because a queue was full, and
 * the most connections that were open at once.
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
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROOM 640
#define EVENTS 512

enum role { JAVA, MUTE, WEB, CLOSE, ROLES };
static const char *const NAMES[ROLES] = {"java", "mute", "web", "close"};
static const char REFUSAL[] = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

struct hosts {
    uint32_t first, count;
    enum role role;
};

struct connection {
    int listens; /* 1: a listening socket */
    enum role role;
    uint32_t address;
    unsigned size;
    unsigned char bytes[ROOM];
};

static struct hosts *known;
static size_t known_count;
static struct connection *connections;
static int poll_, *listening, listening_count, paused;
static long opened[ROLES], statuses, open_now, most_open;
static volatile sig_atomic_t ended;

static void end(int signal_) {
    (void)signal_;
    ended = 1;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void watch(int descriptor, int operation, uint32_t events) {
    struct epoll_event event = {.events = events, .data.fd = descriptor};
    if (epoll_ctl(poll_, operation, descriptor, &event) < 0) fail("epoll_ctl");
}

static void open_port(struct in_addr address, int port) {
    int on = 1, descriptor = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct sockaddr_in local = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = address};
    if (descriptor < 0 || setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        bind(descriptor, (struct sockaddr *)&local, sizeof local) < 0 || listen(descriptor, 65535) < 0)
        fail("listen");
    connections[descriptor].listens = 1;
    watch(descriptor, EPOLL_CTL_ADD, EPOLLIN);
    listening = realloc(listening, (listening_count + 1) * sizeof *listening);
    listening[listening_count++] = descriptor;
}

static int by_address(const void *a, const void *b) {
    uint32_t x = ((const struct hosts *)a)->first, y = ((const struct hosts *)b)->first;
    return (x > y) - (x < y);
}

static void read_line(const char *word, struct in_addr address, unsigned a, unsigned b) {
    if (strcmp(word, "listen") == 0) {
        for (unsigned port = a; port <= b; port++) open_port(address, port);
        return;
    }
    for (int role = 0; role < ROLES; role++) {
        if (strcmp(word, NAMES[role]) != 0) continue;
        known = realloc(known, (known_count + 1) * sizeof *known);
        known[known_count++] = (struct hosts){ntohl(address.s_addr), a, role};
        return;
    }
    fprintf(stderr, "unknown word: %s\n", word);
    exit(2);
}

static void read_file(const char *path) {
    FILE *file = fopen(path, "r");
    char word[16], text[32], line[128];
    if (file == NULL) fail(path);
    while (fgets(line, sizeof line, file) != NULL) {
        unsigned a = 0, b = 0;
        struct in_addr address;
        if (sscanf(line, "%15s %31s %u %u", word, text, &a, &b) < 3 || !inet_aton(text, &address)) {
            fprintf(stderr, "not a line: %s", line);
            exit(2);
        }
        read_line(word, address, a, b);
    }
    fclose(file);
    qsort(known, known_count, sizeof *known, by_address);
}

/* The role of an address: that of the last range that begins at or before it, if it contains it. */
static enum role role_of(uint32_t address) {
    size_t low = 0, high = known_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (known[middle].first <= address) low = middle + 1;
        else high = middle;
    }
    if (low == 0 || address - known[low - 1].first >= known[low - 1].count) return CLOSE;
    return known[low - 1].role;
}

/* Accepts no connections while no descriptor is free. */
static void pause_ports(int pause) {
    if (paused == pause) return;
    paused = pause;
    for (int i = 0; i < listening_count; i++) watch(listening[i], EPOLL_CTL_MOD, pause ? 0 : EPOLLIN);
}

static void drop(int descriptor) {
    close(descriptor);
    open_now--;
    pause_ports(0);
}

static void accept_all(int port) {
    for (;;) {
        int descriptor = accept4(port, NULL, NULL, SOCK_NONBLOCK);
        if (descriptor < 0) {
            if (errno == EMFILE || errno == ENFILE) pause_ports(1);
            if (errno != ECONNABORTED && errno != EINTR) return;
            continue;
        }
        struct sockaddr_in local;
        socklen_t size = sizeof local;
        getsockname(descriptor, (struct sockaddr *)&local, &size);
        struct connection *one = &connections[descriptor];
        one->address = ntohl(local.sin_addr.s_addr);
        one->role = role_of(one->address);
        one->size = 0;
        opened[one->role]++;
        if (++open_now > most_open) most_open = open_now;
        if (one->role == CLOSE) drop(descriptor);
        else watch(descriptor, EPOLL_CTL_ADD, EPOLLIN | EPOLLRDHUP);
    }
}

/* Reads a number of at most two bytes (VarInt). Returns its size; 0: more bytes are needed. */
static unsigned read_number(const unsigned char *bytes, unsigned size, unsigned *value) {
    if (size < 1 || (bytes[0] >= 0x80 && size < 2)) return 0;
    *value = bytes[0] & 0x7f;
    if (bytes[0] < 0x80) return 1;
    *value |= (unsigned)bytes[1] << 7;
    return 2;
}

static unsigned put_number(unsigned char *out, unsigned value) {
    if (value < 0x80) {
        out[0] = value;
        return 1;
    }
    out[0] = value | 0x80;
    out[1] = value >> 7;
    return 2;
}

static void send_status(int descriptor, uint32_t address) {
    char json[ROOM];
    unsigned char packet[ROOM + 8], lengths[8];
    unsigned size = snprintf(json, sizeof json,
        "{\"version\":{\"name\":\"1.21.4\",\"protocol\":769},\"enforcesSecureChat\":true,"
        "\"players\":{\"max\":20,\"online\":%u},\"description\":\"Server %08x\"}", address % 20, address);
    unsigned inner = put_number(lengths, size);
    unsigned at = put_number(packet, 1 + inner + size);
    packet[at++] = 0;
    memcpy(packet + at, lengths, inner);
    memcpy(packet + at + inner, json, size);
    if (send(descriptor, packet, at + inner + size, MSG_NOSIGNAL) > 0) statuses++;
}

/* Replies to the complete packets of a client. Returns whether the connection stays open. */
static int serve(int descriptor, struct connection *one) {
    for (;;) {
        unsigned length = 0, head = read_number(one->bytes, one->size, &length);
        if (head == 0) return 1;
        if (length == 0 || head + length > ROOM) return 0;
        if (one->size < head + length) return 1;
        int is_ping = one->bytes[head] == 1;
        if (is_ping) send(descriptor, one->bytes, head + length, MSG_NOSIGNAL);
        else if (length == 1) send_status(descriptor, one->address);
        if (is_ping) return 0;
        one->size -= head + length;
        memmove(one->bytes, one->bytes + head + length, one->size);
    }
}

static void receive(int descriptor) {
    struct connection *one = &connections[descriptor];
    for (;;) {
        if (one->role != JAVA) one->size = 0;
        ssize_t got = recv(descriptor, one->bytes + one->size, ROOM - one->size, 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (got <= 0) break;
        one->size += got;
        if (one->role == MUTE) continue;
        if (one->role == WEB) {
            send(descriptor, REFUSAL, sizeof REFUSAL - 1, MSG_NOSIGNAL);
            break;
        }
        if (!serve(descriptor, one) || one->size == ROOM) break;
    }
    drop(descriptor);
}

/* The number of SYN packets and connections that the system dropped at full queues. */
static long dropped(void) {
    FILE *file = fopen("/proc/self/net/netstat", "r");
    char names[8192], values[8192];
    long sum = 0;
    while (file != NULL && fgets(names, sizeof names, file) && fgets(values, sizeof values, file)) {
        char *name_rest, *value_rest, *name = strtok_r(names, " \n", &name_rest);
        char *value = strtok_r(values, " \n", &value_rest);
        for (; name != NULL && value != NULL;
             name = strtok_r(NULL, " \n", &name_rest), value = strtok_r(NULL, " \n", &value_rest))
            if (strcmp(name, "ListenDrops") == 0) sum += atol(value);
    }
    if (file != NULL) fclose(file);
    return sum;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "accept FILE\n");
        return 2;
    }
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    connections = calloc(limit.rlim_cur, sizeof *connections);
    poll_ = epoll_create1(0);
    if (connections == NULL || poll_ < 0) fail("start");
    struct sigaction action = {.sa_handler = end}; /* no SA_RESTART: the signal ends a blocking call */
    sigaction(SIGTERM, &action, NULL);
    read_file(argv[1]);
    puts("ready");
    fflush(stdout);
    static struct epoll_event events[EVENTS];
    while (!ended) {
        int count = epoll_wait(poll_, events, EVENTS, -1);
        for (int i = 0; i < count; i++) {
            int descriptor = events[i].data.fd;
            if (connections[descriptor].listens) accept_all(descriptor);
            else receive(descriptor);
        }
    }
    printf("%ld java, %ld mute, %ld web, %ld close, %ld statuses, %ld dropped, %ld open at once\n",
           opened[JAVA], opened[MUTE], opened[WEB], opened[CLOSE], statuses, dropped(), most_open);
    return 0;
}
